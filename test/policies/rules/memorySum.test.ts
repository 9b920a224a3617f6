import { hundredths } from "@local-serving/base/units/memory";
import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { stack } from "../../fixtures/machine";
import { container, declared, said, UNKNOWN_LIST, UNKNOWN_TEXT, verdictsOf } from "../declared";

const RULE = "memory-sum";
const TOTAL = 121.63;

type Line = [name: string, gib: number, basis: "setting" | "measured" | "default"];

function machine(lines: readonly Line[], more: Record<string, unknown> = {}) {
  return declared(TYPE.machine, "dgx", {
    machine: "dgx",
    totalGiB: TOTAL,
    hostInstance: "none",
    memory: {
      lines: lines.map(([name, gib, basis]) => ({ name, gib, basis })),
      largestUtilization: { b: { bySum: 0.37, byAggregate: 0.45 } },
    },
    ...more,
  });
}

const PAIR: Line[] = [
  ["instance A", 54.73, "setting"],
  ["b", 54.73, "setting"],
];

describe("what can't be read", () => {
  it.each([
    ["its memory", UNKNOWN_TEXT],
    ["memory that is none", "121 GiB"],
    ["a line", { lines: [UNKNOWN_TEXT] }],
    ["a line that is none", { lines: ["b 54.73"] }],
    ["a line's name", { lines: [{ name: UNKNOWN_TEXT, gib: 1 }] }],
  ])("is refused: %s", (_, memory) => {
    expect(said(RULE, [machine([], { memory })]).join()).toContain(
      "The machine's memory can't be summed",
    );
  });

  it("is no other resource's memory, such as the limit of a container", () => {
    expect(said(RULE, [container("x", { memory: 1024 })])).toEqual([]);
  });

  it("is not whether a KV cache is fixed", () => {
    const memory = {
      lines: [{ name: "b", gib: 200, basis: "setting" }],
      fixedKvCache: UNKNOWN_TEXT,
    };
    expect(said(RULE, [machine([], { memory })]).join()).toContain(
      "refused: The memory of dgx doesn't fit: 200.00 of 121.63 GiB, 78.37 too much. What else can be reduced, the largest first: b.",
    );
  });
});

