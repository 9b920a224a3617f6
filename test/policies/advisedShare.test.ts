import { describe, expect, it } from "vitest";
import { readModels } from "../../components/evidence/readModels";
import { plan } from "../../components/plan/plan";
import { TYPE } from "../../components/planned/type";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { loadStackFile } from "../../components/settings/load";
import { judge } from "../../policies/judge";
import { shareNow, shareToStart, warnedText } from "../../policies/lib/advisedShare";
import { serverInput, stack } from "../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../fixtures/services";
import { declared, IMAGE } from "./declared";

type Settings = Record<string, unknown>;

/** Codes of warnings about a share that is too large. */
const TOO_LARGE = ["memory-floor", "aggregate-high", "utilization-high"];

const RULES = ["aggregate-utilization", "memory-sum"];

/** What a plan of one machine with server `b` is refused for, and its warnings of shares. */
function planned(machine: Settings, server: Settings, share: number) {
  const inferenceServers = { b: serverInput({ ...server, gpuMemoryUtilization: share }) };
  const made = plan(stack({ ...machine, inferenceServers }, {}), { home: "/home/me", models });
  const judged = judge(declaredResources(made));
  const refused = judged.filter(
    ({ name, verdict }) => verdict === "refused" && RULES.includes(name),
  );
  const isOver = judged.some(({ name, verdict }) => name === "memory-sum" && verdict === "warned");
  const codes = made.warnings.map(({ code }) => code).filter((code) => TOO_LARGE.includes(code));
  return { refused, codes, isOver };
}

const sample = loadStackFile("Pulumi.dgx.yaml");
const models = readModels(sample, process.cwd(), "/home/me");
/** A model whose KV cache is planned, and one of which only the size is known. */
const KNOWN = { model: { id: "nvidia/Qwen3.6-35B-A3B-NVFP4", kind: "chat", weightsGB: 22 } };
const weighs = (weightsGB: number) => ({ model: { id: "org/model", family: "qwen3", weightsGB } });

const MACHINES: readonly (readonly [string, Settings, Settings])[] = [0, 0.2, 0.45].flatMap((a) =>
  [4, 8.53, 12].flatMap((operatingSystemGiB) =>
    [2, 5.5].flatMap((memoryFloorGiB) =>
      [KNOWN, weighs(20), weighs(40)].map((server) => {
        const instanceA = a === 0 ? "none" : { gpuMemoryUtilization: a };
        const services = { bridge: BRIDGE, chatUi: CHAT_UI, totalGiB: 121.69 };
        return [
          `A ${a}, system ${operatingSystemGiB}, floor ${memoryFloorGiB}, ${server.model.id}, ${server.model.weightsGB} GB`,
          { ...services, instanceA, operatingSystemGiB, memoryFloorGiB },
          server,
        ] as const;
      }),
    ),
  ),
);

