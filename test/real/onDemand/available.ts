import { spawnSync } from "node:child_process";
import { describe } from "vitest";
import { llamaSwap } from "./rig";

/** Tests of models on demand with the real llama-swap; only root makes their network and Docker. */
export function describeOnDemand(name: string, tests: () => void): void {
  const missing = onDemandMissing();
  const title = missing === undefined ? name : `${name} (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(title, tests);
}

function onDemandMissing(): string | undefined {
  if (process.getuid?.() !== 0) return "only root makes a network of its own";
  if (llamaSwap() === undefined) return "no llama-swap on PATH; LLAMA_SWAP may name it";
  const programs = ["dockerd", "containerd", "docker", "unshare", "nsenter", "ip", "python3"];
  const lacking = programs.find((each) => spawnSync(each, ["--version"]).error !== undefined);
  return lacking === undefined ? undefined : `no ${lacking}`;
}
