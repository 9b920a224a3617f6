import { spawn } from "node:child_process";
import { parseVersions, READ_VERSIONS } from "../pin/readImage";

/** Packages whose versions are recorded everywhere (specification, Versioning 5). */
export const RECORDED = ["torch", "vllm", "transformers"] as const;

/** What stands where a package is not installed. */
export const MISSING = "MISSING";

export type RecordedVersions = Readonly<Record<(typeof RECORDED)[number], string>>;

export interface VenvReading {
  readonly path: string;
  readonly versions: RecordedVersions;
  /** Why nothing could be read. */
  readonly problem?: string;
}

/** Starting an interpreter takes under a second; a network mount that hangs must not hold the command up. */
const READ_SECONDS = 20;
const LARGEST_ANSWER_BYTES = 64 * 1024;

/** How long the end of an answer may still be on its way once the interpreter has ended. */
const DRAIN_MILLISECONDS = 500;

/** Versions installed in a Python environment. */
export async function readVenv(path: string, seconds = READ_SECONDS): Promise<VenvReading> {
  const printed = await ask(`${path}/bin/python`, seconds);
  const versions = "out" in printed ? parseVersions(printed.out) : undefined;
  if (versions !== undefined) return { path, versions: recorded(versions) };
  const problem = "problem" in printed ? printed.problem : "printed something else than versions";
  return { path, versions: recorded({}), problem: problemText(path, problem) };
}

type Printed = { readonly out: string } | { readonly problem: string };

/** What an interpreter prints of its versions. Whatever it starts ends with it, and none of it outlives its time. */
function ask(python: string, seconds: number): Promise<Printed> {
  return new Promise((resolve) => {
    // -I: neither the user's own packages nor the variables of this shell have a say. In a group of its own, since a
    // script in the interpreter's place leaves what it has started behind when it is killed alone.
    const child = spawn(python, ["-I", "-c", READ_VERSIONS], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    const kill = () => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // Nothing of it is left.
      }
    };
    const end = (printed: Printed) => {
      clearTimeout(timer);
      process.off("exit", kill);
      kill();
      child.stdout.destroy();
      resolve(printed);
    };
    process.on("exit", kill);
    const timer = setTimeout(() => end({ problem: `gave no answer within ${seconds} s` }), seconds * 1000);
    let out = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (chunk: string) => {
      out += chunk;
      if (out.length > LARGEST_ANSWER_BYTES) end({ problem: "failed: it prints without an end" });
    });
    child.on("error", (error: NodeJS.ErrnoException) => end({ problem: error.code ?? error.message }));
    let ended: Printed | undefined;
    child.on("exit", (code) => {
      ended = code === 0 ? { out: "" } : { problem: `failed (exit code ${String(code)})` };
      // Something that it has left in the background may keep the pipe open.
      setTimeout(kill, DRAIN_MILLISECONDS).unref();
    });
    child.on("close", () => {
      if (ended !== undefined) end("out" in ended ? { out } : ended);
    });
  });
}

/** The recorded packages out of those that were found. */
export function recorded(found: Readonly<Record<string, string>>): RecordedVersions {
  const version = (name: string) => found[name] ?? MISSING;
  return { torch: version("torch"), vllm: version("vllm"), transformers: version("transformers") };
}

function problemText(path: string, problem: string): string {
  if (problem === "ENOENT") return `there is no ${path}/bin/python`;
  if (problem === "EACCES") return `no right to run ${path}/bin/python`;
  return `${path}/bin/python ${problem}`;
}
