import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KV_ENGINE_DEFAULTS } from "@local-serving/kv";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { servingKv } from "./askServing";
import { type Answer, askVllm, SECONDS } from "./askVllm";
import {
  CASES_OF_FAMILIES,
  CASES_OF_RANKS,
  type Case,
  CONFIGS_OF_A_FAMILY,
  CONFIGS_OF_RANKS,
  PAIRS,
} from "./cases";
import { installVllm, VERSIONS } from "./environment";
import { FAMILIES } from "./families";
import { ODD_CASES, REFUSALS, UNKNOWN } from "./oddCases";
import { SERVED_MODELS } from "./servedModels";

function byName<T extends { readonly name: string }>(rows: readonly T[]): [string, T][] {
  return rows.map((row) => [row.name, row]);
}

it("the first version is the one that plans are for unless another is named", () => {
  expect(KV_ENGINE_DEFAULTS.vllmVersion).toBe(VERSIONS[0]);
});

describe.each(VERSIONS)("KV plans of vLLM %s's own classes", (version) => {
  let vllm: Awaited<ReturnType<typeof installVllm>>;
  let folder: string;
  let answers: Awaited<ReturnType<typeof askVllm>>;

  beforeAll(async () => {
    vllm = await installVllm(version);
    folder = mkdtempSync(join(tmpdir(), "kv-agreement-"));
    answers = await askVllm(vllm.python, folder, [
      ...[...CASES_OF_FAMILIES, ...CASES_OF_RANKS].flatMap(({ cases }) => cases),
      ...PAIRS.map(({ other }) => other),
      ...[...ODD_CASES, ...SERVED_MODELS, ...UNKNOWN, ...REFUSALS].map((each) => each.asked),
    ]);
  }, SECONDS * 1000);
  afterAll(() => {
    rmSync(folder, { recursive: true });
    vllm.remove();
  });

  const answerTo = (asked: Case): Answer => {
    const answer = answers.plans.get(asked);
    if (answer === undefined) throw new Error("vLLM was not asked this");
    return answer;
  };

  it("are of that version", () => {
    expect(answers.version).toBe(version);
  });

  it.each(byName(CASES_OF_FAMILIES.filter(({ only = version }) => only === version)))(
    "%s: ours are the same",
    async (_, { cases }) => {
      expect(cases).toHaveLength(CONFIGS_OF_A_FAMILY);
      for (const each of cases)
        expect(await ours(folder, version, each)).toEqual(figuresOf(answerTo(each), each));
    },
  );

  it.each(byName(CASES_OF_RANKS.filter(({ only = version }) => only === version)))(
    "%s, on two machines: ours are those of a rank",
    async (_, { cases }) => {
      expect(cases).toHaveLength(CONFIGS_OF_RANKS);
      for (const each of cases)
        expect(await ours(folder, version, each)).toEqual(figuresOf(answerTo(each), each));
    },
  );

  it.each(byName([...ODD_CASES, ...SERVED_MODELS]))(
    "%s: ours is the same",
    async (_, { asked }) => {
      expect(await ours(folder, version, asked)).toEqual(figuresOf(answerTo(asked), asked));
    },
  );

  it.each(byName(PAIRS))(
    "%s: what no cache depends on changes neither plan",
    async (_, { first, other }) => {
      expect(answerTo(other)).toEqual(answerTo(first));
      const renamed = { ...other.config, architectures: ["Another"], model_type: "another" };
      const plan = await servingKv(folder, version, first);
      expect(await servingKv(folder, version, { ...other, config: renamed })).toEqual(plan);
    },
  );

  it.each(byName(UNKNOWN))(
    "%s: vLLM plans it, and ours says that it is unknown",
    async (_, { asked, field }) => {
      expect(answerTo(asked).fits).toBe(true);
      const { fits, issues } = await servingKv(folder, version, asked);
      expect([fits, issues]).toEqual([
        null,
        [expect.objectContaining({ path: field, code: "unknown_architecture" })],
      ]);
    },
  );

  it.each(byName(REFUSALS.filter(({ only = version }) => only === version)))(
    "%s: refused, and ours says so",
    async (_, { asked, words, ours: said }) => {
      expect(answerTo(asked).refused).toContain(words);
      const plan = await servingKv(folder, version, asked);
      const faults = (plan.issues ?? plan.problems) as { code: string; severity: string }[];
      expect(faults.map(({ code, severity }) => `${severity} ${code}`)).toEqual([said]);
    },
  );

  it("are not all alike: what fits, what doesn't, what has too many sequences", () => {
    const all = CASES_OF_FAMILIES.flatMap(({ cases }) => cases.map(answerTo));
    const count = (fits: boolean, starts: boolean) =>
      all.filter((each) => each.fits === fits && each.starts === starts).length;
    expect(all).toHaveLength(FAMILIES.length * CONFIGS_OF_A_FAMILY);
    expect(count(true, true)).toBeGreaterThan(80);
    expect(count(false, false)).toBeGreaterThan(40);
    expect(count(true, false)).toBeGreaterThan(0);
  });
});

const FIGURES = [
  "fits",
  "starts",
  "blockSize",
  "bytesPerBlock",
  "blocksPerRequest",
  "bytesPerRequest",
] as const;
const FIGURES_OF_A_POOL = ["numBlocks", "tokens", "maxConcurrency"] as const;

/** What vLLM planned, its refusal told by the code that ours has for it. */
function figuresOf({ refused, ...answer }: Answer, asked: Case): Record<string, unknown> {
  if (answer.fits === undefined)
    throw new Error(`vLLM can't have this case: ${refused}\n${JSON.stringify(asked)}`);
  const longest = /estimated maximum model length is (\d+)/.exec(refused ?? "")?.[1];
  return {
    ...answer,
    ...(refused === undefined ? {} : { refused: codeOf(refused), longest: Number(longest ?? 0) }),
  };
}

function codeOf(words: string): string {
  if (words.startsWith("No available memory")) return "no_room";
  if (words.startsWith("To serve at least one request")) return "request_does_not_fit";
  return words.startsWith("max_num_seqs") ? "too_many_sequences" : words;
}

/** The same of `serving models kv`. */
async function ours(
  folder: string,
  version: string,
  asked: Case,
): Promise<Record<string, unknown>> {
  const plan = await servingKv(folder, version, asked);
  const problems = plan.problems as { code: string; severity: string }[];
  const refused = problems.find(({ severity }) => severity === "error")?.code;
  return {
    ...pick(plan, plan.fits ? [...FIGURES, ...FIGURES_OF_A_POOL] : FIGURES),
    ...(refused === undefined
      ? {}
      : { refused, longest: refused === "request_does_not_fit" ? plan.largestMaxModelLen : 0 }),
  };
}

function pick(plan: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, plan[key]]));
}
