import { cpSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { ProbeResult } from "../../../cli/verify/probe";
import { digestOf, stackConfig } from "../../engine/stackConfig";
import { Workspace } from "../../engine/workspace";
import { freePort } from "../../layers/freePort";
import { mustRun, type RunOptions, run } from "../../layers/run";
import { createSmallestModel } from "../../simple-server/realOllama";
import type { Program } from "../programs";
import { PROGRAMS } from "../setup";
import { TINY } from "../wholeStack";
import { CPU_ENVIRONMENT, CPU_SERVER } from "./cpuServer";
import { describeWithImages } from "./describeWithImages";
import { installEngine } from "./engine";
import { type ProgramImage, programImage } from "./programImage";
import { containersIn, lastLine, Steps } from "./steps";
import { type Systemd, startSystemd } from "./systemd";
import { installedPath, SCRIPTED_CLIENTS, toolTurn } from "./toolTurns";

const NEEDED_GB = 40;

/** The longest phase pushes an image of 6 GB, on a busy machine. */
const LIMIT_SECONDS = 5400;

/** A model of random weights says what the test wants; everything else of vLLM is its own. */
const SCRIPTED = readFileSync(join(__dirname, "scripted.py"), "utf8");

/** What of the engine's environment is loaded on a GPU alone, and large. */
const FOR_A_GPU = [
  "triton",
  "nvidia/cu13/lib/libcusolverMg.so.12",
  "nvidia/cu13/lib/libnvrtc.alt.so.13",
  "nvidia/cudnn/lib/libcudnn_adv.so.9",
  "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9",
];

/** Servers that search documents, beside the one that chats. */
const SEARCH_KINDS = {
  embedding: { model: { id: "rig/dense", kind: "embedding" }, servedModelName: "rig-embedding" },
  rerank: { model: { id: "rig/rerank", kind: "rerank" }, servedModelName: "rig-rerank" },
} as const;

describeWithImages(
  "One whole run, with everything real but the GPU and the model's words",
  { neededGB: NEEDED_GB, limitSeconds: LIMIT_SECONDS },
  () => {
    const steps = new Steps();
    const { step } = steps;
    let systemd: Systemd;
    let workspace: Workspace;
    let images: Record<"b" | "bridge" | "chatUi", string>;
    let ports: Record<"b" | "bridge" | "chatUi" | "ollama" | keyof typeof SEARCH_KINDS, number>;

    beforeAll(async () => {
      systemd = startSystemd(installedPath(await PROGRAMS.ollama()));
      workspace = await Workspace.open({ env: systemd.env });
      const [b, bridge, chatUi] = [await freePort(), await freePort(), await freePort()];
      ports = {
        b,
        bridge,
        chatUi,
        ollama: await freePort(),
        embedding: await freePort(),
        rerank: await freePort(),
      };
    }, LIMIT_SECONDS * 1000);
    afterAll(async () => {
      console.log(steps.table());
      // What it needs could not be made.
      if (ports === undefined) return;
      await workspace.close();
      await mustRun("docker", ["volume", "rm", "--force", `${network()}-chat-ui-data`]);
    });

    const network = () => `net-whole${ports.b}`;
    const inside = (): RunOptions => ({
      cwd: workspace.project,
      env: { ...workspace.env, HX_LOCAL_KEY: "local" },
      limitSeconds: LIMIT_SECONDS,
    });
    /** A program of the project, as its package.json starts it. */
    const ours = async (program: "engine" | "serving", ...args: string[]) => {
      const said = await run(
        "node",
        [`bundle/${program}.cjs`, ...args, "--stack", workspace.stack],
        inside(),
      );
      expect(said, `${said.stdout}${said.stderr}`).toMatchObject({ code: 0 });
      return said.stdout;
    };
    const configure = (server: Record<string, unknown> = {}, searches = false) => {
      const { b, bridge, chatUi } = images;
      const image = { tag: b, digest: "", reference: b };
      const search = Object.entries(SEARCH_KINDS).map(([kind, settings]) => [
        kind,
        {
          ...{
            ...settings,
            port: ports[kind as keyof typeof SEARCH_KINDS],
            environment: CPU_ENVIRONMENT,
            maxModelLen: 2048,
          },
          ...{
            tools: undefined,
            reasoningParser: undefined,
            moeBackend: undefined,
            gpuMemoryUtilization: 0.12,
          },
          ...{ extraArgs: ["--enforce-eager"] },
        },
      ]);
      workspace.configure(
        stackConfig(
          { image, portA: 0, portB: ports.b, unique: `whole${ports.b}` },
          {
            ...CPU_SERVER,
            versions: {
              vllm: "0.30.0",
              transformers: "5.23.0",
              evidence: "read",
              digest: digestOf(image),
              source: "the environment",
            },
            ...server,
          },
          {
            operatingSystemGiB: 4,
            instanceA: "none",
            bridge: { image: bridge, port: ports.bridge },
            chatUi: { image: chatUi, port: ports.chatUi },
            simpleServer: {
              ...{ mode: "host", listen: "0.0.0.0", port: ports.ollama, models: [TINY] },
              ...systemd.settings,
            },
            elevate: ["sudo", "-n"],
            clients: { claudeCode: {}, codex: {}, clientEnv: {} },
            harness: searches
              ? { embeddingServer: "embedding" satisfies keyof typeof SEARCH_KINDS }
              : {},
          },
          searches ? Object.fromEntries(search) : {},
        ),
      );
    };
    const verify = async (passing: readonly string[] = ["native-messages-path"]) => {
      const { probes } = JSON.parse(await ours("serving", "verify", "--format", "json")) as {
        probes: ProbeResult[];
      };
      const named = (status: string) =>
        probes.filter((each) => each.status === status).map(({ name }) => name);
      expect(named("pass")).toEqual(expect.arrayContaining([...passing]));
      return `${named("pass").length} passed, ${named("fail").length} failed, ${named("skip").length} skipped`;
    };
    /** Ids of the stack's containers by name. */
    const containers = () => containersIn(network());

    step("images", async () => {
      const engine = await installEngine("0.30.0");
      const b = await programImage(inject("dockerLayer"), {
        repository: "vllm/vllm-openai",
        version: "v0.30.0",
        environment: dirname(dirname(engine.path)),
        without: FOR_A_GPU,
        files: { "/opt/scripted/scripted.py": SCRIPTED },
        changes: ['ENTRYPOINT ["vllm","serve"]'],
      });
      cpSync(engine.home, join(workspace.home, ".cache/huggingface"), { recursive: true });
      engine.remove();
      const bridge = await programImage(inject("dockerLayer"), {
        repository: "berriai/litellm",
        version: "v1.103.0",
        environment: environmentOf(await PROGRAMS.litellm()),
        changes: ['ENTRYPOINT ["litellm"]'],
      });
      const chatUi = await programImage(inject("dockerLayer"), {
        repository: "open-webui/open-webui",
        version: "v0.11.3",
        environment: environmentOf(await PROGRAMS.openWebUi()),
        without: ["nvidia", "torch", "triton"],
        changes: [
          ...["ENV DATA_DIR=/app/backend/data", "WORKDIR /app/backend/data"],
          'CMD ["open-webui","serve","--host","0.0.0.0","--port","8080"]',
        ],
      });
      images = { b: b.reference, bridge: bridge.reference, chatUi: chatUi.reference };
      return `vLLM ${gb(b)}, LiteLLM ${gb(bridge)}, Open WebUI ${gb(chatUi)}`;
    });
    step("up", async () => {
      configure();
      return created(await ours("engine", "up", "--yes"));
    });
    step("wait", async () => {
      const said = await ours("serving", "wait");
      await createSmallestModel(`http://127.0.0.1:${ports.ollama}`, TINY);
      return lastLine(said);
    });
    step("verify", () => verify());
    step("doctor", async () => {
      const said = await ours("serving", "doctor");
      expect(said).toContain("No trouble found");
      return "No trouble found";
    });
    for (const client of SCRIPTED_CLIENTS) {
      step(`a tool turn of ${client.name}`, async () => {
        await toolTurn(workspace, client, LIMIT_SECONDS);
        return "the command ran, its output came back to the model";
      });
    }
    step("up after a change", async () => {
      const before = await containers();
      configure({ maxNumSeqs: 8 });
      const said = await ours("engine", "up", "--yes");
      const after = await containers();
      const replaced = Object.keys(after).filter((name) => after[name] !== before[name]);
      expect(replaced).toEqual([`vllm-rig-dense-${ports.b}`]);
      return created(said);
    });
    step("wait again", async () => lastLine(await ours("serving", "wait")));
    step("verify again", () => verify());
    step("a third up", async () => {
      await ours("engine", "up", "--yes", "--expect-no-changes");
      return "nothing changed";
    });
    step("up with document search", async () => {
      const before = await containers();
      configure({ maxNumSeqs: 8 }, true);
      const said = await ours("engine", "up", "--yes");
      const after = await containers();
      expect(Object.keys(after).filter((name) => !(name in before))).toHaveLength(2);
      const chats = `vllm-rig-dense-${ports.b}`;
      expect(after[chats]).toBe(before[chats]);
      return created(said);
    });
    step("wait for three servers", async () => lastLine(await ours("serving", "wait")));
    step("verify all", () => verify(["embeddings", "rerank", "harness-embedding"]));
    step("down", async () => {
      await ours("engine", "down", "--yes");
      expect(await containers()).toEqual({});
      const named = ["--format", "{{.Name}}", "--filter", `name=${network()}`];
      expect(await mustRun("docker", ["network", "ls", ...named])).toBe("");
      // Accounts and chats stay, and so do the models.
      expect(await mustRun("docker", ["volume", "ls", ...named])).toBe(`${network()}-chat-ui-data`);
      for (const path of [".hx", ".local/bin", ".local/share", ".codex/local-serving.config.toml"])
        expect(existsSync(join(workspace.home, path)), path).toBe(false);
      return "nothing is left but models and chats";
    });
  },
);

const environmentOf = (program: Program) => dirname(dirname(installedPath(program)));

const gb = ({ bytes }: ProgramImage) => `${(bytes / 1e9).toFixed(1)} GB`;

/** The engine's own count of what it did. */
function created(said: string): string {
  return said
    .slice(said.lastIndexOf("Resources:"))
    .split("\n")
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => /^\S \d+|^\d+/.test(line))
    .join(", ");
}
