import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Outside the repository, kept from run to run. */
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "local-serving-real");

/** Marks a folder whose installation went to its end. */
const DONE = ".installed";

export type Program = { readonly path: string } | { readonly missing: string };

/** A program of a Python package, in an environment of its own, with packages beside it. */
export function fromPyPI(
  requirement: string,
  program: string,
  ...beside: readonly string[]
): Promise<Program> {
  const folder = join(CACHE, requirement.replace(/[^\w.]+/g, "-"));
  return installed(folder, join(folder, "bin", program), async () => {
    await run("python3", ["-m", "venv", folder]);
    await run(join(folder, "bin", "pip"), ["install", "--quiet", requirement, ...beside], {
      maxBuffer: 2 ** 26,
    });
  });
}

/**
 * A program of an npm package, by its path below `node_modules`; `overrides` pins packages that it
 * brings along.
 */
export function fromNpm(
  name: string,
  version: string,
  binary: readonly string[],
  overrides: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const folder = join(CACHE, `${name.replace(/^@/, "").replaceAll("/", "-")}-${version}`);
  return installed(folder, join(folder, "node_modules", ...binary), async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, overrides }));
    await run("npm", ["install", "--no-audit", "--no-fund", `${name}@${version}`], { cwd: folder });
  });
}

/** A program of a Go module, built with the version that a release would have said of itself. */
export function fromGo(module: string, version: string, versionVariable: string): Promise<Program> {
  const name = basename(module);
  const folder = join(CACHE, `${name}-${version}`);
  return installed(folder, join(folder, name), () =>
    run(
      "go",
      ["install", "-ldflags", `-X ${versionVariable}=${version}`, `${module}@v${version}`],
      {
        env: { ...process.env, GOBIN: folder },
      },
    ),
  );
}

/** A program that is there already: named by a variable, or on PATH. */
export function alreadyThere(name: string, variable: string): Program {
  const said = process.env[variable];
  if (said !== undefined && said !== "")
    return existsSync(said) ? { path: said } : { missing: `${variable}=${said}: no such file` };
  const folder = (process.env.PATH ?? "")
    .split(delimiter)
    .find((each) => existsSync(join(each, name)));
  return folder === undefined ? { missing: `no ${name} on PATH` } : { path: join(folder, name) };
}

async function installed(
  folder: string,
  path: string,
  install: () => Promise<unknown>,
): Promise<Program> {
  const mark = join(folder, DONE);
  if (existsSync(mark) && readFileSync(mark, "utf8") === path && existsSync(path)) return { path };
  rmSync(folder, { recursive: true, force: true });
  try {
    await install();
  } catch (error) {
    return { missing: reason(error) };
  }
  if (!existsSync(path)) return { missing: `${path} is not in the package on this platform` };
  writeFileSync(mark, path);
  return { path };
}

function reason(error: unknown): string {
  const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
  const lines = said.trim().split("\n");
  // The last line of npm names a log of its own.
  return lines.find((line) => line.startsWith("npm error code ")) ?? lines.at(-1) ?? "unknown";
}

/** What a group of tests is called: its name says why it is skipped. */
export function title(name: string, program: Program): string {
  return "missing" in program ? `${name} (skipped: ${program.missing})` : name;
}
