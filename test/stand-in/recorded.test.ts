import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AnswerForm, answerForm } from "./answerForm";
import { REQUESTS, SERVED, WINDOW } from "./exchanges";
import { type StandIn, startStandIn } from "./server";

const RECORDED = JSON.parse(
  readFileSync(join(__dirname, "recorded", "0.30.0.json"), "utf8"),
) as Record<string, AnswerForm>;

describe("the stand-in answers as vLLM 0.30.0 did", () => {
  let standIn: StandIn;
  beforeAll(async () => {
    standIn = await startStandIn([
      ...[
        "serve",
        "rig/dense",
        "--served-model-name",
        SERVED,
        "--port",
        "0",
        "--max-model-len",
        String(WINDOW),
      ],
      ...[
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        "qwen3_coder",
        "--reasoning-parser",
        "qwen3",
      ],
    ]);
  });
  afterAll(() => standIn.close());

  it.each(REQUESTS)("to $name", async (request) => {
    expect(await answerForm(standIn.url, request)).toEqual(RECORDED[request.name]);
  });
});
