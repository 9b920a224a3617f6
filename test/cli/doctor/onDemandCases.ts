import { expect } from "vitest";
import type { SwapFacts } from "../../../cli/rules/picture";
import { SwapProblem } from "../../../cli/sees/onDemand/llamaSwap";
import type { SwapEvent } from "../../../cli/sees/onDemand/swapFiles";
import type { MatrixCase } from "./cases";
import { stackOf, withMachine } from "./stack";

const DIGEST = "8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";

/** b and c start on request, and don't run together. */
const TEXT = withMachine(
  ["instanceA", "none"],
  ["onDemand.program", { version: "v250", sha256: "01".repeat(32) }],
  ["onDemand.keyVariable", "SWAP_KEY"],
  ["inferenceServers.b.start", "onRequest"],
  [
    "inferenceServers.c",
    {
      model: { id: "openai/gpt-oss-120b", family: "gpt-oss" },
      servedModelName: "gpt-oss-120b",
      image: `vllm/vllm-openai:v0.30.0@sha256:${DIGEST}`,
      port: 8002,
      gpuMemoryUtilization: 0.7,
      maxModelLen: 65536,
      start: "onRequest",
    },
  ],
);

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const WELL = { active: "active", enabled: "enabled", linger: true };

function seen(
  overlay: Partial<SwapFacts["seen"]>,
  unit: SwapFacts["unit"] = WELL,
): Pick<MatrixCase, "files" | "text" | "more"> {
  const nothing = {
    ...{ states: new Map(), requests: [], lastAnswers: new Map(), containers: new Map() },
    ...{ orphans: [], events: [], failed: new Map() },
  };
  return { files: {}, text: TEXT, more: { onDemand: { seen: { ...nothing, ...overlay }, unit } } };
}

const log = (name: string): Pick<MatrixCase, "files" | "text"> => ({
  files: { log: `on-demand/${name}.log` },
  text: TEXT,
});

const start = (minutes: number, server: string, stops: string): SwapEvent => ({
  ...{ at: ago(minutes), event: "start", server, stops: [stops] },
});

const failed = {
  at: "2026-11-27T14:00:00Z",
  until: "2026-11-27T14:10:00.000Z",
  sentence:
    "gpt-oss-120b did not start: its container ended with 1 after 41 s: boom; serving logs c",
};

const one = (id: string, name: string, more: Omit<MatrixCase, "name" | "ids">): MatrixCase => ({
  ...{ name: `${id}${name === "" ? "" : `, ${name}`}`, ids: [id] },
  ...more,
});