describe("the share that a refusal advises", () => {
  it.each(MACHINES)("leaves the floor and is warned about only where it says so: %s", (...row) => {
    const [, machine, server] = row;
    for (const given of [0.7, 0.95]) {
      const before = planned(machine, server, given);
      for (const { name, value, message } of before.refused) {
        if (typeof value !== "number") {
          // With what is left it wouldn't start.
          expect([name, message]).toEqual([
            name,
            expect.stringMatching(/ 0\.42 is left for .+, but it needs at least 0\.44 to start/),
          ]);
          continue;
        }
        const after = planned(machine, server, value);
        expect(after.refused.map((each) => each.message)).toEqual([]);
        if (message.includes("leave the memory floor")) {
          expect(after.codes.includes("memory-floor") || after.isOver).toBe(true);
          continue;
        }
        expect(after.codes).not.toContain("memory-floor");
        const isSaid = message.includes("still warns of the sum");
        const high = value > 0.83 ? ["utilization-high"] : [];
        expect([message, after.codes]).toEqual([
          message,
          isSaid ? ["aggregate-high", ...high] : [],
        ]);
        // One hundredth more is warned about, or refused.
        const more = planned(machine, server, Number((value + 0.01).toFixed(2)));
        expect(more.codes.length + more.refused.length).toBeGreaterThan(0);
      }
    }
  });

  it("is of 0.95 alone the largest without a warning, with what fits beside it", () => {
    const where =
      " In the stack file: `machines.dgx.inferenceServers.b.gpuMemoryUtilization: 0.8`.";
    const machine = {
      totalGiB: 121.69,
      instanceA: "none",
      bridge: BRIDGE,
      chatUi: CHAT_UI,
      operatingSystemGiB: 8.53,
    };
    const { refused } = planned(machine, KNOWN, 0.95);
    expect(refused.map(({ name, value, message }) => [name, value, message])).toEqual([
      [
        "aggregate-utilization",
        0.8,
        `The servers of dgx claim 0.95 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of b to 0.80 or less. Claimed: b 0.95, 115.6 of 121.69 GiB.${where}`,
      ],
      [
        "memory-sum",
        0.8,
        `The memory of dgx doesn't fit: 126.70 of 121.69 GiB, 5.01 too much. Set \`gpuMemoryUtilization\` of b to 0.80. Declared or measured: b 115.61 + operating system 8.53. Defaults: b: overshoot 0.94 + bridge 0.42 + chat UI 1.20. In the stack file: \`machines.dgx.inferenceServers.b.gpuMemoryUtilization: 0.8\`.`,
      ],
    ]);
  });

  it("says where no share keeps the floor", () => {
    const machine = { instanceA: { gpuMemoryUtilization: 0.45 }, operatingSystemGiB: 30 };
    const { refused } = planned({ ...machine, memoryFloorGiB: 6 }, weighs(33), 0.4);
    expect(refused.map(({ name, value }) => [name, value])).toEqual([["memory-sum", 0.28]]);
    expect(refused[0]?.message).toContain(
      "The memory of dgx doesn't fit: 140.04 of 121.63 GiB, 18.41 too much. Set `gpuMemoryUtilization` of b to 0.28.",
    );
  });
});

describe("what a finding says of an advised share", () => {
  it.each([
    ["nothing", ""],
    ["caution", " The plan still warns of the sum of the shares."],
    ["floor", " That doesn't leave the memory floor (`memoryFloorGiB`), so the plan warns."],
  ] as const)("of %s is %j", (warns, words) => {
    expect(warnedText({ warns })).toBe(words);
  });

  it.each([
    [undefined, "at least 0.00 to start"],
    [{ leastUtilization: 0.44 }, "at least 0.44 to start"],
    [{ leastUtilization: 0.44, sureUtilization: 0.44 }, "at least 0.44 to start"],
    [
      { leastUtilization: 0.44, sureUtilization: 0.46 },
      "at least 0.44 to start, and 0.46 to be sure of it",
    ],
  ])("is told beside what %o needs", (needs, words) => {
    expect(shareToStart(needs)).toBe(words);
  });
});

describe("the share that a server has now", () => {
  const SHARE = "--gpu-memory-utilization";
  const servers = [
    { name: "a", image: IMAGE, command: ["m", SHARE, "0.3"] },
    { name: "b", image: IMAGE, command: ["m", SHARE, "0.5"] },
    { name: "default", image: IMAGE, command: ["m"] },
    {
      name: "adapters",
      image: IMAGE,
      command: ["m", SHARE, "0.4", "--max-loras", "1", "--max-cpu-loras", "2"],
    },
    { name: "unreadable", image: IMAGE, command: ["m", SHARE, "half"] },
    { name: "other", image: "nginx:1.27", command: ["x"] },
  ];
  const machine = declared(TYPE.machine, "dgx", { servers });

  it.each([
    ["a", 0.3],
    ["b", 0.5],
    ["default", 0.92],
    ["adapters", 0.4],
    ["unreadable", 1],
    ["other", 1],
    ["missing", 1],
  ])("of %s is %d", (name, share) => {
    expect(shareNow(machine, name)).toBe(share);
  });
});
