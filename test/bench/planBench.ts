import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { stackSettings } from "../../components/settings/stackSettings";
import { judge } from "../../policies/judge";
import { serverInput } from "../fixtures/machine";
import { inTurns, report, reportTurns, timed } from "./figures";

const COLD_RUNS = 15;
const WARM_RUNS = 30;

/** With a model's config, so that the KV plan is part of what is timed. */
const config = readJsonFile("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json").value;
const evidence = {
  home: "/home/me",
  models: { "org/model": { source: "config.json", config, weightsGB: 22 } },
};

/** Commands from a cold start, and the core of the plan in a warm process by number of machines. */
export async function planBench(): Promise<void> {
  const serving = (...args: string[]) => execFileSync("node", ["bundle/serving.cjs", ...args]);
  reportTurns(
    ["serving plan, cold", "node with nothing to do, cold"],
    await inTurns(
      COLD_RUNS,
      () => serving("plan", "--file", "Pulumi.dgx.yaml"),
      () => execFileSync("node", ["-e", "0"]),
    ),
    3.5,
  );
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const profile = join(folder, "providers.toml");
  serving("harness", "init", "providers", profile);
  report(
    "serving harness check, cold",
    await timed(COLD_RUNS, () => serving("harness", "check", "providers", profile)),
    "goal: under 300 ms",
  );
  rmSync(folder, { recursive: true });
  for (const count of [1, 100, 1000]) {
    const input = {
      machines: Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`m${index}`, machine(index)]),
      ),
    };
    const core = await timed(count > 100 ? 5 : WARM_RUNS, () =>
      plan(stackSettings.parse(input), evidence),
    );
    report(
      `settings to plan, ${count} machines`,
      core,
      `${(core.median / count).toFixed(3)} ms a machine, goal: under 5`,
    );
    const planned = plan(stackSettings.parse(input), evidence);
    const judged = await timed(count > 100 ? 1 : 5, () => judge(declaredResources(planned)));
    report(
      `policies over the plan, ${count} machines`,
      judged,
      `${(judged.median / count).toFixed(3)} ms a machine`,
    );
  }
}

function machine(index: number) {
  return {
    dockerHost: `ssh://me@m${index}`,
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: 0.45 },
    inferenceServers: { b: serverInput() },
  };
}
