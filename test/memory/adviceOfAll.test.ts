import fc from "fast-check";
import { expect, it } from "vitest";
import { stackFileRules } from "../../cli/rules/subjects/stackFile";
import { readModels } from "../../components/evidence/readModels";
import { startVerdictOf, windowGiBOf } from "../../components/memory/serverKv";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { loadStackFile } from "../../components/settings/load";
import { aggregateUtilization } from "../../policies/rules/aggregateUtilization";
import { memorySum } from "../../policies/rules/memorySum";
import { findingsOf } from "../../policies/rules/rule";
import { serverStarts } from "../../policies/rules/serverStarts";
import { DIGEST, serverInput, stack } from "../fixtures/machine";

const MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const models = readModels(loadStackFile("Pulumi.dgx.yaml"), process.cwd(), "/home/me");
const GIB = 2 ** 30;

const of = fc.constantFrom;
const may = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });
const hundredths = (min: number, max: number) => fc.integer({ min, max }).map((each) => each / 100);

/** A record of a start that took so much beside its weights. */
const record = (weightsGB: number, besideGiB: number) => ({
  chargedGiB: Number(((weightsGB * 1e9) / GIB + besideGiB).toFixed(2)),
  ...{ kvTokens: 300_000, maxConcurrency: 2.5, at: "2026-11-29", image: DIGEST },
});

/** A server of the sample's model, or of one of which only the size is known. */
const server = fc
  .record({
    model: of(
      { id: MODEL, kind: "chat", weightsGB: 22 },
      { id: "org/model", family: "qwen3", weightsGB: 20 },
      { id: "org/model", family: "qwen3", weightsGB: 60 },
    ),
    gpuMemoryUtilization: hundredths(1, 100),
    maxModelLen: of(8192, 131_072, 262_144),
    // A share that doesn't hold its own cache is a fault of the stack file.
    kvCacheMemoryBytes: may(of(GIB, 3 * GIB, 12 * GIB)),
    compileJobs: may(of(1, 8)),
    besideGiB: may(of(4.1, 12.8, 29.6)),
  })
  .map(({ besideGiB, ...rest }) => ({
    ...rest,
    measured: besideGiB === undefined ? undefined : record(rest.model.weightsGB, besideGiB),
  }));

const machine = fc.record({
  totalGiB: of(60.7, 119.2, 121.69),
  instanceA: fc.oneof(
    of("none" as const),
    hundredths(5, 60).map((gpuMemoryUtilization) => ({ gpuMemoryUtilization })),
  ),
  operatingSystemGiB: of(4, 8.53, 17.3),
  memoryFloorGiB: of(0, 2, 6),
  servers: fc.array(server, { minLength: 1, maxLength: 2 }),
});
type Machine = typeof machine extends fc.Arbitrary<infer Each> ? Each : never;
type Key = "gpuMemoryUtilization" | "kvCacheMemoryBytes";

const RULES = [aggregateUtilization, memorySum, serverStarts];

const holdsCache = (
  { totalGiB }: Pick<Machine, "totalGiB">,
  { gpuMemoryUtilization, kvCacheMemoryBytes = 0 }: Machine["servers"][number],
) => kvCacheMemoryBytes < gpuMemoryUtilization * totalGiB * GIB;

function planned({ servers, ...rest }: Machine) {
  const inferenceServers = Object.fromEntries(
    servers.map((each, index) => [
      `s${index}`,
      serverInput({ ...each, servedModelName: `m${index}`, port: 8001 + index }),
    ]),
  );
  const settings = stack({ ...rest, inferenceServers });
  const made = plan(settings, { home: "/home/me", models });
  const [first] = made.machines;
  const dgx = settings.machines.dgx;
  if (first === undefined || dgx === undefined) throw new Error("no machine was planned");
  return { made, first, dgx };
}
type Planned = ReturnType<typeof planned>;

const judged = ({ made }: Planned) =>
  declaredResources(made).flatMap((each) =>
    RULES.flatMap((rule) => findingsOf(rule, each).map((found) => ({ ...found, rule: rule.name }))),
  );

const refusals = (found: Planned) => judged(found).filter(({ kind }) => kind === "violation");

/** A number that somebody names for a line of the stack file. */
interface Named {
  readonly by: string;
  readonly server: string;
  readonly key: Key;
  readonly value: number;
}

/** How the plan's warnings name a number to write; one that doesn't fit is no advice. */
const IN_WARNINGS: readonly (readonly [Key, RegExp])[] = [
  ["gpuMemoryUtilization", /Set `gpuMemoryUtilization` to ([\d.]+\d)/],
  ["gpuMemoryUtilization", /A `gpuMemoryUtilization` of ([\d.]+\d) holds [^,.]+\./],
  ["gpuMemoryUtilization", /From ([\d.]+\d) on it may start/],
  ["kvCacheMemoryBytes", /Set `kvCacheMemoryBytes` to (\d+)/],
];

function byWarnings({ made, first }: Planned): Named[] {
  return made.warnings.flatMap(({ code, message }) => {
    const own = first.inferenceServers.find(({ key }) => message.startsWith(`${key}: `));
    return IN_WARNINGS.flatMap(([key, form]) => {
      const value = Number(form.exec(message)?.[1]);
      return own && value > 0 ? [{ by: code, server: own.container.name, key, value }] : [];
    });
  });
}

