import type { Meminfo } from "@local-serving/machines/memory";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { planText } from "../../cli/plan/planText";
import { verifyText } from "../../cli/verify/report";
import { readEvidence } from "../../components/evidence/readEvidence";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { loadStackFile } from "../../components/settings/load";
import { measured } from "../../components/settings/measured";
import type { StackSettings } from "../../components/settings/stackSettings";
import { judge } from "../../policies/judge";
import { emptyHost, run } from "../cli/verify/environment";
import { blocksOf, notIn } from "./pages";

const blocks = blocksOf("docs/guide/memory.md", "text");

const settings = loadStackFile("Pulumi.dgx.yaml");
const evidence = readEvidence(settings, process.cwd());
const planned = (of: StackSettings, meminfo?: Meminfo) =>
  plan(of, {
    ...evidence,
    home: "/home/me",
    ...(meminfo === undefined ? {} : { meminfo: { dgx: meminfo } }),
  });

/** What `serving plan` prints on a terminal of the page's width. */
function printed(of: StackSettings, meminfo?: Meminfo): string {
  const of120 = planned(of, meminfo);
  return planText(of120, judge(declaredResources(of120)), 120);
}

/** What `serving verify --only memory` prints on the machine of the example. */
async function verified(): Promise<string> {
  const stack = planned(settings);
  const { image, entrypoint, command } = stack.machines[0]?.containers[0] ?? {};
  const inspect = {
    Config: { Image: image, Entrypoint: entrypoint, Cmd: command },
    State: { Status: "running", StartedAt: "2026-11-21T08:00:00Z" },
  };
  const host = emptyHost({
    docker: async ([word]) => (word === "inspect" ? JSON.stringify([inspect]) : ""),
    memoryLines: async () => ({
      text: "Available KV cache memory: 4.61 GiB\nGPU KV cache size: 456,766 tokens, Maximum concurrency for 262,144 tokens per request: 1.74x",
    }),
    meminfo: async () =>
      `MemTotal: 127538299 kB\nMemAvailable: ${Math.round(3.71 * 1024 ** 2)} kB\n`,
    listener: async () => ({}),
  });
  return verifyText(await run(stack, { only: ["memory"] }, host));
}

describe("the worked example of docs/guide/memory.md", () => {
  it("has a block for each step", () => {
    expect(blocks).toHaveLength(5);
  });

  it.each([
    [0, "on a laptop", () => printed(settings)],
    [
      1,
      "on the machine, too full",
      () => printed(settings, { totalGiB: 121.63, availableGiB: 48.5 }),
    ],
    [
      2,
      "on the machine, with room",
      () => printed(settings, { totalGiB: 121.63, availableGiB: 61 }),
    ],
    [3, "after the start", verified],
    [4, "with the record in the stack file", () => printed(recorded())],
  ])("block %i is what the program prints: %s", async (index, _, output) => {
    expect(notIn(await output(), blocks[index] ?? "?")).toEqual([]);
  });

  it("ends with a pair that counts as proven", () => {
    const told = (of: StackSettings) =>
      planned(of)
        .warnings.map(({ message }) => message)
        .join("\n");
    expect(told(settings)).toContain("has not been measured yet");
    expect(told(recorded())).not.toContain("has not been measured yet");
  });
});

/** The stack file with the lines of the fourth block in it. */
function recorded(): StackSettings {
  const lines = (blocks[3] ?? "").split("\n");
  const at = lines.findIndex((line) => line.trim() === "measured:");
  const record = measured.parse(parse(lines.slice(at, at + 6).join("\n")).measured);
  const machines = structuredClone(settings.machines);
  const { b } = machines.dgx?.inferenceServers ?? {};
  if (b === undefined) throw new Error("no server b");
  b.measured = record;
  return { machines };
}
