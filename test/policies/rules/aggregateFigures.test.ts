import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import {
  declared,
  IMAGE,
  said,
  server,
  serving,
  UNKNOWN_LIST,
  UNKNOWN_TEXT,
  verdictsOf,
} from "../declared";

const RULE = "aggregate-utilization";

/** A machine of 100 GiB with one server, `b`. */
const machine = (command: string, more: Record<string, unknown> = {}) =>
  declared(TYPE.machine, "dgx", {
    machine: "dgx",
    totalGiB: 100,
    hostInstance: "none",
    servers: [{ name: "b", key: "b", image: IMAGE, command: ["m", ...command.split(" ")] }],
    ...more,
  });

/** Behind a share; test/policies/advisedShare.test.ts says when. */
const CAUTION = " The plan still warns of the sum of the shares.";

/** What the rule says of it, without where that is in the stack file. */
const judged = (command: string, more: Record<string, unknown> = {}): string[] =>
  said(RULE, [machine(command, more)]).map((each) =>
    each.replace(/ In the stack file: .*/s, "").replaceAll(CAUTION, ""),
  );

const refused = (sum: string, claims: string, remedies: string) => {
  const [, share, gib] = /^(\S+) of its memory \((.*)\)$/.exec(sum) ?? [];
  return [
    `refused: The servers of dgx claim ${share} of its memory, and 0.90 is the limit. ${remedies} Claimed: ${claims}, ${gib}.`,
  ];
};
const unreadable = (who: string, why: string, remedy?: string) => [
  `refused: The memory share of ${who} can't be judged: ${why}. ${remedy ?? "Until this is fixed, the sum can't be compared with the limit of 0.90."}`,
];
const hostShare = (gpuMemoryUtilization: unknown) => ({ hostInstance: { gpuMemoryUtilization } });
const memory = (bySum: number, needs: object = {}, outsideGiB?: number) => ({
  memory: {
    largestUtilization: { b: { bySum, byAggregate: 0.9 } },
    starts: { b: needs },
    fixedKvCache: { b: { outsideGiB } },
  },
});

const LOWER_OUTSIDE = "Lower the memory that b takes outside its share, or remove those flags.";
const OWNER = "Instance A is not ours to lower: only its owner can";

describe("the answer to a sum that is too large", () => {
  it.each<[string, string, Record<string, unknown>, string[]]>([
    [
      "a share of 0.0001 is one that is left",
      "--gpu-memory-utilization 0.95",
      memory(0.0001),
      refused(
        "0.95 of its memory (95.0 of 100 GiB)",
        "b 0.95",
        "Set --gpu-memory-utilization of b to 0.0001 or less.",
      ),
    ],
    [
      "a share with which the server just starts will do",
      "--gpu-memory-utilization 0.95",
      memory(0.35, { leastUtilization: 0.35 }),
      refused(
        "0.95 of its memory (95.0 of 100 GiB)",
        "b 0.95",
        "Set --gpu-memory-utilization of b to 0.35 or less.",
      ),
    ],
    [
      "an A without a port, of a machine of 1 GiB",
      "--gpu-memory-utilization 0.5",
      { ...hostShare(0.5), totalGiB: 1 },
      refused(
        "1.00 of its memory (1.0 of 1 GiB)",
        "instance A (host) 0.50 + b 0.50",
        `Set --gpu-memory-utilization of b to 0.40 or less. ${OWNER}, to 0.40 or less.`,
      ),
    ],
    [
      "nothing that A's owner could do alone",
      "--gpu-memory-utilization 0.9",
      hostShare(0.1),
      refused(
        "1.00 of its memory (100.0 of 100 GiB)",
        "instance A (host) 0.10 + b 0.90",
        `Set --gpu-memory-utilization of b to 0.80 or less. ${OWNER}.`,
      ),
    ],
  ])("says: %s", (_, command, more, message) => {
    expect(judged(command, more)).toEqual(message);
  });

  it("names each server's own share, of which one is enough", () => {
    const servers = ["b", "c"].map((name) => ({
      name,
      image: IMAGE,
      command: ["m", "--gpu-memory-utilization=0.5"],
    }));
    expect(judged("", { servers })).toEqual(
      refused(
        "1.00 of its memory (100.0 of 100 GiB)",
        "b 0.50 + c 0.50",
        "Either set --gpu-memory-utilization of b to 0.40 or less. Or set --gpu-memory-utilization of c to 0.40 or less.",
      ),
    );
  });
});

