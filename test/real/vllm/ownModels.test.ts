import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRecord, jsonIn, objectOr, objectsIn } from "@local-serving/base/faults/json";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { ProbeResult } from "../../../cli/verify/probe";
import { digestOf, stackConfig } from "../../engine/stackConfig";
import { Workspace } from "../../engine/workspace";
import { freePort } from "../../layers/freePort";
import { mustRun, type RunOptions, run } from "../../layers/run";
import { PROGRAMS } from "../setup";
import { CPU_SERVER } from "./cpuServer";
import { describeWithImages } from "./describeWithImages";
import { type Engine, installEngine } from "./engine";
import { type ProgramImage, programImage } from "./programImage";
import { containersIn, lastLine, Steps } from "./steps";
import { installedPath, SCRIPTED_CLIENTS, toolTurn } from "./toolTurns";

/** An environment that is linked and not copied, a small image of it, and one of the bridge. */
const NEEDED_GB = 8;

/** Three starts of vLLM and two runs of its probes, on a busy machine. */
const LIMIT_SECONDS = 2400;

/** Where a container has its model cache; the environment, of 6 GB, is mounted with it. */
const CACHE = ".cache/huggingface";

const MINE = "tone";
const OTHER = "legal";

/** The file of each client, and how it names the model that it asks for. */
const CLIENT_FILES = {
  claude: {
    file: ".local/share/local-serving/clients/claude-code.settings.json",
    asks: `"ANTHROPIC_MODEL": "${MINE}"`,
    way: `${MINE}, through the bridge`,
  },
  codex: {
    file: ".codex/local-serving.config.toml",
    asks: `model = "${OTHER}"`,
    way: `${OTHER}, natively`,
  },
} as const;

