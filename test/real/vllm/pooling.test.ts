import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { probesOf } from "../../../cli/verify/run/catalog";
import { machineOf, planned, run } from "../../cli/verify/environment";
import {
  answering,
  type Engine,
  installEngine,
  KV_DTYPE,
  type RunningEngine,
  startEngine,
} from "./engine";

/** Installing an engine, and a start on a busy machine. */
const START_MS = 1_200_000;

const WINDOW = 2048;

/** Kinds of models that write no text, each with a tiny model of it. */
const KINDS = [
  ["embedding", "rig/dense", "128 dimensions"],
  ["rerank", "rig/rerank", "document and score: "],
] as const;

describe.each(KINDS)("a real vLLM 0.30.0 with a model of kind %s", (kind, id, detail) => {
  const settings = {
    model: { id, kind },
    servedModelName: kind,
    maxModelLen: WINDOW,
    kvCacheDtype: KV_DTYPE,
  };
  let engine: Engine;
  let server: RunningEngine;

  beforeAll(async () => {
    engine = await installEngine("0.30.0");
    const [, ...flags] =
      machineOf(planned(1, settings)).inferenceServers[0]?.container.command ?? [];
    const port = flags.indexOf("--port");
    server = await answering(
      await startEngine(engine, { model: id, flags: flags.toSpliced(port, 2) }),
    );
  }, START_MS);
  afterAll(() => {
    server?.stop();
    engine?.remove();
  });

  it(
    "starts with the plan's arguments and passes every probe that is meant for it",
    async () => {
      const results = await run(planned(server.port, settings), {
        only: probesOf("inference-server").map(({ name }) => name),
        timeoutSeconds: 300,
      });
      const own = kind === "rerank" ? "rerank" : "embeddings";
      expect(results.filter(({ status }) => status === "fail")).toEqual([]);
      const passed = results.filter(({ status }) => status === "pass").map(({ name }) => name);
      expect(passed).toEqual(
        expect.arrayContaining(["health", "version", "models", "max-model-len", own]),
      );
      expect(results.find(({ name }) => name === own)?.detail).toContain(detail);
    },
    START_MS,
  );
});
