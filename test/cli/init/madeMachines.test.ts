import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { choose } from "../../../cli/init/choose";
import { readHost } from "../../../cli/sees/computer/computer";
import { type HostFacts, hostFacts } from "../../../cli/sees/computer/facts";
import { sourcesAt } from "../../../cli/sees/computer/sources";
import { FakeSsh } from "../../layers/fakeSsh";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { inspected } from "../fakeDocker";
import { runServing } from "../runServing";
import { type Made, madeMachine } from "./madeMachine";

afterEach(() => void vi.unstubAllEnvs());

const MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const folder = temporaryFolder("init-made-");

interface Planned {
  readonly machines: readonly {
    readonly hostInstance: unknown;
    readonly inferenceServers: readonly { readonly memory: { readonly utilization: number } }[];
    readonly ledger: {
      readonly totalGiB: number;
      readonly lines: readonly { name: string; gib: number }[];
    };
  }[];
  readonly policies: readonly { readonly name: string; readonly verdict: string }[];
}

/** Looks at a made machine, writes its stack file, and plans that as `serving plan` does. */
async function madeFile(made: Made) {
  const { sources, env } = madeMachine(made);
  vi.stubEnv("PATH", env.PATH ?? "");
  vi.stubEnv("DOCKER_HOST", "");
  const facts = await readHost(sources);
  const choice = await choose(facts, { name: "spark", project: process.cwd(), home: sources.home });
  const file = join(folder, "Pulumi.spark.yaml");
  writeFileSync(file, choice.text);
  const { code, out, err } = await runServing(["plan", "--file", file, "--format", "json"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const planned = JSON.parse(out) as Planned;
  expect(planned.policies.filter(({ verdict }) => verdict === "refused")).toEqual([]);
  const [machine] = planned.machines;
  if (machine === undefined) throw new Error("nothing was planned");
  // What a comment says, without its line breaks.
  return { facts, ...choice, said: choice.text.replace(/\n *# +(?!- )/g, " "), machine };
}

const KIB_PER_GIB = 1024 ** 2;
/** MemAvailable where these servers run beside a system of 6 GiB. */
const beside = (...shares: number[]) =>
  Math.round(
    127_600_592 * (1 - shares.reduce((sum, share) => sum + share, 0)) -
      (6 + shares.length) * KIB_PER_GIB,
  );

const TOOLS = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"];
const vllm = (...args: string[]) => ({
  argv: ["/opt/vllm/bin/python3", "/opt/vllm/bin/vllm", "serve", "org/model-a", ...args],
  unit: "vllm.service",
});

describe("the stack file that init writes", () => {
  it("has no instance A where nothing runs, and the default model alone", async () => {
    const { text, machine, model, mend } = await madeFile({ totalKib: 127_600_592 });
    expect({ model, mend }).toEqual({ model: MODEL, mend: [] });
    expect(machine).toMatchObject({ hostInstance: "none", ledger: { totalGiB: 121.69 } });
    expect(text).toContain(
      "# - No vLLM runs on the host: there is no instance A.\n# - No Ollama.\n# - Docker answers, with a GPU runtime.\n",
    );
    expect(text).toContain("# - GPU: NVIDIA GB10; driver 580.95.05, kernel 6.17.0-1014-nvidia.\n");
    expect(text).toContain("instanceA: none\n");
    expect(text).not.toContain("simpleServer");
    expect(text).toContain("operatingSystemGiB: 7.25\n");
  });

  it("declares a running vLLM as it was started, and none of its keys", async () => {
    const { text, said, facts, machine, model } = await madeFile({
      availableKib: beside(0.4),
      listening: {
        8000: vllm(
          ...[
            "--gpu-memory-utilization=0.4",
            "--max-model-len",
            "131072",
            "--served-model-name",
            "model-a",
          ],
          ...[
            "--api-key",
            "first-key-of-mine",
            "second-key-of-mine",
            "--hf-token",
            "hf_abcdEFGH1234",
          ],
        ),
      },
    });
    expect(model).toBe(MODEL);
    expect(machine.hostInstance).toEqual({
      port: 8000,
      gpuMemoryUtilization: 0.4,
      maxModelLen: 131072,
      model: "org/model-a",
      servedModelName: "model-a",
      toolParser: "none",
      keyVariable: "LOCAL_SERVING_INSTANCE_A_KEY",
    });
    expect(text).toContain("# Instance A is the vLLM on port 8000, run by vllm.service.");
    expect(said).toContain("started as `vllm serve org/model-a");
    expect(JSON.stringify(facts) + text).not.toMatch(/key-of-mine|hf_abcd/);
    expect(facts.servers).toMatchObject([
      { port: 8000, share: 0.4, shareFrom: "argv", runsIn: "vllm.service" },
    ]);
  });

  it("leaves instance A alone where no model fits beside it, and says what to lower", async () => {
    const { text, machine, model, mend } = await madeFile({
      availableKib: beside(0.82),
      listening: {
        8000: vllm("--gpu-memory-utilization=0.82", "--served-model-name=model-a", ...TOOLS),
      },
    });
    expect(model).toBeNull();
    expect(machine.inferenceServers).toEqual([]);
    expect(machine.hostInstance).toMatchObject({ toolParser: "hermes" });
    expect(text).not.toContain("keyVariable: LOCAL_SERVING_INSTANCE_A_KEY");
    expect(mend).toEqual([
      `No model fits beside instance A, which takes 0.82 of the memory: there is no server B. Lower its --gpu-memory-utilization in vllm.service to 0.45, restart it, remove this file and run \`serving init\` again: then ${MODEL} fits.`,
    ]);
    expect(text).toContain("gpuMemoryUtilization: 0.82\n");
    expect(text).toContain("claudeCode:\n          server: instance-a\n          via: bridge\n");
  });

  const ALONE = "--gpu-memory-utilization=0.82";
  const beyond = (...args: string[]) =>
    madeFile({ availableKib: beside(0.82), listening: { 8000: vllm(ALONE, ...args) } });
  const NOBODY = "No coding client is pointed at instance A: ";
  const AGAIN = ", remove this file and run `serving init` again.";

  it("points no coding client at an instance A without a tool parser, and says what to start it with", async () => {
    const { text, mend, machine } = await beyond(
      ...["--served-model-name", "model-a", "--tool-call-parser", "hermes"],
    );
    expect(machine.hostInstance).toMatchObject({ toolParser: "none" });
    expect(mend[0]).toBe(
      `${NOBODY}it makes no structured tool calls. Start it with \`--enable-auto-tool-choice --tool-call-parser <parser>\`${AGAIN}`,
    );
    expect(text).not.toMatch(/claudeCode|codex:/);
    // Other programs call no tools.
    expect(text).toContain("clientEnv:\n          server: instance-a\n");
  });

  it("points no coding client at a name with a slash, and takes another name where there is one", async () => {
    const slash = await beyond(...TOOLS);
    expect(slash.mend[0]).toBe(
      `${NOBODY}its name \`org/model-a\` has a slash. Start it with \`--served-model-name\` and put a name without a slash first${AGAIN}`,
    );
    expect(slash.text).not.toMatch(/claudeCode|codex:/);
    const alias = await beyond(...TOOLS, "--served-model-name", "org/model-a", "model-a");
    expect(alias.machine.hostInstance).toMatchObject({ servedModelName: "model-a" });
    expect(alias.text).toContain("claudeCode:\n          server: instance-a\n");
    expect(alias.mend.join()).not.toContain(NOBODY);
  });

  it("points clients at an instance A with a key past the bridge, which has none", async () => {
    const { text, machine, facts } = await beyond(
      ...[...TOOLS, "--served-model-name", "model-a", "--api-key", "key-of-mine"],
    );
    expect(machine.hostInstance).toMatchObject({ keyVariable: "LOCAL_SERVING_INSTANCE_A_KEY" });
    expect(text).toContain("claudeCode:\n          server: instance-a\n          via: native\n");
    expect(text).not.toContain("via: bridge");
    expect(JSON.stringify(facts) + text).not.toContain("key-of-mine");
  });

  it("plans for a lowered instance A where it takes more than any plan may hold", async () => {
    const { said, machine, mend } = await madeFile({
      availableKib: beside(0.92),
      listening: { 8000: vllm() },
    });
    expect(machine.hostInstance).toMatchObject({ gpuMemoryUtilization: 0.45 });
    expect(machine.inferenceServers).toMatchObject([{ memory: { utilization: 0.45 } }]);
    expect(said).toContain("takes 0.92 of the memory (vLLM's default)");
    expect(said).toContain(
      "It runs with 0.92, which leaves too little. Restart it with --gpu-memory-utilization 0.45 before",
    );
    expect(mend).toEqual([
      expect.stringContaining(
        "Instance A on port 8000 runs with utilization 0.92, but 0.45 is declared. Declare the actual value (`instanceA.gpuMemoryUtilization`), or restart instance A yourself with the declared value.",
      ),
    ]);
  });

  it("takes the share of another user's server from its metrics", async () => {
    const answers: Record<string, string> = {
      "/version": '{"version":"0.28.0"}',
      "/v1/models":
        '{"data":[{"id":"model-a","owned_by":"vllm","root":"org/model-a","max_model_len":131072}]}',
      "/metrics":
        'vllm:num_requests_running{engine="0"} 0\nvllm:cache_config_info{gpu_memory_utilization="0.4",kv_cache_memory_bytes="None"} 1\n',
    };
    const { port } = await httpServer((request, response) =>
      response.end(answers[request.url ?? ""]),
    );
    const { facts, said, text, machine, mend } = await madeFile({
      availableKib: beside(0.4),
      listening: { [port]: "unseen" },
      usualPorts: [port],
    });
    expect(facts.servers).toEqual([
      {
        ...{
          port,
          address: "127.0.0.1",
          version: "0.28.0",
          model: "org/model-a",
          servedModelName: "model-a",
        },
        ...{
          asksForKey: false,
          maxModelLen: 131072,
          share: 0.4,
          shareFrom: "metrics",
          unread: "it belongs to another user",
        },
      },
    ]);
    expect(machine.hostInstance).toMatchObject({
      ...{ port, gpuMemoryUtilization: 0.4, keyVariable: "none" },
    });
    expect(machine.hostInstance).not.toHaveProperty("toolParser");
    expect(said).toContain("takes 0.4 of the memory (by its /metrics)");
    expect(text).toContain("listen: 127.0.0.1\n");
    expect(mend).toEqual([
      `How instance A (port ${port}) was started can't be read, since it belongs to another user: its declared utilization of 0.4 is used.`,
    ]);
  });

  it("counts all memory in use as another user's server where nothing tells its share", async () => {
    const models = '{"data":[{"id":"model-a","owned_by":"vllm","root":"org/model-a"}]}';
    const { port } = await httpServer(({ url }, response) => {
      response.statusCode = url === "/v1/models" ? 200 : 404;
      response.end(url === "/v1/models" ? models : "");
    });
    const { text, machine } = await madeFile({
      availableKib: 76_560_356,
      listening: { [port]: "unseen" },
      usualPorts: [port],
    });
    expect(machine.hostInstance).toMatchObject({ gpuMemoryUtilization: 0.41 });
    expect(text).toContain("# It can't be read, so all memory in use counts as its own.");
  });

  it("takes no other program for a vLLM, and gives its port to nobody", async () => {
    const { port } = await httpServer((_, response) => response.end("hello"));
    const { facts, text } = await madeFile({
      listening: { [port]: "unseen", 8001: "unseen", 8787: { argv: ["node", "server.js"] } },
      usualPorts: [port],
    });
    expect(facts.servers).toEqual([]);
    expect(text).toContain("instanceA: none\n");
    expect(text).toContain("          port: 8002\n");
    expect(text).toContain("        port: 8788\n");
  });

  it("declares Ollama's unit with its models, and counts one that is loaded", async () => {
    const answers: Record<string, string> = {
      "/api/version": '{"version":"0.34.4"}',
      "/api/tags":
        '{"models":[{"name":"qwen3:8b","size":5200000000},{"name":"gemma4:e4b","size":9600000000}]}',
      "/api/ps": '{"models":[{"name":"qwen3:8b","size":10307921510}]}',
    };
    const { url, port } = await httpServer((request, response) =>
      response.end(answers[request.url ?? ""]),
    );
    const unit =
      'LoadState=loaded\nUser=ollama\nEnvironment=PATH=/usr/bin OLLAMA_MODELS=/data/ollama "OLLAMA_X=sk-abcdEFGH12345678"\n';
    const { facts, text, said, machine } = await madeFile({
      ollamaUnit: unit,
      ollamaUrl: url,
      listening: { [port]: "unseen" },
    });
    expect(facts.ollama).toEqual({
      ...{
        unit: true,
        user: "ollama",
        modelsDirectory: "/data/ollama",
        version: "0.34.4",
        address: "127.0.0.1",
      },
      models: [
        { name: "qwen3:8b", sizeGB: 5.2, loadedGiB: 9.6 },
        { name: "gemma4:e4b", sizeGB: 9.6 },
      ],
    });
    expect(said).toContain(
      "run by ollama.service; models: qwen3:8b (loaded, 9.6 GiB), gemma4:e4b.",
    );
    expect(text).toContain("modelsDirectory: /data/ollama\n");
    expect(text).toContain("models: [ qwen3:8b, gemma4:e4b ]\n");
    expect(machine.ledger.lines).toContainEqual(expect.objectContaining({ gib: 13.18 }));
    expect(JSON.stringify(facts)).not.toContain("sk-abcd");
  });

  it("counts a vLLM in somebody else's container, and leaves running ones of ours out", async () => {
    const theirs = {
      ...inspected({ name: "ngc-vllm" }),
      Config: { Cmd: ["vllm", "serve", "m", "--gpu-memory-utilization", "0.3"] },
      HostConfig: { PortBindings: { "8000/tcp": [{ HostIp: "0.0.0.0", HostPort: "8000" }] } },
    };
    const ours = inspected({ name: "litellm-8787", labels: { "local-serving.machine": "spark" } });
    const { facts, text, machine } = await madeFile({
      availableKib: beside(0.3),
      listening: { 8000: "unseen", 8001: "unseen" },
      docker: {
        info: { out: '{"Runtimes":{"nvidia":{}}}' },
        "network inspect": { out: "lo\n" },
        ps: { out: "a\nb\n" },
        inspect: { out: JSON.stringify([theirs, ours]) },
      },
    });
    expect(facts.servers).toMatchObject([{ port: 8000, runsIn: "container ngc-vllm", share: 0.3 }]);
    expect(facts.docker).toMatchObject({
      ours: [{ name: "litellm-8787", machine: "spark", ports: [8001] }],
    });
    expect(machine.hostInstance).toMatchObject({ port: 8000, gpuMemoryUtilization: 0.3 });
    expect(text).toContain("          port: 8001\n");
    expect(text).toContain("our containers running: litellm-8787");
  });

  it("says what to do without Docker, with a full disk and with a kernel that is known to fail", async () => {
    const { facts, mend, said } = await madeFile({
      docker: { info: { err: "Cannot connect to the Docker daemon.", code: 1 } },
      kernel: "7.0.0-1019-nvidia",
      driver: "590.44.01",
    });
    expect(said).toContain(
      "# - No Docker engine answers (docker info failed: Cannot connect to the Docker daemon.).",
    );
    expect(mend).toEqual([
      expect.stringMatching(
        /^No Docker engine answers at .*Start it \(`sudo systemctl start docker`\)/,
      ),
      expect.stringMatching(/^kernel 7\.0\.0-1019-nvidia: .*add `kho=off` to GRUB_CMDLINE_LINUX/),
      expect.stringMatching(/^driver 590\.44\.01: .*install driver 580/),
    ]);
    const full: HostFacts = { ...facts, modelCache: { ...facts.modelCache, freeGB: 3 } };
    const again = await choose(full, { name: "spark", project: process.cwd() });
    expect(again.mend[0]).toBe(
      `3.0 GB of disk are free, about 42.0 GB are needed (${facts.modelCache.path}). Missing: about 20.0 GB for images whose size isn't known; 22.0 GB of models. Free 39.0 GB (\`serving status --leftovers\` lists what nothing uses), or set \`modelCache\` to a folder on another disk.`,
    );
    expect(again.text.replace(/\n# +/g, " ")).toContain("; 3 GB of its disk are free.");
  });

  it("prefers a model of the catalogue that is in the cache", async () => {
    const { facts, model, mend } = await madeFile({
      cached: { "openai/gpt-oss-120b": 61e9, "org/other": 5e9 },
    });
    expect(facts.modelCache).toMatchObject({
      usual: true,
      models: [
        { id: "openai/gpt-oss-120b", whole: true, weightsGB: 61 },
        { id: "org/other", whole: true, weightsGB: 5 },
      ],
    });
    expect({ model, mend }).toEqual({ model: "openai/gpt-oss-120b", mend: [] });
  });

  it.each([
    ["a machine of another size", 263_012_112, 250.83, MODEL],
    ["one too small for any model", 24_684_092, 23.54, null],
  ])("has the memory of %s", async (_, totalKib, totalGiB, model) => {
    const made = await madeFile({ totalKib, availableKib: totalKib - 6 * KIB_PER_GIB });
    expect(made.machine.ledger.totalGiB).toBe(totalGiB);
    expect(made.model).toBe(model);
  });

  it("is the same from the facts that were printed", async () => {
    const { facts, text } = await madeFile({
      listening: { 8000: vllm("--gpu-memory-utilization", "0.3") },
    });
    const printed = hostFacts.parse(JSON.parse(JSON.stringify(facts)));
    expect((await choose(printed, { name: "spark", project: process.cwd() })).text).toBe(text);
    expect(readFileSync(join(folder, "Pulumi.spark.yaml"), "utf8")).toBe(text);
  });
});

describe("a machine over ssh", () => {
  it("is looked at there, and the file says where it is and what its home is", async () => {
    const { sources, env } = madeMachine({ cached: { "openai/gpt-oss-120b": 61e9 } });
    const ssh = new FakeSsh();
    vi.stubEnv("PATH", `${ssh.folder}${delimiter}${env.PATH}`);
    vi.stubEnv("HOME", sources.home);
    vi.stubEnv("HF_HOME", "/data/of-this-computer");
    const there = await sourcesAt("ssh://me@spark.local");
    expect(there.home).toBe(realpathSync(sources.home));
    const facts = await readHost({ ...there, proc: sources.proc, usualPorts: [] });
    expect(facts).toMatchObject({
      host: "spark-7f3a",
      dockerHost: "ssh://me@spark.local",
      home: there.home,
      docker: { reachable: true, gpuRuntime: true },
      modelCache: {
        usual: true,
        models: [{ id: "openai/gpt-oss-120b", whole: true, weightsGB: 61 }],
      },
      gpus: ["NVIDIA GB10"],
    });
    expect(new Set(ssh.asked().map((each) => each.split(" ")[0]))).toEqual(
      new Set(["ssh://me@spark.local"]),
    );
    const { text, model } = await choose(facts, { name: "spark", project: process.cwd() });
    expect(model).toBe("openai/gpt-oss-120b");
    expect(text).toMatch(/ # Another computer: [^#]+\n {6}dockerHost: ssh:\/\/me@spark\.local\n/);
    expect(text).toContain(`      home: ${there.home}\n`);
  });

  it("is told of, with the command to try, where ssh doesn't get there", async () => {
    vi.stubEnv("PATH", new FakeSsh("Host key verification failed.").path);
    await expect(sourcesAt("ssh://me@spark.local")).rejects.toThrow(
      "No host key of spark.local (ssh://me@spark.local) is known here, and none is accepted unchecked. Run `ssh me@spark.local` once",
    );
    vi.stubEnv(
      "PATH",
      new FakeSsh("ssh: connect to host spark.local port 22: No route to host").path,
    );
    await expect(sourcesAt("ssh://me@spark.local")).rejects.toThrow(
      /No route to host. Try `ssh me@spark.local`.$/,
    );
  });

  it.each(["tcp://dgx:2375", "me@dgx", "ssh://", "ssh://me@dgx/x"])(
    "is not at %s",
    async (address) => {
      const { code, err } = await runServing(["init", "--on", address, "--facts"]);
      expect([code, err]).toEqual([
        2,
        expect.stringContaining("Expected ssh://user@host, or ssh://user@host:port."),
      ]);
    },
  );
});

it("refuses to look at a computer without /proc", async () => {
  const { sources } = madeMachine({});
  await expect(readHost({ ...sources, proc: "/absent" })).rejects.toThrow(
    "/absent/meminfo can't be read: run this on the machine itself, or with --on ssh://user@host, or give what `serving init --facts` printed there with --from FILE.",
  );
});