describe("the sum of a machine's memory", () => {
  it.each<[string, Line[]]>([
    [
      "the default pair",
      [...PAIR, ["overshoot", 1.88, "default"], ["operating system", 4, "default"]],
    ],
    ["exactly the total", [...PAIR, ["operating system", 12.17, "measured"]]],
    ["nothing at all", []],
  ])("passes: %s", (_, lines) => {
    expect(verdictsOf(RULE, [machine(lines)])).toEqual([
      { name: RULE, level: "mandatory", verdict: "pass", message: "", resource: "" },
    ]);
  });

  it("refuses a hundredth of a GiB too much, with every figure, what fits and what could give way", () => {
    const lines: Line[] = [
      ...PAIR,
      ["Ollama", 2.17, "setting"],
      ["operating system", 10.01, "measured"],
    ];
    expect(verdictsOf(RULE, [machine(lines)])).toEqual([
      {
        name: RULE,
        level: "mandatory",
        verdict: "refused",
        resource: "dgx",
        message:
          "The memory of dgx doesn't fit: 121.64 of 121.63 GiB, 0.01 too much. Set `gpuMemoryUtilization` of b to 0.37. The plan still warns of the sum of the shares. What else can be reduced, the largest first: instance A, Ollama. Declared or measured: instance A 54.73 + b 54.73 + Ollama 2.17 + operating system 10.01.",
      },
    ]);
  });

  it("only warns while a default makes it too much", () => {
    const lines: Line[] = [...PAIR, ["operating system", 20, "default"]];
    expect(said(RULE, [machine(lines)])).toEqual([
      "warned: The memory of dgx may not fit: 129.46 of 121.63 GiB with defaults. Measure them, or leave more room. Set `gpuMemoryUtilization` of b to 0.37. The plan still warns of the sum of the shares. Declared or measured: instance A 54.73 + b 54.73. Defaults: operating system 20.00.",
    ]);
  });

  it("says where no share fits", () => {
    const memory = {
      lines: [{ name: "x", gib: 200, basis: "measured" }],
      largestUtilization: { b: { bySum: 0, byAggregate: 0.45 } },
    };
    expect(said(RULE, [machine([], { memory })]).join()).toContain(
      "refused: The memory of dgx doesn't fit: 200.00 of 121.63 GiB, 78.37 too much. No `gpuMemoryUtilization` fits for b.",
    );
  });

  it.each<[string, Record<string, unknown>]>([
    ["lines that are not known", { memory: { lines: UNKNOWN_LIST } }],
    ["a line without a figure", { memory: { lines: [{ name: "x", gib: "?", basis: "setting" }] } }],
    ["no total", { totalGiB: undefined }],
  ])("refuses %s", (_, more) => {
    expect(said(RULE, [machine(PAIR, more)])).toEqual([
      "refused: The machine's memory can't be summed. `memory.lines` and `totalGiB` must be plain values.",
    ]);
  });

  it("says that the largest share leaves out what is compiled at the first start", () => {
    const lines: Line[] = [
      ["b", 60, "setting"],
      ["b: compiling", 70, "default"],
    ];
    expect(said(RULE, [machine(lines)])).toEqual([
      "warned: The memory of dgx may not fit: 130.00 of 121.63 GiB with defaults. Measure them, or leave more room. Set `gpuMemoryUtilization` of b to 0.37. The plan still warns of the sum of the shares. That leaves out `compiling`: no share makes room for it. Declared or measured: b 60.00. Defaults: b: compiling 70.00.",
    ]);
    const more: Line[] = [...lines, ["b: beside its weights", 1, "default"]];
    expect(said(RULE, [machine(more)]).join()).toMatch(
      /^warned: The memory of dgx may not fit: 131\.00 of 121\.63 GiB with defaults\. Measure them, or leave more room\./,
    );
  });

  it("knows of what is outside a fixed KV cache only where that is said", () => {
    const memory = {
      lines: [{ name: "b", gib: 130, basis: "setting" }],
      largestUtilization: { b: { bySum: 0, byAggregate: 0.2 } },
      starts: { b: { leastCacheBytes: 2 ** 50 } },
      fixedKvCache: { b: {} },
    };
    expect(said(RULE, [machine([], { memory })]).join()).toMatch(
      /^refused: The memory of dgx doesn't fit: 130\.00 of 121\.63 GiB, 8\.37 too much\. No `gpuMemoryUtilization` fits for b: lower or remove its `kvCacheMemoryBytes`\./,
    );
  });

  it.each([
    [2, ": lower or remove its `kvCacheMemoryBytes`."],
    [
      12,
      ". 11.63 GiB is left for the KV cache of b, but one request of its whole window needs 12.00 GiB.",
    ],
  ])("advises a smaller cache only where a window of %i GiB still fits", (window, end) => {
    const lines: Line[] = [
      ["x", 90, "setting"],
      ["b", 40, "setting"],
    ];
    const memory = {
      lines: lines.map(([name, gib, basis]) => ({ name, gib, basis })),
      largestUtilization: { b: { bySum: 0, byAggregate: 0.2 } },
      starts: { b: { outsideGiB: 20, leastCacheBytes: window * 2 ** 30 } },
      fixedKvCache: { b: {} },
    };
    expect(said(RULE, [machine([], { memory })])).toEqual([
      `refused: The memory of dgx doesn't fit: 130.00 of 121.63 GiB, 8.37 too much. No \`gpuMemoryUtilization\` fits for b${end} What else can be reduced, the largest first: x. Declared or measured: x 90.00 + b 40.00.`,
    ]);
  });

  it("says of each server what fits, and what else may give way but the servers", () => {
    const lines = [
      { name: "b", gib: 100, basis: "setting" },
      { name: "c", gib: 100, basis: "setting" },
    ];
    const largestUtilization = {
      b: { bySum: 0.1, byAggregate: 0.1 },
      c: { bySum: 0, byAggregate: 0.2 },
    };
    const starts = { b: { leastUtilization: 0.1 }, c: { leastUtilization: 0.1 } };
    const memory = { lines, largestUtilization, starts, fixedKvCache: { c: {} } };
    expect(said(RULE, [machine([], { memory })])).toEqual([
      "refused: The memory of dgx doesn't fit: 200.00 of 121.63 GiB, 78.37 too much. Set `gpuMemoryUtilization` of b to 0.10. The plan still warns of the sum of the shares. No `gpuMemoryUtilization` fits for c: lower or remove its `kvCacheMemoryBytes`. Declared or measured: b 100.00 + c 100.00.",
    ]);
    const other = { ...memory, lines: [...lines, { name: "x", gib: 1, basis: "measured" }] };
    expect(said(RULE, [machine([], { memory: other })]).join()).toMatch(
      /^refused: The memory of dgx doesn't fit: 201\.00 of 121\.63 GiB, 79\.37 too much\. Set `gpuMemoryUtilization` of b to 0\.10\./,
    );
  });

  it.each([
    [0.1, 0.1, 0.1],
    [0.1, 0.2, undefined],
    [0, undefined, undefined],
  ])("names the share %d where the server starts with %d", (fits, leastUtilization, value) => {
    const largestUtilization = { b: { bySum: fits, byAggregate: 0.45 } };
    const memory = {
      lines: [{ name: "b", gib: 200, basis: "setting" }],
      largestUtilization,
      starts: { b: { leastUtilization } },
    };
    const [found] = verdictsOf(RULE, [machine([], { memory, servers: [{ name: "b", key: "b" }] })]);
    expect(found?.value).toBe(value);
    expect(found?.path).toBe(value && "machines.dgx.inferenceServers.b.gpuMemoryUtilization");
  });

  it("leaves a machine that declares no ledger to the other rules", () => {
    expect(said(RULE, [declared(TYPE.machine, "dgx", { hostInstance: "none" })])).toEqual([]);
  });
});

