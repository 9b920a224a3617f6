import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Api } from "../../../cli/sees/api";
import { cacheCounters, readMetrics } from "../../../cli/sees/metrics";
import { longText } from "../../../cli/verify/tools";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { xmlCall } from "../../stand-in/faults/callAsText";
import { CLIENTS, clientHome, clientMissing } from "../clientHome";
import { watchEgress } from "../egress";
import { startLitellm } from "../litellm";
import { MODEL } from "../scriptedServer";
import { callInSession, twoMachines } from "../twoMachines";
import { type Engine, installEngine, type RunningEngine, serveEngine } from "./engine";

/**
 * Tokens of a client's first prompt: the tiny model's vocabulary makes more of them than a real
 * one.
 */
const WINDOW = "131072";

const ARGUMENTS = ["--served-model-name", MODEL, "org/model", "--max-model-len", WINDOW];

/** Time for a client's run: a processor reads its prompt more slowly than a GPU does. */
const SECONDS = 400;

describe("a tool turn with the real vLLM 0.30.0", () => {
  let engine: Engine;
  let server: RunningEngine;
  beforeAll(async () => {
    engine = await installEngine("0.30.0");
    server = await serveEngine(engine, { args: ARGUMENTS });
  }, 1_200_000);
  afterAll(() => {
    server?.stop();
    engine?.remove();
  });

  describe.each(CLIENTS)("of $name", (real) => {
    it.for(["native", "bridge"] as const)(
      "%s",
      { timeout: SECONDS * 1000 },
      async (via, { skip }) => {
        const missing = clientMissing(real, via);
        if (missing !== undefined) skip(missing);
        const home = await clientHome(real, via, server.port);
        try {
          const proof = join(home.work, "proof");
          const call = real.call(`echo it ran > ${proof} && echo seen-by-the-model`);
          const said = `I write it.\n</think>\n\n${xmlCall(call.tool, call.arguments)}\n`;
          const ran = await home.start(`SAY<<${said}>>`, SECONDS);
          expect(ran, ran.err).toMatchObject({ code: 0 });
          expect(existsSync(proof), ran.out).toBe(true);
          expect(readFileSync(proof, "utf8")).toBe("it ran\n");
          // The model repeats a tool's result.
          expect(ran.out).toMatch(/It says: [\s\S]*seen-by-the-model/);
        } finally {
          await home.close();
        }
      },
    );
  });

  // The last: the engine of the others may be the one that it stops.
  it("goes on on another machine when one is stopped while it answers", {
    timeout: 1_200_000,
  }, async ({ skip }) => {
    const { litellm } = inject("programs");
    if ("missing" in litellm) return skip(litellm.missing);
    const engines = [server, await serveEngine(engine, { args: ARGUMENTS })] as const;
    const port = await freePort();
    const egress = await watchEgress();
    const folder = temporaryFolder("litellm-");
    const proxy = await startLitellm(
      litellm.path,
      twoMachines([engines[0].port, engines[1].port], port),
      folder,
      egress,
    );
    const counters = () =>
      Promise.all(engines.map(({ url }) => cacheCounters(new Api(url, 10)).catch(() => undefined)));
    const ask = async (messages: readonly object[], max_tokens = 64) => {
      const answer = await callInSession(`http://127.0.0.1:${port}`, 1, {
        model: MODEL,
        max_tokens,
        messages,
      });
      return { status: answer.status, text: await answer.text() };
    };
    const say = (text: string) => `SAY<<I think.\n</think>\n\n${text}>>`;
    try {
      const started = await counters();
      const turns = [{ role: "user", content: `${longText(3000)}\n${say("Ready.")}` }];
      const next = (said: string) =>
        turns.push({ role: "assistant", content: "Ready." }, { role: "user", content: say(said) });
      expect(await ask(turns)).toMatchObject({
        status: 200,
        text: expect.stringContaining("Ready."),
      });
      const [own] = await counters();
      const home = (own?.queries ?? 0) > (started[0]?.queries ?? 0) ? 0 : 1;
      next("Done.");
      const before = (await counters())[home];
      expect(await ask(turns)).toMatchObject({
        status: 200,
        text: expect.stringContaining("Done."),
      });
      await expect
        .poll(async () => ((await counters())[home]?.hits ?? 0) - (before?.hits ?? 0))
        .toBeGreaterThan(2500);
      next("word ".repeat(6000));
      const long = ask(turns, 8000);
      const running = async () =>
        (await readMetrics(new Api(engines[home].url, 10))).sum("vllm:num_requests_running");
      await expect.poll(running, { timeout: 30_000 }).toBe(1);
      engines[home].stop();
      expect(await long).toMatchObject({ status: 200, text: expect.stringContaining("word word") });
      next("Over.");
      expect(await ask(turns)).toMatchObject({
        status: 200,
        text: expect.stringContaining("Over."),
      });
      const left = (await counters())[1 - home];
      // The first call there reads everything anew, the next one finds it.
      expect(left?.hits).toBeGreaterThan(2500);
    } finally {
      engines[1].stop();
      await proxy.stop();
      await egress.close();
    }
  });
});
