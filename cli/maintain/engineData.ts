import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { run, type StartOptions } from "@local-serving/base/commandLine/run";
import { today } from "@local-serving/base/units/dateText";
import { difference } from "@local-serving/vllm/differences";
import type { EngineData } from "@local-serving/vllm/engineData";
import type { EngineDefaults } from "@local-serving/vllm/engineDefaults";
import { byVersion, type VersionFile, versionFolder } from "@local-serving/vllm/versionFolder";

const PROJECT = resolve(__dirname, "../..");
const FOLDER = join(PROJECT, "packages/vllm/engine-data");
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

/** What one version's own parser says. */
interface EngineReading {
  readonly data: EngineData;
  readonly defaults: EngineDefaults;
  readonly abbreviations: Abbreviations;
}

/**
 * Installs one version of vLLM in a temporary folder, reads it and removes the folder. Takes
 * minutes and 10 GB of disk.
 */
export async function readEngine(version: string): Promise<EngineReading> {
  const folder = mkdtempSync(join(tmpdir(), "engine-data-"));
  try {
    await printed(["python3", "-m", "venv", join(folder, "env")]);
    const program = (name: string) => join(folder, "env", "bin", name);
    await printed([program("pip"), "install", "--quiet", "uv"]);
    const only = ["--no-deps", "--only-binary", ":all:", "--dest", folder];
    await printed([program("pip"), "download", "--quiet", ...only, `vllm==${version}`]);
    const wheel = readdirSync(folder).find((file) => file.endsWith(".whl")) ?? "";
    writeFileSync(join(folder, "override.txt"), ANY_VERSION_DOES);
    const override = ["--override", "override.txt", wheel];
    await printed([program("uv"), "pip", "install", "--python", program("python"), ...override], {
      cwd: folder,
      env: { UV_CACHE_DIR: process.env.UV_CACHE_DIR ?? join(folder, "cache") },
    });
    const { read, defaults, abbreviations } = await readInstalled(program("python"), folder);
    const madeBy = {
      command: `npm run engine-data -- ${version}`,
      date: today(),
      wheel,
      sha256: createHash("sha256")
        .update(readFileSync(join(folder, wheel)))
        .digest("hex"),
    };
    return { data: { madeBy, ...read }, defaults, abbreviations };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Reads a vLLM that is installed, by its Python. `cwd` is a folder elsewhere than this project's,
 * whose folders Python would take for packages.
 */
export async function readInstalled(
  python: string,
  cwd: string,
): Promise<Omit<EngineReading, "data"> & { readonly read: Omit<EngineData, "madeBy"> }> {
  const text = await printed([python, READER], { cwd });
  const { abbreviations, defaults, ...read } = JSON.parse(
    text.slice(text.indexOf("ENGINE") + "ENGINE".length),
  );
  return { read, defaults, abbreviations };
}

/** Returns what a program prints within an hour. Throws with its errors where it fails. */
async function printed(command: readonly string[], options: StartOptions = {}) {
  const { code, out, err } = await run(command, { ...options, seconds: 3600, largest: 2 ** 26 });
  if (code !== 0) throw new Error(`${command.join(" ")}: ${err}`);
  return out;
}

/** `npm run engine-data -- VERSION...`: writes the data of each version. Throws for any other word. */
export async function writeEngineData(versions: readonly string[]): Promise<void> {
  if (versions.length === 0 || !versions.every((version) => /^\d+\.\d+\.\d+$/.test(version)))
    throw new Error("Usage: npm run engine-data -- VERSION... (such as 0.33.0)");
  for (const version of versions) {
    const { data, defaults } = await readEngine(version);
    record(FOLDER, version, data);
    record(join(FOLDER, "defaults"), version, defaults);
  }
}

/** Writes a folder's files anew, each after the version before it. */
export function record(folder: string, version: string, data: EngineData | EngineDefaults): void {
  const { versions, versionData } = versionFolder(folder);
  const all = new Map(versions().map((each) => [each, versionData(each)]));
  all.set(version, { ...data });
  const sorted = [...all].sort(([a], [b]) => byVersion(a, b));
  for (const [index, [each, now = {}]] of sorted.entries()) {
    const [after, before] = sorted[index - 1] ?? [];
    const file: VersionFile = { after, ...difference(before, now) };
    writeFileSync(join(folder, `${each}.json`), `${JSON.stringify(file, null, 1)}\n`);
  }
}

if (require.main === module) void writeEngineData(process.argv.slice(2));