describeWithImages(
  "Adapters and a folder of one's own by the real vLLM",
  { neededGB: NEEDED_GB, limitSeconds: LIMIT_SECONDS },
  () => {
    const steps = new Steps();
    const { step } = steps;
    let engine: Engine;
    let images: Record<"vllm" | "bridge", ProgramImage>;
    let ports: Record<"base" | "merged" | "bridge", number>;
    let workspace: Workspace;
    /** Log-probabilities of a prompt's tokens at the first start, by the name that was asked for. */
    let before: Record<string, readonly number[]>;

    const folder = (name: string) => join(workspace.home, "runs", name);
    const makeAdapter = (name: string, rank: number, seed: number) =>
      mustRun(join(dirname(engine.path), "python"), [
        join(__dirname, "adapters.py"),
        folder(name),
        String(rank),
        String(seed),
      ]);
    const inside = (): RunOptions => ({
      cwd: workspace.project,
      env: workspace.env,
      limitSeconds: LIMIT_SECONDS,
    });
    const serving = async (...args: string[]) => {
      const words = ["bundle/serving.cjs", ...args, "--stack", workspace.stack];
      const said = await run("node", words, inside());
      expect(said, `${said.stdout}${said.stderr}`).toMatchObject({ code: 0 });
      return said.stdout;
    };
    /** Ids of the stack's containers by name. */
    const containers = () => containersIn(`net-own${ports.base}`);
    const probes = async (): Promise<readonly ProbeResult[]> =>
      (JSON.parse(await serving("verify", "--format", "json")) as { probes: ProbeResult[] }).probes;
    const ask = async (server: "base" | "merged", path: string, body?: object) => {
      const init = body && {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      };
      const answer = await fetch(`http://127.0.0.1:${ports[server]}${path}`, init);
      const text = await answer.text();
      expect(answer.status, text).toBe(200);
      return objectOr(jsonIn(text));
    };
    /** What the weights make of a prompt, which no scripted answer changes. */
    const logprobs = async (model: string): Promise<number[]> => {
      const prompt = "the river runs past the old stone house";
      const request = { model, prompt, max_tokens: 1, prompt_logprobs: 0 };
      const { choices } = await ask("base", "/v1/completions", request);
      // The first token has none.
      return objectsIn(objectsIn(choices)[0]?.prompt_logprobs).map((token) =>
        Number(Number(Object.values(token).filter(isRecord)[0]?.logprob).toFixed(3)),
      );
    };
    const allLogprobs = async () => ({
      base: await logprobs("rig-dense"),
      [MINE]: await logprobs(MINE),
      [OTHER]: await logprobs(OTHER),
    });
    function configure(): void {
      const { vllm, bridge } = images;
      const versions = {
        vllm: "0.30.0",
        transformers: "5.23.0",
        evidence: "read",
        digest: digestOf(vllm),
        source: "the environment",
      };
      const merged = {
        model: { id: folder("merged"), thinking: true },
        servedModelName: "my-merged",
        port: ports.merged,
        adapters: [],
      };
      workspace.configure(
        stackConfig(
          { image: vllm, portA: 0, portB: ports.base, unique: `own${ports.base}` },
          {
            ...CPU_SERVER,
            versions,
            adapters: [
              { name: MINE, path: folder(MINE) },
              { name: OTHER, path: folder(OTHER) },
            ],
          },
          {
            operatingSystemGiB: 4,
            startWithinMinutes: 15,
            instanceA: "none",
            bridge: { image: bridge.reference, port: ports.bridge, servers: ["b"] },
            clients: {
              claudeCode: { server: "b", model: MINE },
              codex: { server: "b", model: OTHER },
            },
          },
          { merged },
        ),
      );
    }

    beforeAll(async () => {
      engine = await installEngine("0.30.0");
      const litellm = dirname(dirname(installedPath(await PROGRAMS.litellm())));
      images = {
        vllm: await programImage(inject("dockerLayer"), {
          repository: "vllm/vllm-openai",
          version: "v0.30.0",
          environment: dirname(dirname(engine.path)),
          mountedAt: `/root/${CACHE}/engine`,
          files: {
            "/opt/scripted/scripted.py": readFileSync(join(__dirname, "scripted.py"), "utf8"),
          },
          changes: ['ENTRYPOINT ["vllm","serve"]'],
        }),
        bridge: await programImage(inject("dockerLayer"), {
          repository: "berriai/litellm",
          version: "v1.103.0",
          environment: litellm,
          changes: ['ENTRYPOINT ["litellm"]'],
        }),
      };
      workspace = await Workspace.open();
      ports = { base: await freePort(), merged: await freePort(), bridge: await freePort() };
      const cache = join(workspace.home, CACHE);
      mkdirSync(cache, { recursive: true });
      // By hard links, which cost no disk.
      await mustRun("cp", [
        ...["--archive", "--link"],
        ...[dirname(dirname(engine.path)), join(cache, "engine")],
      ]);
      await mustRun("cp", ["--archive", join(engine.home, "hub"), cache]);
      const made = join(engine.home, "hub/models--rig--dense/snapshots", "0".repeat(40));
      cpSync(made, folder("merged"), { recursive: true, dereference: true });
      await makeAdapter(MINE, 8, 1);
      await makeAdapter(OTHER, 16, 2);
      configure();
    }, LIMIT_SECONDS * 1000);
    afterAll(async () => {
      console.log(steps.table());
      await workspace?.close();
      engine?.remove();
    });

    step("plan", async () => {
      const said = await serving("plan");
      expect(said).toContain("2 slots for adapters of rank 16 (computed from its config.json)");
      const { machines } = JSON.parse(await serving("plan", "--format", "json")) as {
        machines: { inferenceServers: { container: { command: string[] } }[] }[];
      };
      const [base, merged] = machines[0]?.inferenceServers ?? [];
      expect(base?.container.command.join(" ")).toContain(
        `--enable-lora --lora-modules ${MINE}=/adapters/${MINE} ${OTHER}=/adapters/${OTHER} --max-lora-rank 16 --max-loras 2`,
      );
      expect(merged?.container.command[0]).toBe("/models/merged");
      return "both adapters, slots of rank 16, the merged folder";
    });
    step("up", async () => {
      await serving("up", "--yes");
      return `${Object.keys(await containers()).length} containers`;
    });
    step("wait", async () => lastLine(await serving("wait")));
    step("verify", async () => {
      const all = await probes();
      const named = (status: string) => all.filter((each) => each.status === status);
      expect(named("fail")).toEqual([]);
      const adapters = named("pass").filter(({ name }) => name === "adapters");
      expect(adapters.map(({ detail }) => detail)).toEqual([
        `\`${MINE}\`, \`${OTHER}\` each answered`,
      ]);
      return `${named("pass").length} passed, ${named("skip").length} skipped`;
    });
    step("names", async () => {
      const listed = objectsIn((await ask("base", "/v1/models")).data);
      expect(listed.map(({ id, parent, max_model_len }) => [id, parent, max_model_len])).toEqual([
        ["rig-dense", null, CPU_SERVER.maxModelLen],
        ["rig/dense", null, CPU_SERVER.maxModelLen],
        [MINE, "rig-dense", null],
        [OTHER, "rig-dense", null],
      ]);
      const own = objectsIn((await ask("merged", "/v1/models")).data);
      expect(own.map(({ id, root }) => [id, root])).toEqual([["my-merged", "/models/merged"]]);
      return "each adapter with its model as parent";
    });
    step("what each adapter makes of a text", async () => {
      before = await allLogprobs();
      const values = Object.values(before).map((each) => JSON.stringify(each));
      expect(before[MINE]?.every((each) => Number.isFinite(each) && each < 0)).toBe(true);
      expect(new Set(values).size).toBe(3);
      const messages = [{ role: "user", content: "SAY<<It is me.>>" }];
      const request = { model: MINE, messages, chat_template_kwargs: { enable_thinking: false } };
      const answer = await ask("base", "/v1/chat/completions", request);
      expect([answer.model, objectOr(objectsIn(answer.choices)[0]?.message).content]).toEqual([
        MINE,
        "It is me.",
      ]);
      return "the model and both adapters differ";
    });
    for (const client of SCRIPTED_CLIENTS)
      step(`a tool turn of ${client.name} by an adapter`, async () => {
        const { file, asks, way } = CLIENT_FILES[client.name];
        expect(readFileSync(join(workspace.home, file), "utf8")).toContain(asks);
        await toolTurn(workspace, client, LIMIT_SECONDS);
        return way;
      });
    step("up with nothing changed", async () => {
      const first = await containers();
      const preview = await workspace.preview("--expect-no-changes");
      expect([preview.code, preview.steps], preview.stdout).toEqual([0, []]);
      await serving("up", "--yes");
      expect(await containers()).toEqual(first);
      return "an empty preview";
    });
    step("an adapter with other weights: preview", async () => {
      await makeAdapter(MINE, 8, 3);
      const preview = await workspace.preview();
      expect(preview.code, preview.stdout).toBe(0);
      const changed = new Set(preview.steps.map(({ name }) => name));
      expect([...changed].sort()).toEqual(["dgx-applied-plan", "dgx-b"]);
      return preview.steps.map(({ op, name }) => `${op} ${name}`).join(", ");
    });
    step("up with other weights", async () => {
      const first = await containers();
      const against = await serving("plan", "--against", "applied");
      expect(against).toContain(`vllm-rig-dense-${ports.base}`);
      await serving("up", "--yes");
      const after = await containers();
      expect(Object.keys(after).sort()).toEqual(Object.keys(first).sort());
      const replaced = Object.keys(after).filter((name) => after[name] !== first[name]);
      expect(replaced).toEqual([`vllm-rig-dense-${ports.base}`]);
      await serving("wait");
      return `${replaced.join(", ")} alone was replaced`;
    });
    step("what the other weights make of the text", async () => {
      const after = await allLogprobs();
      expect(after[MINE]).not.toEqual(before[MINE]);
      expect([after.base, after[OTHER]]).toEqual([before.base, before[OTHER]]);
      return "that adapter answers otherwise, the rest as before";
    });
  },
);
