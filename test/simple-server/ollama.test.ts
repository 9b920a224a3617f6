import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { judgeSimpleServer } from "../../components/preflight/judgeSimpleServer";
import { readSimpleServer } from "../../components/preflight/readSimpleServer";
import { PULL_MODEL } from "../../components/services/simple-server/simpleServer";
import { stack } from "../fixtures/machine";
import { freePort } from "../layers/freePort";
import { temporaryFolder } from "../layers/temporaryFolder";
import { createSmallestModel, dropInVariables } from "./realOllama";

// The real Ollama needs no GPU for this: `go build github.com/ollama/ollama` of a release, or an
// installed one.
const missing =
  spawnSync("ollama", ["--version"]).error === undefined ? undefined : "no ollama on PATH";
// The reporter names no block of a file that is skipped as a whole.
if (missing !== undefined) console.log(`ollama tests SKIPPED: ${missing}`);

const scratch = temporaryFolder("ollama-");
let running: ChildProcess | undefined;
afterEach(async () => {
  const child = running;
  running = undefined;
  if (child === undefined) return;
  await new Promise((resolve) => {
    child.on("close", resolve);
    child.kill();
  });
});

async function serve(settings: Record<string, unknown>, env: NodeJS.ProcessEnv = {}) {
  const port = await freePort();
  const [machine] = plan(stack({ simpleServer: { mode: "host", port, ...settings } }), {
    home: scratch,
  }).machines;
  if (machine?.simpleServer.mode !== "host") throw new Error("no simple server planned");
  const home = join(scratch, `home-${port}`);
  mkdirSync(home);
  const child = spawn("ollama", ["serve"], {
    env: { PATH: process.env.PATH, HOME: home, ...env, ...dropInVariables(machine) },
  });
  running = child;
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      log += chunk;
    });
  }
  const { baseUrl } = machine.simpleServer;
  await expect
    .poll(() =>
      fetch(baseUrl).then(
        (response) => response.text(),
        () => "",
      ),
    )
    .toBe("Ollama is running");
  return { machine, baseUrl, port, log: () => log };
}

function pull(model: string, baseUrl: string) {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", PULL_MODEL], {
    encoding: "utf8",
    env: { ...process.env, MODEL: model, BASE_URL: baseUrl, ANSWER_WITHIN_SECONDS: "1" },
  });
  return { status, said: stdout.trim(), refused: stderr.trim() };
}

const otherAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

describe.skipIf(missing)(
  `a real Ollama with our drop-in${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    it("keeps to loopback, to our directory and to our limits", async () => {
      const modelsDirectory = join(scratch, "our models");
      const { machine, port, log } = await serve({
        modelsDirectory,
        contextLength: 8192,
        keepAlive: "90s",
      });
      expect(existsSync(modelsDirectory)).toBe(true);
      for (const setting of [
        "OLLAMA_CONTEXT_LENGTH:8192",
        "OLLAMA_KEEP_ALIVE:1m30s",
        "OLLAMA_MAX_LOADED_MODELS:1",
        "OLLAMA_NO_CLOUD:true",
        `OLLAMA_MODELS:${modelsDirectory}`,
      ]) {
        expect(log()).toContain(setting);
      }
      expect(log()).not.toMatch(/invalid environment|level=ERROR/i);
      if (otherAddress !== undefined)
        await expect(fetch(`http://${otherAddress}:${port}`)).rejects.toThrow();

      const facts = await readSimpleServer(machine);
      expect(facts?.answer.kind).toBe("ollama");
      const findings = facts === undefined ? [] : judgeSimpleServer(machine, facts);
      expect(findings.map(({ message }) => message).join()).not.toMatch(/^Ollama \d/m);
    });

    it.each([
      [false, "asks no other host"],
      [true, "asks ollama.com where the stack file allows it"],
    ])("with `cloud: %s` it %s", async (cloud) => {
      // Every request to another host goes to this proxy, which only counts.
      let asked = 0;
      const proxy = createServer((socket) => {
        asked++;
        socket.destroy();
      }).listen(0, "127.0.0.1");
      await new Promise((resolve) => proxy.once("listening", resolve));
      const address = proxy.address();
      const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
      await serve(
        { cloud, modelsDirectory: join(scratch, `cloud-${cloud}`) },
        { HTTPS_PROXY: url, HTTP_PROXY: url },
      );
      // It asks at its start or not at all.
      await new Promise((resolve) => setTimeout(resolve, 500));
      proxy.close();
      expect(asked > 0).toBe(cloud);
    });

    it.skipIf(otherAddress === undefined)(
      "answers on the network where the stack file says so",
      async () => {
        const { port } = await serve({ listen: "0.0.0.0", modelsDirectory: join(scratch, "lan") });
        expect(await (await fetch(`http://${otherAddress}:${port}`)).text()).toBe(
          "Ollama is running",
        );
      },
    );

    it("is asked for no model that it has, and says why it can't have one", async () => {
      const modelsDirectory = join(scratch, "models");
      const { baseUrl } = await serve({ modelsDirectory });
      expect(await createSmallestModel(baseUrl, "tiny")).toContain("success");
      for (const name of ["tiny", "tiny:latest"])
        expect(pull(name, baseUrl)).toMatchObject({ status: 0, said: `${name} is there.` });
      expect(readdirSync(join(modelsDirectory, "manifests/registry.ollama.ai/library"))).toEqual([
        "tiny",
      ]);

      // Nothing listens there: the reason is the network's own.
      const { status, said, refused } = pull("127.0.0.1:9/library/nope:1b", baseUrl);
      expect(status).toBe(1);
      expect(said).toBe("127.0.0.1:9/library/nope:1b: pulling manifest");
      expect(refused).toMatch(
        /^127\.0\.0\.1:9\/library\/nope:1b was not pulled: pull model manifest: .*connection refused$/,
      );
    });
  },
);
