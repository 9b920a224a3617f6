import { inject } from "vitest";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { type ProgramImage, programImage } from "../real/vllm/programImage";

/** An image with the real huggingface_hub of a version from PyPI, as a server's image has it; `undefined` where PyPI isn't reached. */
export async function hubToolImage(version: string): Promise<ProgramImage | undefined> {
  const environment = temporaryFolder("hub-tool-");
  await mustRun("uv", ["venv", "--quiet", environment]);
  const install = ["pip", "install", "--quiet", "--python", `${environment}/bin/python`];
  if ((await run("uv", [...install, `huggingface_hub${version}`])).code !== 0) return undefined;
  return programImage(inject("dockerLayer"), {
    repository: `hub-tool/vllm${version.replace(/\W+/g, "-").replace(/-$/, "")}`,
    ...{ version: "v1", environment, without: ["torch*", "vllm*"], changes: [] },
  });
}
