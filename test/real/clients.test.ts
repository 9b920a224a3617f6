import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileOf } from "../fixtures/services";
import {
  CLIENTS,
  type ClientHome,
  clientHome,
  clientMissing,
  laptopHome,
  networkAddress,
} from "./clientHome";
import { type ScriptedServer, startScriptedServer } from "./scriptedServer";

describe.each(CLIENTS)("$name", (real) => {
  const { client, call, paths, role, talkative } = real;
  describe.each(["native", "bridge", "laptop"] as const)("%s", (from) => {
    const via = from === "laptop" ? "bridge" : from;
    const noNetwork =
      from === "laptop" && networkAddress() === undefined ? "no network" : undefined;
    const missing = noNetwork ?? clientMissing(real, via);
    const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;
    describe.skipIf(missing !== undefined)(`with our files in a fresh home${skipped}`, () => {
      let server: ScriptedServer;
      let home: ClientHome;

      beforeAll(async () => {
        server = await startScriptedServer();
        home = await (from === "laptop"
          ? laptopHome(real, server.port)
          : clientHome(real, via, server.port));
      });
      afterAll(() => Promise.all([server?.close(), home?.close()]));

      const start = (prompt: string) => {
        server.asked.length = 0;
        return home.start(prompt);
      };

      it("says hi", async () => {
        const ran = await start("say hi");
        expect(ran, ran.err).toMatchObject({ code: 0 });
        expect(ran.out).toContain("Hello from model");
        // On a laptop the launcher has the bridge try the server.
        const tried = from === "laptop" ? ["/v1/chat/completions"] : [];
        expect(new Set(server.asked.map((each) => each.path))).toEqual(
          new Set([paths[via], ...tried]),
        );
        expect(server.asked.every((each) => each.body.model === "model")).toBe(true);
      });

      it("runs a tool and brings its result back", async () => {
        const proof = join(home.work, "proof");
        server.script = call(`echo it ran > ${proof} && echo seen-by-the-model`);
        const ran = await start("write the file");
        server.script = undefined;
        expect(ran, ran.err).toMatchObject({ code: 0 });
        expect(readFileSync(proof, "utf8")).toBe("it ran\n");
        expect(server.asked.length).toBeGreaterThanOrEqual(2);
        expect(JSON.stringify(server.asked.at(-1)?.body)).toContain("seen-by-the-model");
        expect(ran.out).toContain("Hello from model");
      });

      it.skipIf(client === "opencode")(
        "asks no other host, which it would without our switches",
        async () => {
          expect(home.egress.hosts).toEqual([]);
          if (via === "bridge" || talkative === undefined) return;
          const file = fileOf(home.machine, role);
          expect(talkative(file.text)).not.toBe(file.text);
          writeFileSync(file.path, talkative(file.text));
          await start("say hi");
          expect(home.egress.hosts).not.toEqual([]);
        },
      );
    });
  });
});