describe("sets of servers that start on request", () => {
  const LEFT = 100;
  type Server = readonly [name: unknown, certainGiB: number, utilization?: number];
  const ledger = (servers: readonly Server[], sets: unknown, more: Record<string, unknown> = {}) =>
    machine([], {
      memory: {
        lines: [],
        largestUtilization: {},
        together: {
          beside: { certainGiB: TOTAL - LEFT, utilization: 0.2 },
          servers: servers.map(([name, certainGiB, utilization = 0.3]) => ({
            name,
            certainGiB,
            utilization,
          })),
          sets,
        },
        ...more,
      },
    });
  const tooLarge = (name: string) =>
    `refused: ${name} doesn't fit beside the servers of its set. What always runs leaves 100.00 GiB for all of them.`;

  it("fit up to the last hundredth", () => {
    const sets = [["c", "d"], ["e"]];
    expect(
      said(RULE, [
        ledger(
          [
            ["c", 50],
            ["d", 50],
            ["e", 100],
          ],
          sets,
        ),
      ]),
    ).toEqual([]);
    expect(
      said(RULE, [
        ledger(
          [
            ["c", 50],
            ["d", 50.01],
            ["e", 100],
          ],
          sets,
        ),
      ]),
    ).toEqual([tooLarge("c"), tooLarge("d")]);
    expect(said(RULE, [ledger([["c", Number.NaN]], [["c"]])])).toEqual([tooLarge("c")]);
  });

  it.each<[string, Server, Record<string, unknown>, string]>([
    ["by its memory", ["c", 100.01], {}, "c never fits: it needs 100.01 GiB, but 100.00 GiB"],
    ["by its share", ["c", 100, 0.75], {}, "c never fits: it needs a share of 0.75, but 0.70"],
    [
      "beside nothing",
      ["c", 1, 0.95],
      { certainGiB: 1, utilization: undefined },
      "c never fits: it needs a share of 0.95, but 0.90",
    ],
    [
      "beside too much",
      ["c", 1, 0.1],
      { certainGiB: 1, utilization: 0.95 },
      "c never fits: it needs a share of 0.10, but 0.00",
    ],
    [
      "without a name",
      [UNKNOWN_TEXT, 120],
      {},
      "a server never fits: it needs 120.00 GiB, but 100.00 GiB",
    ],
  ])("are without one that fits nowhere: %s", (_, one, beside, says) => {
    const [name, certainGiB, utilization = 0.3] = one;
    const together = {
      beside: { certainGiB: TOTAL - LEFT, utilization: 0.2, ...beside },
      servers: [{ name, certainGiB, utilization }],
      sets: [],
    };
    expect(said(RULE, [ledger([], [], { together })])).toEqual([
      `refused: ${says} is left. The rest is taken by what always runs.`,
    ]);
  });

  it("lead to the server's own share, where it has one", () => {
    const largestUtilization = {
      b: { bySum: 0.1, byAggregate: 0.1 },
      c: { bySum: 0.4, byAggregate: 0.3 },
    };
    const servers = ["b", "c"].map((name) => ({ name, key: name }));
    const judged = (one: readonly Server[], sets: unknown) => {
      const memory = ledger(one, sets, { largestUtilization }).props.memory;
      return verdictsOf(RULE, [machine([], { memory, servers })]).map(({ message, value }) => [
        message.replace(/ In the stack file.*/s, ""),
        value,
      ]);
    };
    expect(judged([["c", 120]], [])).toEqual([
      [
        "c never fits: it needs 120.00 GiB, but 100.00 GiB is left. Set `gpuMemoryUtilization` of c to 0.30. The plan still warns of the sum of the shares. The rest is taken by what always runs.",
        0.3,
      ],
    ]);
    expect(judged([["c", 120]], [["c"]])).toEqual([[tooLarge("c").replace("refused: ", ""), 0.3]]);
  });
});

