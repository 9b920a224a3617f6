import { describe, expect, it } from "vitest";
import { type AnswerForm, answerForm } from "../../stand-in/answerForm";
import { REQUESTS, SERVED, WINDOW } from "../../stand-in/exchanges";
import { installEngine, serveEngine } from "./engine";

/** Seconds for an installation and a start, with room for a busy machine. */
const SECONDS = 1800;

describe("what the stand-in is held against", () => {
  // `npm run test:real -- -u` records it again.
  it.each(["0.30.0"] as const)(
    "is what vLLM %s answers",
    { timeout: SECONDS * 1000 },
    async (version) => {
      const engine = await installEngine(version);
      const server = await serveEngine(engine, {
        args: ["--served-model-name", SERVED, "--max-model-len", String(WINDOW)],
      });
      try {
        const forms: Record<string, AnswerForm> = {};
        for (const request of REQUESTS) forms[request.name] = await answerForm(server.url, request);
        const recorded = `../../stand-in/recorded/${version}.json`;
        await expect(`${JSON.stringify(forms, null, 2)}\n`).toMatchFileSnapshot(recorded);
      } finally {
        server.stop();
        engine.remove();
      }
    },
  );
});