export const ON_DEMAND: readonly MatrixCase[] = [
  one("on-demand-down", "", {
    ...seen(
      {
        problem: new SwapProblem(
          "llama-swap doesn't answer at http://x: nothing listens",
          "silent",
        ),
      },
      { ...WELL, active: "failed" },
    ),
    evidence:
      "llama-swap doesn't answer at http://x: nothing listens; local-serving-dgx-on-demand.service is failed",
    change: "`serving logs on-demand` says why it ended",
  }),
  one("on-demand-other-key", "asked now", {
    ...seen({ problem: new SwapProblem("llama-swap refuses the key of SWAP_KEY", "key") }),
    evidence: "llama-swap refuses the key of SWAP_KEY",
    change: "Set SWAP_KEY to one value",
  }),
  one("on-demand-other-key", "in a client's log", {
    ...log("other-key"),
    evidence: "unauthorized: invalid or missing API key",
    change: "Set SWAP_KEY to one value",
  }),
  one("on-demand-port-taken", "", {
    ...log("port-taken"),
    evidence: "bind: address already in use",
    edits: [["onDemand.port", 8011]],
    after: ({ plan }) => expect(plan.onDemand?.port).toBe(8011),
  }),
  one("on-demand-address", "", {
    ...log("address"),
    evidence: "172.31.241.1:8010",
    cause: "llama-swap can't listen on 172.31.241.1, because the machine has no such address",
  }),
  one("on-demand-unknown-set", "", {
    ...log("unknown-set"),
    evidence: "unknown var or model",
    cause: "names q, which it doesn't have",
  }),
  one("on-demand-network-overlap", "", {
    ...log("network-overlap"),
    evidence: "Pool overlaps",
    edits: [["onDemand.subnet", "172.31.242.0/28"]],
    // Whether that one is free is not known here.
    editsAgain: [{ path: ["machines", "dgx", "onDemand", "subnet"], value: "10.213.77.0/28" }],
    after: ({ settings }) => expect(settings.onDemand?.subnet).toBe("172.31.242.0/28"),
  }),
  one("on-demand-thrash", "", {
    ...seen({
      events: [
        ...[start(50, "b", "c"), start(40, "c", "b"), start(30, "b", "c"), start(20, "c", "b")],
        { at: ago(15), event: "ready", server: "c", seconds: 360 },
      ],
    }),
    evidence: "4 starts that stopped another server",
    cause: "b, c were swapped 4 times in the last hour, which took 6 min of starts.",
    change: `or make one smaller: models fit together up to ${room()} GiB.`,
  }),
  one("on-demand-starved", "", {
    ...seen({
      states: new Map([["b", "ready"]]),
      requests: [
        { key: "b", since: ago(30) },
        { key: "c", since: ago(20) },
      ],
    }),
    evidence: "1 requests for c",
    cause: "c waits: b has been answering since ",
    change: "`serving stop b` makes room",
  }),
  {
    name: "nothing, where requests wait for a start or for a short while",
    ids: [],
    ...seen({
      states: new Map([["b", "ready"]]),
      requests: [
        { key: "b", since: ago(30) },
        // A busy machine may run this case long after it was made.
        {
          key: "c",
          get since() {
            return ago(2);
          },
        },
      ],
    }),
    evidence: "",
  },
  one("on-demand-failed-start", "", {
    ...seen({ failed: new Map([["c", failed]]) }),
    evidence: "failed/c.json, of 2026-11-27T14:00:00Z",
    cause: `${failed.sentence}. It isn't tried again before 2026-11-27T14:10:00.000Z.`,
    change: "`serving start c --again` tries at once",
  }),
  ...["exited", "exited-object"].map((name) =>
    one("on-demand-failed-start", name, {
      ...log(name),
      evidence: "upstream command exited prematurely",
      cause: "ended before it was ready",
    }),
  ),
  one("on-demand-failed-start", "too late", {
    ...log("timed-out"),
    evidence: "health check timed out",
    change: "raise `onDemand.startWithinMinutes`",
  }),
  one("on-demand-orphan", "", {
    ...seen({ orphans: ["vllm-gpt-oss-120b-8002"], states: new Map([["b", "ready"]]) }),
    evidence: "llama-swap has b; Docker runs vllm-gpt-oss-120b-8002",
    cause:
      "but llama-swap doesn't know it: 86.1 GiB are taken that llama-swap believes to be free.",
  }),
  one("on-demand-unit", "without linger", {
    ...seen({}, { ...WELL, linger: false }),
    evidence: "Linger=no",
    cause: "won't survive a logout",
  }),
  one("on-demand-unit", "not enabled", {
    ...seen({}, { ...WELL, enabled: "disabled" }),
    evidence: "local-serving-dgx-on-demand.service is disabled",
  }),
  one("client-gives-up-early", "", {
    files: { log: "on-demand/node-fetch.log" },
    evidence: "UND_ERR_HEADERS_TIMEOUT",
    cause: "gives up after 300 s (Node's fetch)",
  }),
];

/** What both servers may take at once, by the plan. */
function room(): string {
  const { together } = stackOf(TEXT).plan;
  if (together === undefined) throw new Error("both start on request");
  const { totalGiB, floorGiB, beside, servers } = together;
  const compiling = Math.max(...servers.map(({ compilingGiB }) => compilingGiB));
  return (totalGiB - floorGiB - beside.takenGiB - compiling).toFixed(1);
}