describe("memory that a server takes beside its share", () => {
  it.each<[string, string, Record<string, unknown>, string[]]>([
    [
      "half a GiB of host memory",
      "--gpu-memory-utilization 0.9 --cpu-offload-gb 0.5",
      {},
      refused(
        "0.905 of its memory (90.5 of 100 GiB)",
        "b 0.905 (0.90 and 0.50 GiB of buffers outside it)",
        LOWER_OUTSIDE,
      ),
    ],
    [
      "a fixed cache with half a GiB of host memory",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 90G --cpu-offload-gb 0.5",
      memory(0.9, {}, 10),
      refused(
        "1.005 of its memory (100.5 of 100 GiB)",
        "b 1.005 (90.00 GiB of --kv-cache-memory-bytes + 10.00 outside its KV cache + 0.50 GiB of buffers outside it)",
        LOWER_OUTSIDE,
      ),
    ],
    [
      "a fixed cache of a server that takes 1 GiB outside it",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 95G",
      memory(0.9, {}, 1),
      refused(
        "0.96 of its memory (96.0 of 100 GiB)",
        "b 0.96 (95.00 GiB of --kv-cache-memory-bytes + 1.00 outside its KV cache)",
        "Lower --kv-cache-memory-bytes of b by 6.00 GiB or more.",
      ),
    ],
    [
      "a fixed cache that would then hold no whole window",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 95G",
      memory(0.9, { outsideGiB: 1, leastCacheBytes: 90 * 2 ** 30 }, 1),
      refused(
        "0.96 of its memory (96.0 of 100 GiB)",
        "b 0.96 (95.00 GiB of --kv-cache-memory-bytes + 1.00 outside its KV cache)",
        "89.00 GiB is left for the KV cache of b, but one request of its whole window needs 90.00 GiB. Lower another server, or leave this one out.",
      ),
    ],
    [
      "a fixed cache of a server that is said to take nothing outside it",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 45G",
      memory(0.9, {}, 0),
      refused(
        "0.95 of its memory (95.0 of 100 GiB)",
        "b 0.95 (45.00 GiB of --kv-cache-memory-bytes + 50.00 its share, as its weights are not known)",
        "Lower --kv-cache-memory-bytes of b by 5.00 GiB or more.",
      ),
    ],
    [
      "a fixed cache of which nothing says what lies outside it",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 45G",
      memory(0.9, { outsideGiB: 1, leastCacheBytes: 2 ** 50 }),
      refused(
        "0.95 of its memory (95.0 of 100 GiB)",
        "b 0.95 (45.00 GiB of --kv-cache-memory-bytes + 50.00 its share, as its weights are not known)",
        "Lower --kv-cache-memory-bytes of b by 5.00 GiB or more.",
      ),
    ],
    [
      "a fixed cache that is just what is too much",
      "--gpu-memory-utilization 0.05 --kv-cache-memory-bytes 10G",
      hostShare(0.85),
      refused(
        "1.00 of its memory (100.0 of 100 GiB)",
        "instance A (host) 0.85 + b 0.15 (10.00 GiB of --kv-cache-memory-bytes + 5.00 its share, as its weights are not known)",
        `${OWNER}, to 0.75 or less. Remove --kv-cache-memory-bytes from b.`,
      ),
    ],
    [
      "a fixed cache within the share, which only the share lowers",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 9G",
      { ...hostShare(0.5), ...memory(0.9, {}, 1) },
      refused(
        "1.00 of its memory (100.0 of 100 GiB)",
        "instance A (host) 0.50 + b 0.50",
        `Set --gpu-memory-utilization of b to 0.40 or less. ${OWNER}, to 0.40 or less.`,
      ),
    ],
    [
      "a fixed cache where the total is no size",
      "--gpu-memory-utilization 0.5 --kv-cache-memory-bytes 9G",
      { totalGiB: 0 },
      unreadable(
        "b",
        "`--kv-cache-memory-bytes`, offloading and buffers take memory outside the share, and the machine's total is not known",
      ),
    ],
  ])("is counted: %s", (_, command, more, message) => {
    expect(judged(command, more)).toEqual(message);
  });
});

