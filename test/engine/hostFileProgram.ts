import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const PROJECT = resolve(__dirname, "../..");

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

/** The smallest program that declares host files with the components of this project. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { HostFile } from ${JSON.stringify(join(PROJECT, "components/host/hostFile"))};
import { secretFileArgs } from ${JSON.stringify(join(PROJECT, "components/host/secretFile"))};
import { SystemdDropIn } from ${JSON.stringify(join(PROJECT, "components/host/systemdDropIn"))};
const declared = JSON.parse(readFileSync("declared.json", "utf8"));
for (const { name, path, text, mode = "0644", variable } of declared.files ?? []) {
  if (variable === undefined) new HostFile(name, { file: { role: "test", path, mode, text } });
  else new HostFile(name, secretFileArgs({ role: "test", path, mode: "0600", variable }));
}
if (declared.dropIn !== undefined) {
  const { unit, path, text } = declared.dropIn;
  new SystemdDropIn("drop-in", { unit, file: { role: "test", path, mode: "0644", text }, elevate: ["sudo", "-n"] });
}
`;

export interface EngineRun {
  readonly code: number | null;
  /** Everything that the engine printed. */
  readonly printed: string;
}

/** Why the real engine can't be used here, or nothing. */
export function engineMissing(): string | undefined {
  for (const program of ["pulumi", "pulumi-resource-command"]) {
    if (spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0) return `no ${program} on PATH`;
  }
  return undefined;
}

/** A stack of host files under the real engine: a state, a home and a machine's folders of its own. */
export class HostFileStack {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "host-file-engine-")));
  /** Stands for the machine. */
  readonly machine = join(this.root, "machine");
  /** Programs that come first on PATH. */
  readonly bin = join(this.root, "bin");
  private readonly project = join(this.root, "project");
  private readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    for (const folder of ["machine", "bin", "project", "state", "home"]) mkdirSync(join(this.root, folder));
    this.env = {
      PATH: `${this.bin}:${process.env.PATH}`,
      HOME: join(this.root, "home"),
      PULUMI_BACKEND_URL: `file://${join(this.root, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: "for a test",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
      ...env,
    };
    symlinkSync(join(PROJECT, "node_modules"), join(this.project, "node_modules"));
    writeFileSync(join(this.project, "package.json"), '{ "name": "local-serving", "private": true }');
    writeFileSync(join(this.project, "Pulumi.yaml"), readFileSync(join(PROJECT, "Pulumi.yaml")));
    writeFileSync(join(this.project, "index.ts"), PROGRAM);
    this.declare({});
    this.pulumi("stack", "init", "test");
  }

  declare(declared: DeclaredFiles): void {
    writeFileSync(join(this.project, "declared.json"), JSON.stringify(declared));
  }

  pulumi(...args: string[]): EngineRun {
    const { status, stdout, stderr } = spawnSync("pulumi", [...args, "--non-interactive", "--color=never"], {
      cwd: this.project,
      env: this.env,
      encoding: "utf8",
    });
    return { code: status, printed: `${stdout}${stderr}` };
  }

  up(...flags: string[]): EngineRun {
    return this.pulumi("up", "--yes", "--skip-preview", ...flags);
  }

  /** What a preview would do: `update HostFile a: sha256`. Resources that stay as they are are left out. */
  steps(): string[] {
    const { printed } = this.pulumi("preview", "--json");
    const { steps } = JSON.parse(printed) as {
      steps: { op: string; urn: string; diffReasons?: string[]; replaceReasons?: string[] }[];
    };
    return steps
      .filter(({ op, urn }) => op !== "same" && !urn.includes("pulumi:pulumi:Stack"))
      .map(({ op, urn, diffReasons, replaceReasons }) => {
        const [, , types = "", name] = urn.split("::");
        const reasons = [...new Set([...(diffReasons ?? []), ...(replaceReasons ?? [])])].sort().join(" ");
        return `${op} ${types.split(":").at(-1)} ${name}${reasons && `: ${reasons}`}`;
      });
  }

  /** A program of the machine, for as long as this stack lives. */
  program(name: string, script: string): void {
    writeFileSync(join(this.bin, name), script);
    chmodSync(join(this.bin, name), 0o755);
  }

  /** Everything that the engine keeps of the stack. */
  state(): string {
    return readFileSync(join(this.root, "state/.pulumi/stacks/local-serving/test.json"), "utf8");
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
