import { columns } from "@local-serving/base/commandLine/output";
import { BYTES_PER_GIB, gib } from "@local-serving/base/units/memory";
import { thousands } from "@local-serving/base/units/thousands";
import { type Admission, type KvPlan, reuseText } from "@local-serving/kv";

/**
 * A KV plan for people: what the engine will do, what requests cost, how many agents work at once.
 */
export function kvTable(plan: KvPlan, agents: readonly Admission[]): string {
  const verdict = plan.fits
    ? `Fits: ${plan.maxConcurrency.toFixed(2)} requests of ${thousands(plan.maxModelLen)} tokens at once in ${gib(plan.availableBytes)} (${plan.kvCacheDtype}, vLLM ${plan.vllmVersion}).`
    : `Does not fit: not one request of ${thousands(plan.maxModelLen)} tokens in ${gib(plan.availableBytes)} (${plan.kvCacheDtype}, vLLM ${plan.vllmVersion}).`;
  return [
    verdict,
    ...plan.problems.map((problem) => `${problem.severity}: ${problem.message}`),
    "",
    ...columns(facts(plan)),
    "",
    ...columns(
      [
        ["request", "blocks", "memory", "at once"],
        ...plan.requests.map(({ tokens, blocks, bytes, concurrency }) => [
          `${thousands(tokens)} tokens`,
          thousands(blocks),
          memory(bytes),
          `${concurrency.toFixed(2)}x`,
        ]),
      ],
      { numbers: true },
    ),
    "",
    ...columns(
      [
        ["agent (prompt + answer)", "blocks", "memory", "at once"],
        ...agents.map((agent) => [
          `${thousands(agent.promptTokens)} + ${thousands(agent.maxTokens)}`,
          thousands(agent.blocksPerAgent),
          memory(agent.bytesPerAgent),
          plan.starts
            ? `${agent.atOnce} (${LIMITS[agent.limitedBy]})`
            : "0 (the engine does not start)",
        ]),
      ],
      { numbers: true },
    ),
  ].join("\n");
}

const LIMITS: Readonly<Record<Admission["limitedBy"], string>> = {
  window: "longer than --max-model-len: HTTP 400",
  "kv-cache": "as much as the cache holds",
  "max-num-seqs": "--max-num-seqs",
};

function facts(plan: KvPlan): [string, string][] {
  const { layers } = plan;
  const kinds = [
    layers.full > 0
      ? `${layers.full} full${layers.draft > 0 ? ` (${layers.draft} of the draft module)` : ""}`
      : "",
    layers.sliding > 0 ? `${layers.sliding} sliding-window` : "",
    layers.linear > 0 ? `${layers.linear} linear` : "",
  ].filter(Boolean);
  const constant = plan.constantBytesPerRequest;
  const oneRequest: [string, string] = [
    "a request",
    `${memory(constant)} for its linear layers, whatever its length`,
  ];
  const padded = plan.padding > 0 ? `, state padded by ${(100 * plan.padding).toFixed(2)}%` : "";
  const reuse =
    plan.prefixReuseTokens === null
      ? "none (prefix caching is off)"
      : `in steps of ${thousands(plan.prefixReuseTokens)} tokens; a shorter prompt is never reused`;
  const agent: [string, string][] =
    plan.agentReuse === null
      ? []
      : [["agent's turn", `reuses ${reuseText(plan.agentReuse)} of its last prompt`]];
  const groups = `${layers.groups} of ${layers.layersPerGroup} layers${layers.padding > 0 ? `, ${layers.padding} places empty` : ""}`;
  return [
    ["layers", kinds.join(", ")],
    ["groups", groups],
    [
      "block",
      `${thousands(plan.blockSize)} tokens, ${thousands(plan.bytesPerBlock)} bytes${padded}`,
    ],
    [
      "pool",
      `${thousands(plan.numBlocks)} blocks, ${thousands(plan.tokens)} tokens as the engine's log counts`,
    ],
    ["a token", `${thousands(plan.bytesPerToken)} bytes in the full-attention layers`],
    ...(constant > 0 ? [oneRequest] : []),
    [
      "longest window",
      plan.largestMaxModelLen === null ? "any" : `${thousands(plan.largestMaxModelLen)} tokens`,
    ],
    ["full windows", `${plan.fullWindowsAtOnce} at once`],
    ["prefix reuse", reuse],
    ...agent,
  ];
}

/** Memory with two decimal places always, so that a column of it reads well. */
const memory = (bytes: number): string => `${(bytes / BYTES_PER_GIB).toFixed(2)} GiB`;