function byPolicies(found: Planned): Named[] {
  return judged(found).flatMap(({ rule: by, change }) => {
    const { server = "", setting, value } = change ?? {};
    if (typeof value !== "number") return [];
    if (setting !== "gpuMemoryUtilization" && setting !== "kvCacheMemoryBytes") return [];
    return [{ by, server, key: setting, value } as const];
  });
}

/** What doctor proposes where the sum of all shares is above the limit. */
function byDoctor({ made, first, dgx: settings }: Planned): Named[] {
  const rule = stackFileRules.find(({ id }) => id === "aggregate-above-limit");
  const stackSeen = { file: "", text: "", machine: "dgx", settings, plan: first };
  const told = rule?.explain(
    {
      logs: [],
      stack: {
        ...{ ...stackSeen, machines: made.machines, refusals: [], warnings: made.warnings },
        planned: () => {
          throw new Error("no other text is planned");
        },
      },
    },
    [],
  );
  return (told?.edits ?? []).flatMap(({ path, value }) => {
    const own = first.inferenceServers.find(({ key }) => path.includes(key));
    return own === undefined
      ? []
      : [
          {
            by: "doctor",
            server: own.container.name,
            key: "gpuMemoryUtilization",
            value: Number(value),
          },
        ];
  });
}

const allNamed = (found: Planned): Named[] => [
  ...byPolicies(found),
  ...byWarnings(found),
  ...byDoctor(found),
];

/** The stack with what was named. */
function written(given: Machine, first: MachinePlan, { server: name, key, value }: Named): Machine {
  const at = first.inferenceServers.findIndex(({ container }) => container.name === name);
  const servers = given.servers.map((each, index) =>
    index === at ? { ...each, [key]: value } : each,
  );
  return { ...given, servers };
}

const verdictOf = ({ first }: Planned, name: string) => {
  const kv = first.kv[name];
  return kv == null ? "not judged" : startVerdictOf(kv);
};

/** Warnings that shares are too large. */
const OF_SHARES = ["memory-floor", "aggregate-high", "utilization-high"];
const warnedOf = ({ made }: Planned) =>
  made.warnings.flatMap(({ code, message }) => (OF_SHARES.includes(code) ? [message] : []));

const isByShare = ({ first }: Planned, name: string) => first.kv[name]?.room.basis !== "setting";

function checkWritten(given: Machine, before: Planned, named: Named): void {
  const after = planned(written(given, before.first, named));
  const again = refusals(after).filter(
    ({ change }) => change?.server === named.server && change.setting === named.key,
  );
  expect([named, again.map(({ message }) => message)]).toEqual([named, []]);
  // No share helps a cache of fixed size that holds no window.
  if (named.key === "kvCacheMemoryBytes" || isByShare(before, named.server))
    expect([named, verdictOf(after, named.server)]).not.toEqual([named, "cannot start"]);
}

/** The share next to the advised one, on its far side, is refused, warned about or may not start. */
function checkNext(given: Machine, { first }: Planned, named: Named): void {
  const { server: name, value } = named;
  const now = first.inferenceServers.find(({ container }) => container.name === name);
  const isLower = value < (now?.serve.gpuMemoryUtilization ?? 0);
  const next = Number((value + (isLower ? 0.01 : -0.01)).toFixed(2));
  if (next <= 0) return;
  const after = planned(written(given, first, { ...named, value: next }));
  const refused = judged(after).filter(({ rule }) => rule !== serverStarts.name);
  const told = isLower ? [...refused, ...warnedOf(after)] : [];
  const kv = after.first.kv[name];
  // The least share leaves a little beside its window.
  const beyondGiB = kv == null ? 0 : kv.room.lowGiB - windowGiBOf(kv);
  const isShort = !isLower && (verdictOf(after, name) !== "starts" || beyondGiB < 0.1);
  expect([named, next, isShort || told.length > 0]).toEqual([named, next, true]);
}

/*
 * It costs about 13 s of CPU: each stack is planned and judged as the program does it, and up to
 * twice again with what was advised. Nothing smaller shows that all callers say the same.
 */
it("whatever is advised is one number for a line, is accepted, and is the last that is", () => {
  const callers = new Set<string>();
  fc.assert(
    fc.property(machine, (given) => {
      fc.pre(given.servers.every((each) => holdsCache(given, each)));
      const before = planned(given);
      const named = allNamed(before);
      for (const { by, server: name, key, value } of named) {
        callers.add(by);
        const same = named.filter((each) => each.server === name && each.key === key);
        expect(same.filter((each) => each.value !== value)).toEqual([]);
      }
      const [one] = named;
      if (one === undefined) return;
      checkWritten(given, before, one);
      if (one.key === "gpuMemoryUtilization" && isByShare(before, one.server))
        checkNext(given, before, one);
    }),
    { numRuns: 2000, seed: 28 },
  );
  expect([...callers].sort()).toEqual([
    ...["aggregate-utilization", "doctor", "kv-memory-beyond-budget", "kv-room", "memory-sum"],
    "server-starts",
  ]);
}, 240_000);