describe("the sum in a plan", () => {
  const verdicts = (
    settings: Record<string, unknown>,
    meminfo?: { totalGiB: number; availableGiB: number },
  ) =>
    judge(
      declaredResources(
        plan(stack(settings), { home: "/home/me", ...(meminfo && { meminfo: { dgx: meminfo } }) }),
      ),
    ).filter((each) => each.name === RULE);

  it("refuses a declared operating system that the pair leaves no room for", () => {
    const [found] = verdicts({ operatingSystemGiB: 17 });
    expect(found?.verdict).toBe("refused");
    expect(found?.message).toContain(
      "The memory of dgx doesn't fit: 128.34 of 121.63 GiB, 6.71 too much. Set `gpuMemoryUtilization` of b to 0.37.",
    );
    // The same sum and excess as the memory's own lines have.
    const { ledger } =
      plan(stack({ operatingSystemGiB: 17 }), { home: "/home/me" }).machines[0] ?? {};
    expect([ledger?.sumGiB, hundredths((ledger?.sumGiB ?? 0) - 121.63)]).toEqual([128.34, 6.71]);
    // (121.63 - 54.73 - 2 x 0.94 - 17) / 121.63 = 0.394..., and 2 GiB less is 0.378...
    expect(found?.message).toContain("Set `gpuMemoryUtilization` of b to 0.37.");
  });

  it("names Ollama's loaded models among what may give way", () => {
    const simpleServer = { mode: "host", models: ["m"], loadedGiB: { m: 9.6 }, maxLoadedModels: 2 };
    const [found] = verdicts({ operatingSystemGiB: 5, simpleServer });
    expect(found?.verdict).toBe("refused");
    expect(found?.message).toContain("Ollama's loaded models 19.20");
    expect(found?.message).toMatch(
      /^The memory of dgx doesn't fit: 135\.54 of 121\.63 GiB, 13\.91 too much\. Set `gpuMemoryUtilization` of b to 0\.31\./,
    );
  });

  it("refuses by a meminfo, and not by the default in its place", () => {
    expect(verdicts({}).map((each) => each.verdict)).toEqual(["pass"]);
    const [found] = verdicts({}, { totalGiB: TOTAL, availableGiB: 100 });
    expect(found?.verdict).toBe("refused");
    expect(found?.message).toContain("operating system 21.63");
  });
});
