import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProbeResult } from "../../../cli/verify/probe";
import { probesOf } from "../../../cli/verify/run/catalog";
import { CHAT } from "../../../cli/verify/surfaces/chat";
import type { Question } from "../../../cli/verify/surfaces/surface";
import { READ_FILE } from "../../../cli/verify/tools";
import { planned, run } from "../../cli/verify/environment";
import { DIGEST } from "../../fixtures/machine";
import {
  ENGINE_VERSIONS,
  type Engine,
  installEngine,
  type RunningEngine,
  serveEngine,
} from "./engine";
import { told } from "./told";

/** Installing an engine, and its first start on a busy machine. */
const START_MS = 1_200_000;
const RUN_MS = 1_200_000;
const REQUEST_SECONDS = 300;

/** Room for the probe with the longest prompt. */
const WINDOW = 65_536;

const CALL =
  '<tool_call>\n{"name": "read_file", "arguments": {"path": "/etc/hostname"}}\n</tool_call>';

/**
 * Questions whose answers show a trouble, and its diagnosis; the last turn says what the model
 * answers.
 */
const TROUBLES: readonly (readonly [name: string, question: Partial<Question>, id: string])[] = [
  [
    "a call in a form that the parser can't read",
    { turns: `SAY<<${CALL}>>`, tools: [READ_FILE], thinking: false },
    "tool-parser-mismatch",
  ],
  [
    "an answer of a model that does not think",
    { turns: "SAY<<Hello>>" },
    "reasoning-parser-intercepts",
  ],
  ["a prompt far above the window", { turns: "word ".repeat(4 * WINDOW) }, "window-exceeded"],
];

/** The hybrid one: pathReuse.test.ts says why. */
const MODELS = [
  ["dense", []],
  ["hybrid", ["--moe-backend", "auto", "--block-size", "128"]],
] as const;
/** The kernel of 0.26 for CPUs takes no other state. */
const FLOAT_STATE = ["--mamba-ssm-cache-dtype", "float32"];
const RUNS = ENGINE_VERSIONS.flatMap((version) =>
  MODELS.map(([model, args]) => {
    const more = version === "0.26.0" && model === "hybrid" ? FLOAT_STATE : [];
    return [version, model, [...args, ...more]] as const;
  }),
);

const OTHER_KIND = "its model is of kind chat";
const NOT_ASKED = { completions: OTHER_KIND, embeddings: OTHER_KIND, rerank: OTHER_KIND };

describe.each(RUNS)(
  "serving verify on the real vLLM %s with the %s model",
  (version, model, more) => {
    let engine: Engine;
    let server: RunningEngine;
    let results: readonly ProbeResult[];

    beforeAll(async () => {
      engine = await installEngine(version);
      const args = [
        "--served-model-name",
        model,
        `rig/${model}`,
        "--max-model-len",
        String(WINDOW),
        ...more,
      ];
      server = await serveEngine(engine, { model: `rig/${model}`, args });
      const settings = { servedModelName: model, maxModelLen: WINDOW };
      const plan = planned(server.port, {
        ...settings,
        model: { id: `rig/${model}`, family: "qwen3", thinking: true },
        image: `vllm/vllm-openai:v${version}@${DIGEST}`,
        versions: { vllm: version, evidence: "read", digest: DIGEST, source: "test" },
      });
      results = await run(plan, {
        only: probesOf("inference-server").map(({ name }) => name),
        timeoutSeconds: REQUEST_SECONDS,
      });
    }, START_MS + RUN_MS);

    afterAll(async () => {
      server?.stop();
      await server?.ended;
      engine?.remove();
    });

    it("passes every probe of a server", () => {
      console.log(
        results
          .map(
            ({ name, status, detail, seconds }) =>
              `${version} ${model} ${name}: ${status}, ${detail} (${seconds.toFixed(1)} s)`,
          )
          .join("\n"),
      );
      const outcomes = results.map(({ name, status, detail }) => [
        name,
        status === "pass" ? status : detail,
      ]);
      const others: Readonly<Record<string, string>> = NOT_ASKED;
      const expected = results.map(({ name }) => [name, others[name] ?? "pass"]);
      expect(outcomes).toEqual(expected);
    });

    it("leaves nothing in its log that doctor takes for trouble", async () => {
      expect(await told(server.log())).toEqual([]);
    });

    const ask = async (question: Partial<Question>) => {
      const answer = await fetch(`${server.url}${CHAT.path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(CHAT.ask({ model, maxTokens: 512, ...question })),
      });
      return answer.text();
    };

    it.each(TROUBLES)("tells %s by the answer", async (_, question, id) => {
      expect(await told(await ask(question))).toEqual([id]);
    });

    it("tells by its log what its engine died of, last of all", async () => {
      await ask({ turns: "CRASH<<CUDA error: an illegal memory access was encountered>>" });
      await server.ended;
      expect(await told(server.log())).toEqual(["cuda-illegal-access"]);
    });
  },
);
