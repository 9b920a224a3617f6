import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { parseDocument } from "yaml";
import { pinnedImage } from "../../docker/image";
import { engineEnvironment } from "../../engine/environment";
import { freePort } from "../../layers/freePort";
import { run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";
import type { Program } from "../programs";
import { Terminal } from "../remote/terminal";
import { PROGRAMS } from "../setup";
import { describeWithImages } from "../vllm/describeWithImages";
import { programImage } from "../vllm/programImage";
import { installedPath } from "../vllm/toolTurns";
import { PROJECT } from "../wholeStack";
import { cacheModel, Spark } from "./spark";

const NEEDED_GB = 20;

/** Most of it is the images, on a busy machine. */
const LIMIT_SECONDS = 3600;

/** What of the two commands is this program's own time, beside downloads and starts. */
const OWN_SECONDS = 20;

const STACK = "spark";

/** 14.6 GiB, as a share of a Spark's memory. */
const SHARE = 0.12;

describeWithImages(
  "From an empty folder to an agent that answers",
  { neededGB: NEEDED_GB, limitSeconds: LIMIT_SECONDS },
  () => {
    const docker = inject("dockerLayer");
    const engine = inject("engineLayer");
    let env: NodeJS.ProcessEnv;
    let folder = "";
    let spark: Spark;
    let images: Readonly<Record<"b" | "bridge" | "chatUi", string>>;
    let own = 0;

    beforeAll(async () => {
      if (engine.missing !== undefined) throw new Error(engine.missing);
      const root = temporaryFolder("two-commands-");
      env = { ...process.env, ...engineEnvironment(root, engine) } as NodeJS.ProcessEnv;
      const claude = dirname(installedPath(await PROGRAMS.claude()));
      env.PATH = `${claude}:${env.PATH}`;
      // The state is where an operator has it who has set nothing.
      delete env.PULUMI_BACKEND_URL;
      delete env.PULUMI_CONFIG_PASSPHRASE;
      spark = new Spark(join(root, "kernel"));
      cacheModel(join(root, "home"));
      folder = join(root, "spark");
      mkdirSync(folder);
      images = await madeImages();
    }, LIMIT_SECONDS * 1000);
    afterAll(async () => {
      const { code, stdout, stderr } = await run(
        "npx",
        ["--no", "--", "serving", "down", "--yes"],
        {
          cwd: folder,
          env,
        },
      );
      await run("docker", ["volume", "rm", "--force", `${network()}-chat-ui-data`]);
      expect(code, stdout + stderr).toBe(0);
    });

    const madeImages = async () => {
      const b = await pinnedImage({ repository: "two-commands/vllm/vllm-openai" });
      const bridge = await programImage(docker, {
        repository: "berriai/litellm",
        version: "v1.103.0",
        environment: environmentOf(await PROGRAMS.litellm()),
        changes: ['ENTRYPOINT ["litellm"]'],
      });
      const chatUi = await programImage(docker, {
        repository: "open-webui/open-webui",
        version: "v0.11.3",
        environment: environmentOf(await PROGRAMS.openWebUi()),
        without: ["nvidia", "torch", "triton"],
        changes: [
          ...["ENV DATA_DIR=/app/backend/data", "WORKDIR /app/backend/data"],
          'CMD ["open-webui","serve","--host","0.0.0.0","--port","8080"]',
        ],
      });
      return { b: b.tag, bridge: bridge.reference, chatUi: chatUi.reference };
    };
    const file = () => join(folder, `Pulumi.${STACK}.yaml`);
    let unique = "";
    const network = () => `net-${unique}`;
    const typed = (...words: readonly string[]) => {
      const [program = "", ...args] = spark.words(...words);
      return new Terminal([program, ...args], { cwd: folder, env });
    };
    const plain = ({ written }: Terminal) => stripVTControlCharacters(written).replaceAll("\r", "");

    /**
     * What this computer's tests need: images of their registry, ports and a network of their own,
     * and a share that its start gate finds free, whose memory is this computer's.
     */
    const settle = async () => {
      const document = parseDocument(readFileSync(file(), "utf8"));
      const at = (...path: string[]) => ["config", "local-serving:machines", STACK, ...path];
      const b = (...path: string[]) => at("inferenceServers", "b", ...path);
      const [port, bridgePort, chatPort] = [await freePort(), await freePort(), await freePort()];
      unique = `two${port}`;
      for (const [path, value] of [
        [at("network"), network()],
        [b("image"), images.b],
        [b("port"), port],
        [b("lockedMemoryBytes"), 65536],
        [b("gpuMemoryUtilization"), SHARE],
        [at("bridge", "image"), images.bridge],
        [at("bridge", "port"), bridgePort],
        [at("chatUi", "image"), images.chatUi],
        [at("chatUi", "port"), chatPort],
      ] as const)
        document.setIn(path, value);
      document.deleteIn(b("versions"));
      writeFileSync(file(), document.toString({ lineWidth: 0 }));
    };

    it("`init` writes the stack file", async () => {
      const began = performance.now();
      const terminal = typed("node", join(PROJECT, "bundle/serving.cjs"), "init", "--name", STACK);
      for (const question of [/serve\? \[/, /with a key\? /, /get files /]) {
        await terminal.wrote(question);
        terminal.type("\r");
      }
      await terminal.wrote(/Made in this folder/);
      const end = await terminal.closed();
      const said = plain(terminal);
      expect(end.signal, said).toBeNull();
      expect(readFileSync(file(), "utf8"), said).toContain("device: gb10");
      const installed = /added \d+ packages?[^\n]* in (\d+)(ms|s|m)/.exec(said);
      const [, figure = "0", unit = "s"] = installed ?? [];
      const downloads = Number(figure) * ({ ms: 0.001, s: 1, m: 60 }[unit] ?? 1);
      own += (performance.now() - began) / 1000 - downloads;
      console.log(`init: own time ${own.toFixed(1)} s, npm ${downloads} s`);
      await settle();
    });

    it("`up` reads the images, applies, waits, probes, and says how it is used", async () => {
      const began = performance.now();
      const moments: number[] = [];
      const terminal = typed("npx", "--no", "--", "serving", "up", "--color=never");
      const passed = async (text: RegExp) => {
        await terminal.wrote(text);
        moments.push((performance.now() - began) / 1000);
      };
      await passed(/Go on\? \[y\/N\] /);
      terminal.type("y\r");
      await passed(/Previewing update/);
      await passed(/Duration: /);
      await passed(/open-webui-\d+ is ready|is ready \(\d+ s\)/);
      const end = await terminal.closed();
      const total = (performance.now() - began) / 1000;
      const said = plain(terminal);
      const [asked = 0, engineBegan = 0, engineEnded = 0, ready = 0] = moments;
      own += asked + (total - ready);
      console.log(
        `up: asked after ${asked.toFixed(1)} s, images ${(engineBegan - asked).toFixed(1)} s, ` +
          `engine ${(engineEnded - engineBegan).toFixed(1)} s, start ${(ready - engineEnded).toFixed(1)} s, ` +
          `probes ${(total - ready).toFixed(1)} s`,
      );
      expect(end, said).toMatchObject({ code: 0 });
      expect(said).toMatch(/Use it:\n {2}\S*local-claude/);
      expect(readFileSync(file(), "utf8")).toContain("evidence: read");
    });

    it("then `local-claude -p` answers with a tool call", async () => {
      const launcher = join(env.HOME ?? "", ".local/bin/local-claude");
      const asked = [
        "-p",
        "Use Read.",
        "--tools",
        "Read",
        "--output-format",
        "stream-json",
        "--verbose",
      ];
      const claude = await run(launcher, asked, { cwd: folder, env, limitSeconds: 120 });
      expect(claude, claude.stdout + claude.stderr).toMatchObject({ code: 0 });
      expect(claude.stdout).toMatch(/"type":"tool_use".*"name":"Read"/);
      expect(claude.stdout).toContain('"type":"tool_result"');
      expect(claude.stdout).toMatch(/"result":"Hello from /);
    });

    it("and the two commands took little time themselves", () => {
      console.log(`own time of both: ${own.toFixed(1)} s`);
      expect(own).toBeLessThan(OWN_SECONDS);
    });
  },
);

const environmentOf = (program: Program) => dirname(dirname(installedPath(program)));
