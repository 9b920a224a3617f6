import { chmodSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { type ProgramImage, programImage } from "../real/vllm/programImage";

/**
 * An image with the real huggingface_hub from PyPI, as a server's image has it; `undefined` where
 * PyPI isn't reached.
 */
export async function hubToolImage(
  name: string,
  packages: readonly string[],
): Promise<ProgramImage | undefined> {
  const environment = temporaryFolder("hub-tool-");
  // The cache's owner reads it too.
  chmodSync(environment, 0o755);
  await mustRun("python3", ["-m", "venv", environment]);
  const python = `${environment}/bin/python`;
  const { code } = await run(python, ["-m", "pip", "install", "--quiet", ...packages]);
  if (code !== 0) return undefined;
  const folder = (key: string) =>
    mustRun(python, ["-c", `import sysconfig; print(sysconfig.get_path('${key}'))`]);
  const own = readdirSync(await folder("purelib"));
  const others = join(await folder("stdlib"), "site-packages");
  const without = (existsSync(others) ? readdirSync(others) : []).filter(
    (name) => !own.includes(name),
  );
  return programImage(inject("dockerLayer"), {
    repository: `hub-tool/vllm-${name}`,
    ...{ version: "v1", environment, without, changes: [] },
  });
}
