import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { EngineData } from "../../vllm/engineData";

const run = promisify(execFile);
const PROJECT = resolve(__dirname, "../..");
const FOLDER = join(PROJECT, "vllm/engine-data");
const READER = join(__dirname, "readEngine.py");

/** Nothing here opens a connection, and a registry's mirror may lack the newest certificates. */
const ANY_VERSION_DOES = "certifi\n";

/**
 * What vLLM's own parser makes of each shortened long option: every spelling that fits, with its
 * option's name.
 */
type Abbreviations = Readonly<
  Record<string, readonly (readonly [spelling: string, name: string])[]>
>;

/**
 * Installs one version of vLLM in a temporary folder, reads it and removes the folder. Takes
 * minutes and 10 GB of disk.
 */
export async function readEngine(
  version: string,
): Promise<{ data: EngineData; abbreviations: Abbreviations }> {
  const folder = mkdtempSync(join(tmpdir(), "engine-data-"));
  try {
    await run("python3", ["-m", "venv", join(folder, "env")]);
    const program = (name: string) => join(folder, "env", "bin", name);
    await run(program("pip"), ["install", "--quiet", "uv"]);
    const only = ["--no-deps", "--only-binary", ":all:", "--dest", folder];
    await run(program("pip"), ["download", "--quiet", ...only, `vllm==${version}`]);
    const wheel = readdirSync(folder).find((file) => file.endsWith(".whl")) ?? "";
    writeFileSync(join(folder, "override.txt"), ANY_VERSION_DOES);
    await run(
      program("uv"),
      ["pip", "install", "--python", program("python"), "--override", "override.txt", wheel],
      {
        cwd: folder,
        env: { UV_CACHE_DIR: join(folder, "cache"), ...process.env },
        maxBuffer: 2 ** 26,
      },
    );
    // Elsewhere than in the folder of this project, whose folders Python would take for packages.
    const { stdout } = await run(program("python"), [READER], { cwd: folder, maxBuffer: 2 ** 26 });
    const { abbreviations, ...read } = JSON.parse(
      stdout.slice(stdout.indexOf("ENGINE") + "ENGINE".length),
    );
    const madeBy = {
      command: `npm run engine-data -- ${version}`,
      date: new Date().toISOString().slice(0, 10),
      wheel,
      sha256: createHash("sha256")
        .update(readFileSync(join(folder, wheel)))
        .digest("hex"),
    };
    return { data: { madeBy, ...read }, abbreviations };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `npm run engine-data -- VERSION...`: writes the data of each version. */
async function main(versions: readonly string[]): Promise<void> {
  if (versions.length === 0 || !versions.every((version) => /^\d+\.\d+\.\d+$/.test(version)))
    throw new Error("Usage: npm run engine-data -- VERSION... (such as 0.33.0)");
  for (const version of versions) {
    const { data } = await readEngine(version);
    writeFileSync(join(FOLDER, `${version}.json`), `${JSON.stringify(data, null, 1)}\n`);
  }
}

if (require.main === module) void main(process.argv.slice(2));
