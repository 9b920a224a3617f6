import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { machineOf, resultOf, run } from "../../operate/verify/environment";
import { withBridge } from "../../operate/verify/services";
import { xmlCall } from "../../stand-in/faults/callAsText";
import { CLIENTS, clientHome, clientMissing } from "../clientHome";
import { watchEgress } from "../egress";
import { startLitellm } from "../litellm";
import { MODEL } from "../scriptedServer";
import { type Engine, installEngine, type RunningEngine, serveEngine } from "./engine";

/** Tokens of a client's first prompt: the tiny model's vocabulary makes more of them than a real one. */
const WINDOW = "131072";

/** Time for a client's run: a processor reads its prompt more slowly than a GPU does. */
const SECONDS = 400;

describe("a tool turn with the real vLLM 0.30.0", () => {
  let engine: Engine;
  let server: RunningEngine;
  beforeAll(async () => {
    engine = await installEngine("0.30.0");
    server = await serveEngine(engine, {
      args: ["--served-model-name", MODEL, "org/model", "--max-model-len", WINDOW],
    });
  }, 1_200_000);
  afterAll(() => {
    server?.stop();
    engine?.remove();
  });

  it("finds its prefix again through the bridge, and not natively", { timeout: SECONDS * 1000 }, async ({ skip }) => {
    const { litellm } = inject("programs");
    if ("missing" in litellm) return skip(litellm.missing);
    const plan = withBridge(server.port, await freePort());
    const egress = await watchEgress();
    const folder = temporaryFolder("litellm-");
    const proxy = await startLitellm(litellm.path, machineOf(plan), folder, egress);
    try {
      const results = await run(plan, {
        only: ["native-messages-path", "bridge-prefix-reuse"],
        timeoutSeconds: SECONDS,
      });
      const share = "of the second call's prompt came from the cache";
      const through = resultOf(results, "bridge-prefix-reuse");
      expect([through.status, through.detail]).toEqual(["pass", expect.stringMatching(`^9\\d % ${share}`)]);
      const native = resultOf(results, "native-messages-path");
      const said = `^PASS .*, but with a new system element .* \\d % ${share}.* Keep the bridge, as the stack file does\\.$`;
      expect([native.status, native.detail]).toEqual(["pass", expect.stringMatching(said)]);
    } finally {
      await proxy.stop();
      await egress.close();
    }
  });

  describe.each(CLIENTS)("of $name", (real) => {
    it.for(["native", "bridge"] as const)("%s", { timeout: SECONDS * 1000 }, async (via, { skip }) => {
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
    });
  });
});
