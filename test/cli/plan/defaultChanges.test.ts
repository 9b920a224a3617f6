import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { engineData, engineVersions } from "@local-serving/vllm/engineData";
import { engineDefaults } from "@local-serving/vllm/engineDefaults";
import { describe, expect, it } from "vitest";
import { changedDefaults, defaultChanges, defaultLines } from "../../../cli/plan/defaultChanges";

const server = (...words: string[]) => readServerArguments(words, engineData("0.33.0"));

const OLD = {
  "enable-prefix-caching": false,
  "gpu-memory-utilization": 0.9,
  "kv-cache-dtype": "auto",
  "max-num-batched-tokens": 2048,
  "max-num-seqs": null,
  "allowed-origins": ["*"],
  middleware: [],
  model: "org/old",
  "swap-space": 4,
};
const NOW = {
  "allowed-origins": ["https://here"],
  "enable-prefix-caching": true,
  "gpu-memory-utilization": 0.92,
  "kv-cache-dtype": "auto",
  "max-num-batched-tokens": null,
  "max-num-seqs": 256,
  middleware: [],
  model: "org/new",
  "async-scheduling": true,
};
const ALL = [
  { name: "allowed-origins", before: ["*"], after: ["https://here"] },
  { name: "enable-prefix-caching", before: false, after: true },
  { name: "gpu-memory-utilization", before: 0.9, after: 0.92 },
  { name: "max-num-batched-tokens", before: 2048, after: null },
  { name: "max-num-seqs", before: null, after: 256 },
];
const without = (...names: string[]) => ALL.filter(({ name }) => !names.includes(name));

describe("defaults that change, of two made-up versions", () => {
  it.each<[string, string[], object[]]>([
    ["all by name; flags that only one version has are none", ["org/model"], ALL],
    [
      "the model's, where the server names none",
      [],
      [...ALL.slice(0, 5), { name: "model", before: "org/old", after: "org/new" }].sort((a, b) =>
        a.name.localeCompare(b.name),
      ),
    ],
    ["none that is set", ["m", "--max-num-seqs", "8"], without("max-num-seqs")],
    [
      "none that is set in another spelling",
      ["m", "--gpu_memory_utilization=0.9"],
      without("gpu-memory-utilization"),
    ],
    [
      "no switch that is turned off",
      ["m", "--no-enable-prefix-caching"],
      without("enable-prefix-caching"),
    ],
  ])("%s", (_, words, expected) => {
    expect(changedDefaults(OLD, NOW, [server(...words)])).toEqual(expected);
  });

  it("includes what only some of several servers set", () => {
    const [first, second] = [server("a", "--max-num-seqs", "8"), server("b")];
    expect(changedDefaults(OLD, NOW, [first, second])).toEqual(ALL);
    expect(changedDefaults(OLD, NOW, [first, first])).toEqual(without("max-num-seqs"));
  });

  it("are none between a version and itself", () => {
    expect(changedDefaults(OLD, OLD, [server("m")])).toEqual([]);
  });
});

describe("defaults that change, of vLLM itself", () => {
  it.each<[[string, string], object[]]>([
    [
      ["0.26.0", "0.30.0"],
      [
        { name: "cp-kv-cache-interleave-size", before: 1, after: null },
        { name: "dcp-comm-backend", before: "ag_rs", after: null },
      ],
    ],
    [
      ["0.30.0", "0.32.0"],
      [
        { name: "allowed-origins", before: ["*"], after: [] },
        { name: "disable-cascade-attn", before: true, after: null },
      ],
    ],
    [
      ["0.32.0", "0.33.0"],
      [
        { name: "mamba-cache-mode", before: "none", after: null },
        { name: "tool-strict-level", before: "auto", after: null },
      ],
    ],
  ])("from %j on", (versions, changed) => {
    expect(defaultChanges(versions, [server("org/model")])).toEqual({ changed, unrecorded: [] });
  });

  it("leave out what the server sets", () => {
    const words = ["org/model", "--allowed-origins", '["*"]', "--tool-strict-level", "auto"];
    const { changed } = defaultChanges(["0.30.0", "0.33.0"], [server(...words)]);
    expect(changed.map(({ name }) => name)).toEqual(["disable-cascade-attn", "mamba-cache-mode"]);
  });

  it("name each version whose defaults aren't recorded", () => {
    const unrecorded = (before: string, after: string) =>
      defaultChanges([before, after], [server("org/model")]);
    expect(unrecorded("0.31.0", "0.33.0")).toEqual({ changed: [], unrecorded: ["0.31.0"] });
    expect(unrecorded("0.30.0", "0.31.0")).toEqual({ changed: [], unrecorded: ["0.31.0"] });
    expect(unrecorded("0.29.0", "0.31.0").unrecorded).toEqual(["0.29.0", "0.31.0"]);
  });
});

it("is said in sentences", () => {
  const changed = [
    { name: "max-num-seqs", before: null, after: 256 },
    { name: "kv-cache-dtype", before: "auto", after: "fp8" },
  ];
  expect(defaultLines({ changed, unrecorded: [] })).toEqual([
    "`--max-num-seqs` isn't set here, and its default changes: left to vLLM -> `256`.",
    '`--kv-cache-dtype` isn\'t set here, and its default changes: `"auto"` -> `"fp8"`.',
  ]);
  expect(defaultLines({ changed: [], unrecorded: [] })).toEqual([
    "No flag that isn't set here has a new default.",
  ]);
  expect(defaultLines({ changed: [], unrecorded: ["0.29.0", "0.31.0"] })).toEqual([
    "The defaults of vLLM 0.29.0 and of 0.31.0 aren't recorded here: the release notes name those that changed.",
  ]);
});

it("recorded defaults are of options that the version has, sorted by name", () => {
  const recorded = engineVersions().flatMap((version) => {
    const [data, defaults] = [engineData(version), engineDefaults(version)];
    return data === undefined || defaults === undefined ? [] : [{ version, data, defaults }];
  });
  expect(recorded.map(({ version }) => version)).toEqual(["0.26.0", "0.30.0", "0.32.0", "0.33.0"]);
  for (const { data, defaults } of recorded) {
    const names = Object.keys(defaults);
    const { switches, lists, values } = data;
    expect(names).toEqual([...names].sort());
    expect(
      names.filter((name) => ![...Object.keys(switches), ...lists, ...values].includes(name)),
    ).toEqual([]);
  }
});
