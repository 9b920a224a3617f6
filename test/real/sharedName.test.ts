import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { freePort } from "../layers/freePort";
import { temporaryFolder } from "../layers/temporaryFolder";
import { type StandIn, startStandIn } from "../stand-in/server";
import { type Egress, watchEgress } from "./egress";
import { startLitellm } from "./litellm";
import type { Serving } from "./process";
import { title } from "./programs";
import { callInSession, twoMachines } from "./twoMachines";

const program = inject("programs").litellm;

/**
 * Seconds that a server which failed gets nothing, and a health check that may take a minute to see
 * it back.
 */
const BACK_SECONDS = 90;

describe.skipIf("missing" in program)(
  title("one name on two machines, LiteLLM 1.103.0", program),
  () => {
    const asked: [number, number] = [0, 0];
    const servers: StandIn[] = [];
    const ports: number[] = [];
    let egress: Egress;
    let proxy: Serving;
    let url: string;

    const start = async (at: 0 | 1) => {
      const argv = [
        "org/model",
        "--served-model-name",
        "model",
        "org/model",
        "--host",
        "127.0.0.1",
      ];
      const parsers = ["--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder"];
      const log = (line: string) => {
        if (line.includes("POST /v1/chat/completions")) asked[at] += 1;
      };
      servers[at] = await startStandIn([...argv, ...parsers, "--port", String(ports[at])], { log });
    };

    beforeAll(async () => {
      if ("missing" in program) return;
      ports.push(await freePort(), await freePort());
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      await start(0);
      await start(1);
      egress = await watchEgress();
      proxy = await startLitellm(
        program.path,
        twoMachines([ports[0] ?? 0, ports[1] ?? 0], port),
        temporaryFolder("shared-name-"),
        egress,
      );
    });
    afterAll(async () => {
      await proxy?.stop();
      await Promise.all([...servers.map((server) => server.close()), egress?.close()]);
    });

    /** A call of Claude Code in this session: which of the servers got it, and how it ended. */
    const call = async (session: number, model = "model", max_tokens = 32) => {
      const before = [...asked];
      const messages = [{ role: "user", content: "Say hello." }];
      const answer = await callInSession(url, session, { model, max_tokens, messages });
      const text = await answer.text();
      return {
        status: answer.status,
        text,
        at: asked.findIndex((count, at) => count > (before[at] ?? 0)),
      };
    };

    it("keeps each session on one machine, and spreads the sessions", async () => {
      const homes = new Map<number, number>();
      for (let turn = 0; turn < 3; turn++) {
        for (let at = 0; at < 12; at++) {
          const { status, at: where } = await call(at);
          expect(status).toBe(200);
          expect(where).toBe(homes.get(at) ?? where);
          homes.set(at, where);
        }
      }
      expect(new Set(homes.values())).toEqual(new Set([0, 1]));
    });

    it("goes on with every session when a machine is gone, by every name", async () => {
      await servers[1]?.close();
      for (const name of ["model", "org/model", "claude-opus-5-5"]) {
        for (let at = 0; at < 12; at++) {
          const { status, text, at: where } = await call(at, name);
          expect([status, where], text).toEqual([200, 0]);
        }
      }
    });

    it("leaves a refused request the client's own fault: no machine is shut out for it", async () => {
      const tooLong = await call(0, "model", 1_000_000);
      expect([tooLong.status, tooLong.text], tooLong.text).toEqual([
        400,
        expect.stringContaining("max_model_len"),
      ]);
      expect((await call(0)).status).toBe(200);
    });

    it("uses the machine again once it is back", { timeout: 2 * BACK_SECONDS * 1000 }, async () => {
      await start(1);
      const deadline = Date.now() + BACK_SECONDS * 1000;
      for (let at = 100; Date.now() < deadline; at++) {
        const { status, at: where } = await call(at);
        expect(status).toBe(200);
        if (where === 1) return;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
      expect.unreachable("the machine got no session");
    });
  },
);
