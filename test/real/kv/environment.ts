import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { temporaryFolder } from "../../layers/temporaryFolder";

const run = promisify(execFile);

/**
 * Releases whose own classes judge our plans; the first is the one that we plan for unless another
 * is named.
 */
export const VERSIONS = ["0.30.0", "0.33.0"] as const;

/** Where environments are kept from run to run; each takes 8 to 9 GB. */
const KEPT_IN = process.env.ENGINES_KEPT_IN;

/**
 * Installs vLLM as it is published for GPUs. Its Python runs without one; `remove` takes it away
 * again.
 */
export async function installVllm(
  version: string,
): Promise<{ readonly python: string; remove(): void }> {
  const folder =
    KEPT_IN === undefined
      ? temporaryFolder(`vllm-gpu-${version}-`)
      : join(KEPT_IN, `kv-${version}`);
  const python = join(folder, "bin", "python");
  if (!existsSync(python)) {
    await run("python3", ["-m", "venv", folder]);
    await run(python, ["-m", "pip", "install", "--quiet", `vllm==${version}`], {
      maxBuffer: 2 ** 26,
    });
  }
  const remove = () =>
    KEPT_IN === undefined ? rmSync(folder, { recursive: true, force: true }) : undefined;
  return { python, remove };
}
