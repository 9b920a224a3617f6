import { chmodSync, cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { build } from "esbuild";
import { mustRun } from "../layers/run";

/**
 * The shell and the tools that scripts inside the image may use; the host's own, with their
 * libraries.
 */
const TOOLS = [
  ...[
    "sh",
    "awk",
    "cat",
    "cut",
    "date",
    "env",
    "flock",
    "grep",
    "head",
    "id",
    "ls",
    "mkdir",
    "mv",
    "rm",
    "sed",
  ],
  ...["setsid", "sleep"],
  // What packs and unpacks a volume.
  ...["tar", "tee", "wc", "tr", "find", "stat", "chown", "chmod"],
];

const PROGRAMS = ["vllm", "python3", "curl", "litellm"];

const SEARCH = ["/usr/bin", "/bin"];

/**
 * Puts the file system of the stand-in image into an empty directory: the running Node, a shell, a
 * few tools and the stand-in programs. Nothing is fetched, so this works where no registry of
 * images is reached.
 */
export async function makeRootfs(root: string): Promise<void> {
  for (const folder of ["tmp", "root", "usr/local/bin", "opt/stand-in"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  chmodSync(join(root, "tmp"), 0o1777);
  await copyTools(root);
  await copyBinary(process.execPath, join(root, "usr/local/bin/node"), root);
  for (const program of PROGRAMS) {
    await build({
      entryPoints: [resolve(__dirname, "../stand-in/programs", `${program}.ts`)],
      outfile: join(root, "opt/stand-in", `${program}.cjs`),
      bundle: true,
      platform: "node",
      target: "node20",
      logLevel: "error",
    });
    const launcher = join(root, "usr/local/bin", program);
    writeFileSync(launcher, `#!/bin/sh\nexec node /opt/stand-in/${program}.cjs "$@"\n`);
    chmodSync(launcher, 0o755);
  }
}

/** Puts the shell and the tools into a root, with the libraries that they need. */
export async function copyTools(root: string, more: readonly string[] = []): Promise<void> {
  mkdirSync(join(root, "bin"), { recursive: true });
  for (const tool of [...TOOLS, ...more])
    await copyBinary(hostTool(tool), join(root, "bin", tool), root);
}

function hostTool(name: string): string {
  const found = SEARCH.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${name} is in none of ${SEARCH.join(", ")}`);
  return found;
}

/**
 * Copies a program with the shared libraries that it names, each to the path where the loader looks
 * for it.
 */
async function copyBinary(from: string, to: string, root: string): Promise<void> {
  cpSync(realpathSync(from), to);
  for (const library of librariesIn(await mustRun("ldd", [from]))) {
    const target = join(root, library);
    if (existsSync(target)) continue;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(realpathSync(library), target);
  }
}

function librariesIn(output: string): string[] {
  return output.split("\n").flatMap((line) => /(?:=> |^\s*)(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}