describe("a claim that can't be judged", () => {
  it.each<[string, string, Record<string, unknown>, string[]]>([
    [
      "A's share is no number",
      "--gpu-memory-utilization 0.5",
      hostShare("half"),
      unreadable("instance A (host)", "its gpuMemoryUtilization is `half`, which is not a number"),
    ],
    [
      "the number of its processes is none",
      "--tensor-parallel-size two",
      {},
      unreadable("b", "the value of `--tensor-parallel-size` can't be read as a number"),
    ],
    [
      "a file of options",
      "--config x",
      {},
      unreadable("b", "`--config` takes options from a file that can't be read here"),
    ],
  ])("is refused: %s", (_, command, more, message) => {
    expect(judged(command, more)).toEqual(message);
  });

  it("is refused beside others of the kind", () => {
    expect(judged("", { hostInstance: UNKNOWN_TEXT, servers: UNKNOWN_LIST })).toEqual([
      ...unreadable("instance A", "`hostInstance` is not known"),
      ...unreadable("a server of ours", "`servers` is not known"),
    ]);
  });

  it("is refused with all reasons", () => {
    expect(said(RULE, [server({ image: UNKNOWN_TEXT, command: UNKNOWN_LIST })])).toEqual(
      unreadable(
        "b",
        "it may be an inference server: its image is not known before the update; give `image` as plain text; its `entrypoints` or `command` is not known before the update; give them as plain text",
      ),
    );
    expect(said(RULE, [serving("m", "--config", "x", UNKNOWN_TEXT)])).toHaveLength(1);
  });
});

describe("what to write in the stack file", () => {
  it.each([
    ["--gpu-memory-utilization 0.95", 0.9, "gpuMemoryUtilization", 0.5],
    // 95 GiB less 6.00, and less 6.01, whole bytes.
    [
      "--kv-cache-memory-bytes 95G --gpu-memory-utilization 0.5",
      1,
      "kvCacheMemoryBytes",
      95563022336,
    ],
    [
      "--kv-cache-memory-bytes 95G --gpu-memory-utilization 0.5",
      1.01,
      "kvCacheMemoryBytes",
      95552284917,
    ],
  ])("is the setting of the server with its value: %s", (command, outside, setting, value) => {
    const [found] = verdictsOf(RULE, [machine(command, memory(0.5, {}, outside))]);
    expect([found?.path, found?.value]).toEqual([
      `machines.dgx.inferenceServers.b.${setting}`,
      value,
    ]);
  });
});

describe("adapters in the host's memory", () => {
  const command = "--gpu-memory-utilization 0.5 --enable-lora --max-cpu-loras 4";
  const why =
    "`--max-cpu-loras` keeps adapters in host memory, which is the same memory here, and doesn't say how much: remove it";
  const counted = (given: object) => judged(command, { memory: given });

  it("pass where the machine's memory counts them", () => {
    expect(counted({ lines: [{ name: "b: adapters", gib: 1 }] })).toEqual([]);
    expect(counted({ together: { servers: [{ name: "b", adaptersGiB: 1 }] } })).toEqual([]);
  });

  it.each([
    ["nothing", {}],
    ["another part of the server", { lines: [{ name: "b: overshoot", gib: 1 }] }],
    ["the server", { lines: [{ name: "b", gib: 1 }] }],
    ["another server's", { lines: [{ name: "c: adapters", gib: 1 }] }],
    ["what is not known", { lines: [{ name: UNKNOWN_TEXT, gib: 1 }] }],
    ["servers on request without them", { together: { servers: [{ name: "b" }] } }],
    [
      "servers on request of no known name",
      { together: { servers: [{ name: UNKNOWN_TEXT, adaptersGiB: 1 }] } },
    ],
  ])("are refused where it counts %s", (_, given) => {
    expect(counted(given)).toEqual(unreadable("b", why));
  });
});
