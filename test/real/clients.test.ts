import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { ClientName } from "../../components/clients/registry";
import type { MachinePlan } from "../../components/plan/types";
import { BRIDGE, fileOf, planned } from "../fixtures/services";
import { freePort } from "../layers/freePort";
import { type Egress, watchEgress } from "./egress";
import { startLitellm } from "./litellm";
import { type Ran, runToEnd, type Serving } from "./process";
import { title } from "./programs";
import { type ScriptedServer, startScriptedServer } from "./scriptedServer";

const programs = inject("programs");

/** How each client is told to do one thing and end. */
const CLIENTS = [
  {
    name: "Claude Code 2.1.197",
    client: "claude-code" satisfies ClientName,
    key: "claudeCode",
    program: programs.claude,
    ask: (prompt: string) => ["-p", prompt, "--allowedTools", "Bash"],
    call: (command: string) => ({ tool: "Bash", arguments: { command, description: "a test" } }),
    paths: { native: "/v1/messages", bridge: "/v1/chat/completions" },
    role: "claude-code-settings",
    talkative: (text: string) => text.replace(/"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",/, ""),
  },
  {
    name: "Codex 0.169.0",
    client: "codex" satisfies ClientName,
    key: "codex",
    program: programs.codex,
    ask: (prompt: string) => [
      ...["exec", "--strict-config", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      prompt,
    ],
    call: (cmd: string) => ({ tool: "exec_command", arguments: { cmd } }),
    paths: { native: "/v1/responses", bridge: "/v1/responses" },
    role: "codex-config",
    talkative: (text: string) =>
      text.replace("enabled = false", "enabled = true").replace("plugins = false", ""),
  },
  {
    name: "opencode 1.18.33",
    client: "opencode" satisfies ClientName,
    key: "opencode",
    program: programs.opencode,
    ask: (prompt: string) => ["run", prompt],
    call: (command: string) => ({ tool: "bash", arguments: { command, description: "a test" } }),
    paths: { native: "/v1/chat/completions", bridge: "/v1/chat/completions" },
    role: "opencode-config",
    // It looks for its own newest version whatever it is told.
    talkative: undefined,
  },
  {
    name: "pi 0.87.1",
    client: "pi" satisfies ClientName,
    key: "pi",
    program: programs.pi,
    ask: (prompt: string) => ["-p", prompt],
    call: (command: string) => ({ tool: "bash", arguments: { command } }),
    paths: { native: "/v1/chat/completions", bridge: "/v1/chat/completions" },
    role: "pi-models",
    talkative: undefined,
  },
  {
    name: "Qwen Code 0.24.4",
    client: "qwen-code" satisfies ClientName,
    key: "qwenCode",
    program: programs.qwenCode,
    ask: (prompt: string) => ["--yolo", "-p", prompt],
    call: (command: string) => ({
      tool: "run_shell_command",
      arguments: { command, description: "a test", is_background: false },
    }),
    paths: { native: "/v1/chat/completions", bridge: "/v1/chat/completions" },
    role: "qwen-code-settings",
    talkative: (text: string) =>
      text.replace('"usageStatisticsEnabled": false', '"usageStatisticsEnabled": true'),
  },
] as const;

/** Time for one run of a client, with room for a busy machine. */
const SECONDS = 100;

describe.each(CLIENTS)("$name", ({ client, key, program, ask, call, paths, role, talkative }) => {
  describe.each(["native", "bridge"] as const)("%s", (via) => {
    const needed = via === "native" || !("missing" in program) ? program : programs.litellm;
    const missing = "missing" in program || (via === "bridge" && "missing" in programs.litellm);
    describe.skipIf(missing)(title("with our files in a fresh home", needed), () => {
      const home = mkdtempSync(join(tmpdir(), "home-"));
      const work = join(home, "work");
      let server: ScriptedServer;
      let egress: Egress;
      let proxy: Serving | undefined;
      let machine: MachinePlan;

      beforeAll(async () => {
        [server, egress] = [await startScriptedServer(), await watchEgress()];
        const port = await freePort();
        machine = planned(
          { bridge: { ...BRIDGE, port }, clients: { [key]: { via } } },
          { port: server.port },
          home,
        );
        for (const file of machine.files) {
          mkdirSync(dirname(file.path), { recursive: true });
          writeFileSync(file.path, file.text, { mode: Number.parseInt(file.mode, 8) });
        }
        mkdirSync(work);
        if (via === "bridge" && !("missing" in programs.litellm))
          proxy = await startLitellm(programs.litellm.path, machine, join(home, "litellm"), egress);
        egress.hosts.length = 0;
      });
      afterAll(async () => {
        await proxy?.stop();
        await Promise.all([server?.close(), egress?.close()]);
        rmSync(home, { recursive: true, force: true });
      });

      const start = (prompt: string): Promise<Ran> => {
        if ("missing" in program) throw new Error(program.missing);
        const launcher = machine.clients.find((each) => each.client === client)?.command ?? "";
        server.asked.length = 0;
        const node = "missing" in programs.node ? process.execPath : programs.node.path;
        const path = [dirname(program.path), dirname(node), "/usr/bin", "/bin"].join(":");
        return runToEnd(launcher, ask(prompt), {
          env: { PATH: path, HOME: home, ...egress.variables },
          cwd: work,
          seconds: SECONDS,
        });
      };

      it("says hi", async () => {
        const ran = await start("say hi");
        expect(ran, ran.err).toMatchObject({ code: 0 });
        expect(ran.out).toContain("Hello from model");
        expect(new Set(server.asked.map((each) => each.path))).toEqual(new Set([paths[via]]));
        expect(server.asked.every((each) => each.body.model === "model")).toBe(true);
      });

      it("runs a tool and brings its result back", async () => {
        const proof = join(work, "proof");
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
          expect(egress.hosts).toEqual([]);
          if (via === "bridge" || talkative === undefined) return;
          const file = fileOf(machine, role);
          expect(talkative(file.text)).not.toBe(file.text);
          writeFileSync(file.path, talkative(file.text));
          await start("say hi");
          expect(egress.hosts).not.toEqual([]);
        },
      );
    });
  });
});
