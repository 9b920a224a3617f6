import { readFileSync } from "node:fs";
import { FaultyInput } from "@local-serving/base/faults/fault";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDocument, stringify } from "yaml";
import { planScreen } from "../../cli/plan/screen/planScreen";
import { plan } from "../../components/plan/plan";
import type { Evidence } from "../../components/planned/evidence";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { parseStackFile } from "../../components/settings/load";
import { placeOf } from "../../components/settings/places";
import { judge } from "../../policies/judge";
import { DIGEST, serverInput } from "../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../fixtures/services";

const CONFIG = JSON.parse(
  readFileSync("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json", "utf8"),
) as Record<string, unknown>;

const of = fc.constantFrom;
const may = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });
const share = fc.oneof(
  of(0.1, 0.2, 0.3, 0.45, 0.9, 1, 0.0001),
  fc.integer({ min: 1, max: 100 }).map((hundredths) => hundredths / 100),
);

const server = fc.record({
  model: fc.record({
    id: of("org/model", "org/other", "org/unread"),
    family: of("qwen3"),
    weightsGB: may(of(0.001, 5, 22, 60, 120, 5000)),
    kind: may(of("chat", "base", "embedding")),
  }),
  gpuMemoryUtilization: share,
  maxModelLen: of(1, 8192, 131_072, 262_144, 1_048_576),
  maxNumSeqs: may(of(1, 4, 256, 100_000)),
  maxNumBatchedTokens: may(of(1, 8192, 1_048_576)),
  kvCacheDtype: may(of("auto", "fp8", "nvfp4", "int4")),
  kvCacheMemoryBytes: may(of(1, 1024 ** 3, 40 * 1024 ** 3, 1e15)),
  compileJobs: may(of(1, 2, 20)),
  start: may(of("always", "onRequest")),
  extraArgs: may(
    of<string[][]>(
      ["--cpu-offload-gb", "30"],
      ["--kv-offloading-size=8"],
      ["--api-server-count", "2"],
      ["--mm-processor-cache-gb", "20"],
      ["0.95"],
    ),
  ),
  measured: may(
    fc.record({
      nonKvGiB: of(0.01, 25, 60, 4000),
      kvTokens: of(1, 100_000, 1e12),
      maxConcurrency: of(0.01, 3.5, 1e6),
      at: of("2026-11-21"),
      image: of(DIGEST),
    }),
  ),
});

const machine = fc
  .record({
    totalGiB: of(0.01, 64, 119.2, 121.63, 4096),
    instanceA: fc.oneof(
      of<unknown[]>("none"),
      share.map((gpuMemoryUtilization) => ({ gpuMemoryUtilization })),
    ),
    servers: fc.array(server, { maxLength: 3 }),
    operatingSystemGiB: may(of(0.5, 17, 4096)),
    otherGpuMemoryGiB: may(of(0.1, 30)),
    memoryFloorGiB: may(of(0, 8, 64)),
    bridge: may(of(BRIDGE)),
    chatUi: may(of(CHAT_UI)),
    simpleServer: may(of({ mode: "host", models: ["a:1"], loadedGiB: { "a:1": 100 } })),
  })
  .map(({ servers, bridge, ...rest }) => ({
    ...rest,
    bridge: servers.length === 0 ? undefined : bridge,
    inferenceServers: Object.fromEntries(
      servers.map((each, index) => [
        ["b", "c", "d"][index],
        serverInput({ ...each, servedModelName: `m${index}`, port: 8001 + index }),
      ]),
    ),
  }));

/** What a config.json may have in a field: right, or as no model has it. */
const odd = of<unknown[]>(0, -1, 1, 0.5, "16", "", null, true, [], {}, 1e15, [1, "a"]);
const config = fc
  .tuple(
    fc.constantFrom(...Object.keys(CONFIG)),
    may(odd),
    of<unknown[]>({}, null, [], "x", { text_config: [] }),
    fc.nat(9),
  )
  .map(([field, value, other, kind]) => (kind === 0 ? other : { ...CONFIG, [field]: value }));

