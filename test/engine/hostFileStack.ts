import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { inject } from "vitest";
import { Workspace } from "./workspace";

/** What the program declares; it is read from `declared.json` beside it. */
export interface DeclaredFiles {
  readonly files?: readonly {
    readonly name: string;
    readonly path: string;
    readonly text?: string;
    readonly mode?: string;
    /** Variable that holds the content, in place of `text`. */
    readonly variable?: string;
  }[];
  readonly dropIn?: { readonly unit: string; readonly path: string; readonly text: string };
}

/**
 * Takes the place of this project's own program: host files and nothing else, with the project's
 * components.
 */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { HostFile, secretFileArgs } from "./components/host/hostFile";
import { SystemdDropIn } from "./components/host/systemdDropIn";
export default async () => {
  const declared = JSON.parse(readFileSync("declared.json", "utf8"));
  for (const { name, path, text, mode = "0644", variable } of declared.files ?? []) {
    if (variable === undefined) new HostFile(name, { file: { role: "test", path, mode, text } });
    else new HostFile(name, secretFileArgs({ role: "test", path, mode: "0600", variable }));
  }
  if (declared.dropIn !== undefined) {
    const { unit, path, text } = declared.dropIn;
    new SystemdDropIn("drop-in", { unit, file: { role: "test", path, mode: "0644", text }, elevate: ["sudo", "-n"] });
  }
};
`;

/** A stack of host files under the real engine, with folders that stand for the machine's. */
export class HostFileStack {
  private constructor(
    readonly workspace: Workspace,
    private readonly root: string,
  ) {}

  static async open(env: Record<string, string> = {}): Promise<HostFileStack> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "host-files-")));
    for (const folder of ["machine", "bin"]) mkdirSync(join(root, folder));
    const engine = inject("engineLayer");
    const pulumi = engine.missing === undefined ? [dirname(engine.pulumi)] : [];
    const PATH = [join(root, "bin"), ...pulumi, process.env.PATH].join(delimiter);
    const stack = new HostFileStack(await Workspace.open({ env: { ...env, PATH } }), root);
    writeFileSync(join(stack.workspace.project, "index.ts"), PROGRAM);
    stack.declare({});
    return stack;
  }

  declare(declared: DeclaredFiles): void {
    writeFileSync(join(this.workspace.project, "declared.json"), JSON.stringify(declared));
  }

  get machine(): string {
    return join(this.root, "machine");
  }

  /** Beside the machine: what its programs write down. */
  log(name: string): string {
    return join(this.root, name);
  }

  /** Puts a program on the machine, first on PATH. */
  program(name: string, script: string): void {
    writeFileSync(join(this.root, "bin", name), script, { mode: 0o755 });
  }

  async close(): Promise<void> {
    await this.workspace.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
