import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { sha256 } from "@local-serving/machines/shell";
import { HOST_FILE_SCRIPT, hostFileRequest } from "../../components/host/hostFileRequest";
import { temporaryFolder } from "../layers/temporaryFolder";

export const URN = "urn:pulumi:dgx::local-serving::local-serving:index:HostFile::a-file";

/** Tests run as root and as anybody; some rights can only be tried as somebody who is not root. */
export const IS_ROOT = process.getuid?.() === 0;
export const NOBODY = 65534;

/** A fresh folder; its path holds no symbolic link. */
export const freshFolder = () => temporaryFolder("host file $(x) ");

export interface Ran {
  readonly status: number | null;
  readonly said: string;
  readonly refused: string;
}

/** Runs the real script with the real sh. */
export function run(
  word: "write" | "restore",
  request: Partial<Parameters<typeof hostFileRequest>[0]> & { path: string },
  how: { env?: NodeJS.ProcessEnv; asNobody?: boolean; shell?: string[] } = {},
): Ran {
  const [program = "sh", ...before] = how.shell ?? ["sh"];
  const { status, stdout, stderr } = spawnSync(
    program,
    [...before, "-c", HOST_FILE_SCRIPT, "host-file", word],
    {
      input: hostFileRequest({ mode: "0644", holder: URN, content: "", ...request }),
      encoding: "utf8",
      env: { ...process.env, ...how.env },
      ...(how.asNobody ? { uid: NOBODY, gid: NOBODY } : {}),
    },
  );
  return { status, said: stdout.trim(), refused: stderr.trim() };
}

/** A file and its record as earlier versions left them: the record's folder had no mark. */
export function writeAsBefore(
  path: string,
  {
    before,
    ours,
    without,
  }: { readonly before?: string | undefined; readonly ours: string; readonly without?: string },
): void {
  const record = join(dirname(path), `.${basename(path)}.local-serving`);
  mkdirSync(record, { mode: 0o700 });
  if (before === undefined) writeFileSync(join(record, "absent"), "");
  else writeFileSync(join(record, "original"), before);
  const parts = { written: `\n${sha256(ours)}\n`, holder: URN };
  for (const [name, text] of Object.entries(parts))
    if (name !== without) writeFileSync(join(record, name), text);
  writeFileSync(path, ours);
}

/** The content of a file, where whoever runs the tests can read it. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "(can't be read)";
  }
}

/** Every path below a folder with what it is: type, mode, owner and content. */
export function snapshot(folder: string, prefix = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    const stat = lstatSync(path);
    const facts = `${(stat.mode & 0o7777).toString(8)} ${stat.uid}:${stat.gid}`;
    if (stat.isDirectory()) {
      found[`${prefix}${name}/`] = facts;
      Object.assign(found, snapshot(path, `${prefix}${name}/`));
    } else if (stat.isSymbolicLink()) found[`${prefix}${name}`] = "link";
    else found[`${prefix}${name}`] = `${facts} ${textOf(path)}`;
  }
  return found;
}

/** Programs of the script; each is a moment at which a run can be killed. */
const PROGRAMS = [
  "cat",
  "chmod",
  "cmp",
  "flock",
  "grep",
  "ln",
  "mkdir",
  "mktemp",
  "mv",
  "rm",
  "rmdir",
  "sha256sum",
  "stat",
  "timeout",
];

/**
 * A PATH whose programs count themselves, and the whole run is killed (SIGKILL) just before the
 * given one would start. Returns how to run with it.
 */
export function killedBefore(
  call: number,
  scratch: string,
): { env: NodeJS.ProcessEnv; shell: string[] } {
  const bin = join(scratch, "bin");
  const counter = join(scratch, "calls");
  if (!existsSync(bin)) {
    mkdirSync(bin);
    for (const program of PROGRAMS) {
      // Two ends of a pipe may count before either looks, so that none sees its own number.
      const file = join(bin, program);
      const real = spawnSync("sh", ["-c", `command -v ${program}`], {
        encoding: "utf8",
      }).stdout.trim();
      writeFileSync(
        file,
        `#!/bin/sh\necho >>"$CALLS"\nset -- ${real} "$@"\nif [ "$(wc -l <"$CALLS")" -ge "$KILL_BEFORE" ]; then kill -9 0; fi\nexec "$@"\n`,
      );
      chmodSync(file, 0o755);
    }
  }
  writeFileSync(counter, "");
  return {
    env: { PATH: `${bin}:${process.env.PATH}`, CALLS: counter, KILL_BEFORE: String(call) },
    // A process group of its own, so that the kill reaches nothing else.
    shell: ["setsid", "--wait", "sh"],
  };
}