const evidence = fc.record({ first: config, second: config, weightsGB: may(of(0, 22, 60)) }).map(
  ({ first, second, weightsGB }): Evidence => ({
    home: "/home/me",
    models: {
      "org/model": {
        source: "config.json",
        config: first,
        ...(weightsGB === undefined ? {} : { weightsGB }),
      },
      "org/other": { source: "config.json", config: second },
    },
  }),
);

/** A plan with its findings; `undefined` where the stack file has faults. */
function planned(text: string, known: Evidence) {
  try {
    const settings = parseStackFile("Pulumi.dgx.yaml", text);
    const made = plan(settings, known);
    return {
      made,
      findings: judge(declaredResources(made), {}, (path) => placeOf(settings, path)),
    };
  } catch (error) {
    if (error instanceof FaultyInput) return undefined;
    throw error;
  }
}

const textOf = (dgx: unknown) =>
  stringify({ config: { "local-serving:machines": { dgx } } }, { lineWidth: 0 });
type Found = NonNullable<ReturnType<typeof planned>>;

/** A program's words for what it does not know; those of a file's own text are in backquotes. */
const UNSAID = /\bundefined\b|\bNaN\b|\[object|Infinity|(?<!\()\bnull\b|[^\S\n]$/m;

/** Tries every stack of some that has no faults. */
const everyStack = (
  check: (found: Found, text: string, known: Evidence) => void,
  numRuns: number,
) =>
  fc.assert(
    fc.property(machine, evidence, (dgx, known) => {
      const text = textOf(dgx);
      const found = planned(text, known);
      if (found !== undefined) check(found, text, known);
    }),
    { numRuns },
  );

describe("a plan of any stack and any config.json", () => {
  it("is the same again, adds up, says what it knows, and refuses what is too much", () => {
    everyStack((found, text, known) => {
      expect(JSON.stringify(planned(text, known))).toBe(JSON.stringify(found));
      const { made, findings } = found;
      for (const { ledger } of made.machines) {
        const sum = (lines: typeof ledger.lines) => lines.reduce((all, { gib }) => all + gib, 0);
        expect(sum(ledger.lines)).toBeCloseTo(ledger.sumGiB, 1);
        const certain = ledger.lines.filter(({ basis }) => basis !== "default");
        const isTooMuch =
          sum(certain) > ledger.totalGiB + 0.01 || ledger.aggregateUtilization > 0.9;
        const refused = findings.filter(({ verdict }) => verdict === "refused");
        if (isTooMuch)
          expect(refused.map(({ name }) => name).join()).toMatch(/memory-sum|aggregate/);
      }
      const said = planScreen(made, findings, { width: 60 });
      expect(said).not.toMatch(UNSAID);
      // A word alone may be longer than any line.
      const isWide = (line: string) => line.length > 60 && /\S\s+\S.*\s/.test(line.trim());
      expect(said.split("\n").filter(isWide)).toEqual([]);
    }, 100);
  });

  it("advises shares and windows with which the complaint is gone and no new one comes", () => {
    everyStack((found, text, known) => {
      for (const { name, path = "", value, resource } of found.findings) {
        if (value === undefined || !/gpuMemoryUtilization$|maxModelLen$/.test(path)) continue;
        const document = parseDocument(text);
        document.setIn(["config", "local-serving:machines", ...path.split(".").slice(1)], value);
        // A share below a cache of fixed size is a fault of its own.
        const then = planned(document.toString(), known)?.findings ?? [];
        expect(then.filter((each) => each.name === name && each.path === path)).toEqual([]);
        const refusing = (all: Found["findings"]) =>
          all.filter((each) => each.verdict === "refused").map((each) => each.name + each.resource);
        expect(refusing(found.findings), resource).toEqual(expect.arrayContaining(refusing(then)));
      }
    }, 60);
  });
});
