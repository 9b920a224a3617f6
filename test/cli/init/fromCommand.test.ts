import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { choose } from "../../../cli/init/choose";
import { containerFacts } from "../../../cli/init/command/dockerOptions";
import { judgedPlan } from "../../../cli/plan/judgedPlan";
import { type HostFacts, hostFacts } from "../../../cli/sees/computer/facts";
import { ggufText } from "../../../components/memory/model-name/gguf";
import { parseStackFile } from "../../../components/settings/load";
import { serverInput } from "../../fixtures/machine";
import { madeFacts } from "./madeFacts";

/** A command as somebody published it, and what becomes of it. */
interface Published {
  readonly name: string;
  readonly source: string;
  readonly command: string;
  readonly server: Readonly<Record<string, unknown>>;
  readonly modelCache?: string;
  readonly clients: readonly string[];
  readonly leftOut: readonly string[];
  readonly mend: readonly string[];
}

const published = parse(
  readFileSync(join(__dirname, "publishedCommands.yaml"), "utf8"),
) as readonly Published[];

const NO_COMPOSE =
  "It starts what a compose file describes: give that file (`serving init --from-command compose.yaml`).";
const NO_VLLM =
  "No start of vLLM was found in it. Expected `vllm serve MODEL ...`, `docker run ... IMAGE ...` with an image of vLLM, or a recipe with `command:`.";

const NO_MODEL =
  "It names no model: write the model's hub id behind `vllm serve`, or as `--model`.";
const GOES_ON = "A line that goes on ends with a backslash and nothing after it.";

/** Secrets that stand in these commands. */
const SECRETS = [
  "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",
  "tok-9f8e7d6c5b4a39281706",
  "sk-proj-aB3dE6gH9jK2mN5pQ8sT",
  "token-abc123456",
  "s3cr3t-Pa55",
];

let facts: HostFacts;

beforeAll(async () => {
  facts = hostFacts.parse(JSON.parse(readFileSync(await madeFacts(), "utf8")));
});

/** What `init` writes of a command, and what it says. */
async function written(command: string, of: HostFacts = facts) {
  const place = { name: "spark", project: process.cwd() };
  const choice = await choose(of, place, { command: { text: command } });
  const file = parse(choice.text) as { config: Record<string, Record<string, Blocks>> };
  const machine = file.config["local-serving:machines"]?.spark;
  const { versions, ...server } = machine?.inferenceServers?.b ?? {};
  return { ...choice, machine, server, versions };
}

interface Blocks {
  readonly inferenceServers?: { readonly b?: Readonly<Record<string, unknown>> };
  readonly clients?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

describe("a published command", () => {
  it("is one of 25 at least", () => {
    expect(published.length).toBeGreaterThanOrEqual(25);
  });

  it.each(published)("$name becomes server b", async (expected) => {
    const all = await written(expected.command);
    const { server, machine, told, mend, refused, text } = all;
    for (const secret of SECRETS) expect(JSON.stringify(all)).not.toContain(secret);
    expect(server).toEqual(expected.server);
    expect(machine?.modelCache).toBe(expected.modelCache);
    expect(Object.keys(machine?.clients ?? {})).toEqual(expected.clients);
    expect(told?.leftOut.map(({ what }) => what)).toEqual(expected.leftOut);
    expect(told?.leftOut.every(({ why }) => /^.+[.)]$/.test(why))).toBe(true);
    expect(mend).toEqual(expected.mend);
    expect(refused.length === 0 || mend.length > 0).toBe(true);
    for (const each of [...expected.leftOut, ...expected.mend])
      expect(text.replace(/\n# +/g, " ")).toContain(each);
  });
});

describe("what a command leaves open", () => {
  it("is chosen for the machine, and said", async () => {
    const { server, told } = await written("vllm serve Qwen/Qwen3.6-35B-A3B-FP8");
    expect(server).toMatchObject({ gpuMemoryUtilization: 0.8, maxModelLen: 262144 });
    expect(told?.chosen).toEqual([
      "The command names no image: the server gets vllm/vllm-openai:v0.30.0, as in every new stack file.",
      "The command doesn't set --gpu-memory-utilization: it is 0.8 here. vLLM's own default of 0.92 is more than all servers of this machine together may take.",
      "The command doesn't set --max-model-len: the window is 262144.",
      "The command doesn't set --max-num-seqs: it is 4, the default of a stack file.",
      "The command has no --reasoning-parser, so none is passed. The model thinks: `model.thinking: true` passes its family's.",
      "Claude Code and Codex need structured tool calls, which the command leaves off, so no coding client gets a file. To have them, write `tools: { parser: qwen3_coder }` in place of `tools: { autoChoice: false }` (qwen3_coder is this model's parser), and add `claudeCode: {}` and `codex: {}` to `clients`.",
    ]);
  });

  it("is the share that an embedding model's whole window needs, as `models use` has it", async () => {
    const { server, text } = await written("vllm serve Qwen/Qwen3-Embedding-0.6B");
    expect(server).toMatchObject({ gpuMemoryUtilization: 0.15, maxModelLen: 32_768 });
    expect(text).toContain(
      "# 0.15: computed: 4.02 GiB of weights and vLLM at the least, and 4 requests",
    );
  });

  it.each([
    ["BAAI/bge-m3", "embedding", 0.1],
    ["BAAI/bge-reranker-v2-m3", "rerank", 0.1],
    ["Qwen/Qwen3-Embedding-8B", "embedding", 0.16],
  ])("is by its name of a kind that writes no text: %s", async (id, kind, share) => {
    const { server } = await written(`vllm serve ${id}`);
    expect(server).toMatchObject({
      model: { id, kind },
      gpuMemoryUtilization: share,
      maxModelLen: 512,
    });
    expect(server).not.toHaveProperty("tools");
    const asked = await written(`vllm serve ${id} --runner generate`);
    expect(asked.server).not.toHaveProperty("model.kind");
  });

  it("has a share beside instance A, and says that the same server runs already", async () => {
    const model = "openai/gpt-oss-20b";
    const a = { port: 8000, address: "0.0.0.0", model, share: 0.5, runsIn: "container vllm" };
    const beside: HostFacts = { ...facts, servers: [a], ports: [8000] };
    const { server, told, mend } = await written(`vllm serve ${model} --port 8000`, beside);
    expect(server).toMatchObject({ gpuMemoryUtilization: 0.3, port: 8001 });
    expect(told?.chosen).toContain("Port 8000 is taken on spark-7f3a: the server gets 8001.");
    expect(mend).toContain(
      "The vLLM on port 8000 (container vllm) serves openai/gpt-oss-20b already. If that is this command, stop it before `serving up`, and write `instanceA: none`.",
    );
  });

  it("gives a coding client no window that is too short for its answers", async () => {
    const flags = "--enable-auto-tool-choice --tool-call-parser hermes --max-num-seqs 4";
    const { machine, told } = await written(
      `vllm serve a/b --gpu-memory-utilization 0.5 --max-model-len 8192 ${flags}`,
    );
    expect(Object.keys(machine?.clients ?? {})).not.toContain("claudeCode");
    expect(told?.chosen.at(-1)).toMatch(
      /^The window of 8192 tokens is too short for an answer of claudeCode.*: no file is written for it\.$/,
    );
  });

  it("is a server that coding clients can use once it says so", async () => {
    const { text } = await written(
      "vllm serve a/b --gpu-memory-utilization 0.5 --max-model-len 64K",
    );
    const changed = text
      .replace("tools: { autoChoice: false }", "tools: { parser: hermes }")
      .replace("clientEnv: { via: native }", "codex: { via: native }");
    const settings = parseStackFile("Pulumi.spark.yaml", changed);
    const { policies } = judgedPlan(settings, { home: "/home/operator", models: {} });
    expect(policies.filter(({ verdict }) => verdict === "refused")).toEqual([]);
  });
});

describe("a command as it is copied", () => {
  it("may have a page's fences around it", async () => {
    const { server } = await written("```bash\nvllm serve a/b \\ \n  --port 8003\n```\n");
    expect(server).toMatchObject({ model: { id: "a/b" }, port: 8003 });
  });

  it("may name `serve` behind an image whose entrypoint is vllm", async () => {
    const { server } = await written(
      "docker run ghcr.io/me/vllm-x:v1 serve a/b --max-model-len 4K",
    );
    expect(server).toMatchObject({ model: { id: "a/b" }, maxModelLen: 4096 });
  });

  it("has to mend what names a file of the machine that it ran on", async () => {
    const files = "--chat-template ./t.jinja --hf-config-path /x/y --root-path /api/v1";
    const { mend } = await written(`vllm serve a/b ${files}`);
    const where =
      "which is a path of the machine that the server's container lacks: remove that argument, or use an image that has the file.";
    expect(mend).toEqual([
      `\`chatTemplate\` names ./t.jinja, ${where}`,
      `\`extraArgs\` names /x/y, ${where}`,
      // An address is no file; the option is refused all the same.
      expect.stringMatching(/^b is started with --root-path, which is refused\. /),
    ]);
  });
});

describe("adapters", () => {
  it("are refused where there are more than anybody serves", async () => {
    const command = (many: number) =>
      `vllm serve a/b --enable-lora --lora-modules ${Array.from({ length: many }, (_, n) => `n${n}=x/y`).join(" ")}`;
    await expect(written(command(101))).rejects.toThrow(
      "--from-command: It names 101 adapters, and at most 100 are read. Give those that its server needs.",
    );
    const { told } = await written(command(100));
    expect(told?.leftOut.filter(({ what }) => what.startsWith("the adapter "))).toHaveLength(100);
  });
});

describe("a recipe with an image", () => {
  it("names folders of its own container, which are not the machine's", async () => {
    const recipe = `model: a/b
container: ghcr.io/me/vllm-x:v1
command: |
  vllm serve a/b --enable-lora --lora-modules tone=/loras/tone --max-lora-rank 32
`;
    const { server, mend, told } = await written(recipe);
    expect(server).not.toHaveProperty("adapters");
    expect(told?.leftOut).toContainEqual({
      what: "the adapter tone",
      why: "its folder on the machine is not known.",
    });
    expect(mend).toContain(
      "The adapter tone (/loras/tone) is not in this file: add it to `adapters`, with a name of its own and its folder on the machine as `path`.",
    );
  });
});

describe("a model that is a folder of the command's own container", () => {
  const quadlet = (...more: readonly string[]) =>
    ["[Container]", "Image=docker.io/vllm/vllm-openai:v0.30.0", ...more].join("\n");
  const exec = (folder: string) => `Exec=${folder} --gpu-memory-utilization 0.4`;
  const said = async (text: string) => {
    const { server, mend } = await written(text);
    return { model: server.model, said: mend.filter((each) => each.startsWith("The model is")) };
  };

  it.each([
    ["Volume=/srv/models:/run/models:ro", "/run/models/m"],
    ["Mount=type=bind,source=/srv/models,destination=/run/models", "/run/models/m"],
    ["PodmanArgs=-v /srv:/run", "/run/models/m"],
  ])("is the folder of the machine that a mount names: %s", async (volume, folder) => {
    expect(await said(quadlet(volume, exec(folder)))).toEqual({
      model: { id: "/srv/models/m" },
      said: [],
    });
  });

  it("is that of a mount that has the same path on both sides", async () => {
    const text = quadlet("Volume=/srv/models:/srv/models", exec("/srv/models/m"));
    expect(await said(text)).toEqual({ model: { id: "/srv/models/m" }, said: [] });
  });

  /** What a plan has of the server once the folder is written. */
  const planned = (text: string) =>
    judgedPlan(parseStackFile("Pulumi.spark.yaml", text), {
      home: "/home/operator",
      models: {},
    }).planned.machines[0]?.inferenceServers[0];

  it("counts as one that the image brings where no volume is", async () => {
    const unit = quadlet("", exec("/run/models/m"));
    expect(await said(unit)).toEqual({
      model: { id: "/run/models/m", inImage: true },
      said: [
        "The model is the folder /run/models/m inside the command's own container, and no volume says which folder of the machine that is. So it counts as one that the image brings (`model.inImage`). If the image lacks it, write its folder on the machine, or its hub id, as `model.id`, and delete `inImage`.",
      ],
    });
    const { text } = await written(unit);
    const mended = text
      .replace(/^.*inImage.*\n/m, "")
      .replaceAll("id: /run/models/m", "id: /data/m");
    expect(JSON.stringify(planned(mended)?.container)).toContain('"/data/m"');
  });

  it.each([
    [
      "a volume of Podman's own",
      "Volume=models.volume:/run/models",
      "its volume (--volume models.volume:/run/models) doesn't say which folder of the machine that is",
    ],
    [
      "a folder that no server may have",
      "Volume=/run/media/disk:/run/models",
      "a server can't have the folder of the machine that lies there: `/run/media/disk/m` lies in `/run`, a folder of the system: move the model elsewhere, such as to `/data/models`",
    ],
    [
      "a folder that only a shell knows",
      "Volume=%E/models:/run/models",
      "its volume (--volume %E/models:/run/models) doesn't say which folder of the machine that is",
    ],
  ])("is to be written where there is %s", async (_, volume, why) => {
    const unit = quadlet(volume, exec("/run/models/m"));
    expect(await said(unit)).toEqual({
      model: { id: "/path/to/run/models/m" },
      said: [
        `The model is the folder /run/models/m inside the command's own container, and ${why}. Write its folder on the machine, or its hub id, as \`model.id\`, in place of \`/path/to/run/models/m\`: until then \`serving plan\` refuses it.`,
      ],
    });
    const { text } = await written(unit);
    const mended = planned(text.replaceAll("id: /path/to/run/models/m", "id: /data/m"));
    expect(JSON.stringify(mended?.container)).toContain('"/data/m"');
  });
});

describe("a command that is refused", () => {
  it.each([
    ["ollama run qwen3:30b", "It starts Ollama, not vLLM. Ollama belongs in `simpleServer`."],
    [
      "llama-server -m model.gguf --port 8080",
      "It starts llama.cpp, not vLLM. GGUF models belong in `simpleServer` (Ollama). To run llama.cpp, start it yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
    ],
    [
      "docker run --gpus all lmsysorg/sglang:latest python3 -m sglang.launch_server --model-path a/b",
      "It starts SGLang, not vLLM. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
    ],
    [
      "model: a/b\nruntime: sglang\n",
      "The recipe's runtime is `sglang`, and only vLLM is supported.",
    ],
    ["docker compose run --rm vllm", NO_COMPOSE],
    ["docker-compose up -d", NO_COMPOSE],
    ["services:\n  vllm:\n    image: vllm/vllm-openai\n", NO_MODEL],
    ["", NO_VLLM],
    ["docker run -it vllm/vllm-openai bash", NO_VLLM],
    ["sudo docker run -d --gpus all atlas-test:latest serve nvidia/X --port 8888", NO_VLLM],
    ["vllm bench serve --model a/b", NO_VLLM],
    ["vllm serve --port 8000", NO_MODEL],
    ["vllm serve 'a b'", "Its model is neither a hub id nor a path without blanks."],
    [
      "vllm serve $MODEL --port $PORT",
      "The value of `$MODEL` is not known here: write it in its place.",
    ],
    [
      "vllm serve {model} --port {port} --max-model-len {window}",
      "`{model}`, `{window}` has no value: give the whole recipe (`--from-command - < recipe.yaml`), or write the value in its place.",
    ],
    [
      "vllm serve a/b --config serve.yaml --max-num 3",
      "It can't be read for certain: `--max-num` may mean --max-num-batched-tokens or --max-num-queued-reqs or --max-num-queued-tokens or --max-num-scheduled-tokens or --max-num-seqs; `--config` takes options from a file that can't be read here. Give this text as a file with that one beside it, or write its options in its place.",
    ],
    [
      "vllm serve a/b —max-model-len 32768",
      `vLLM doesn't take these words: \`—max-model-len\`, \`32768\`. An option begins with two hyphens (--). ${GOES_ON}`,
    ],
    [
      "vllm serve a/b \\ # the window\n  --max-model-len 32768",
      `\`--max-model-len 32768\` is no command. ${GOES_ON}`,
    ],
    [
      "vllm serve org/Model-GGUF:Q4_K_M",
      `Its model's name says GGUF: org/Model-GGUF:Q4_K_M ${ggufText("org/Model-GGUF:Q4_K_M")}`,
    ],
    [
      "vllm serve openai/whisper-large-v3",
      "By its name, openai/whisper-large-v3 turns speech into text, so it is no chat model. No server here supports such a model: run it in a program of its own, and declare its memory as `otherGpuMemoryGiB`.",
    ],
    [
      "vllm serve ./model.gguf",
      `Its model's name says GGUF: ./model.gguf ${ggufText("./model.gguf")}`,
    ],
    ['vllm serve "unclosed', 'The double quote (") in line 1, column 12 is never closed.'],
    [
      "$ vllm serve a/b \\\n  --hf-overrides '{}",
      "The single quote (') in line 2, column 18 is never closed.",
    ],
    [
      "vllm serve a/b --revision `cat rev",
      "The backtick (`) in line 1, column 27 is never closed.",
    ],
    [
      'vllm serve a/b --port $(cat "port)',
      'The double quote (") in line 1, column 29 is never closed.',
    ],
    ["vllm serve a/b --port $(cat port", "The $( in line 1, column 23 is never closed."],
    ["vllm serve a/b --port ${PORT", "The ${ in line 1, column 23 is never closed."],
    ["$ echo it's\nvllm serve a/b", "The single quote (') in line 1, column 10 is never closed."],
    ["docker run vllm/OpenAI:v0.30.0 a/b", "Its image can't be read: its repository has capitals."],
  ])("%j", async (command, reason) => {
    await expect(written(command)).rejects.toThrow(new WrongUse(`--from-command: ${reason}`));
  });
});

describe("options of docker run", () => {
  it("are each named with the reason", async () => {
    const { told } = await written(
      "docker run -d --rm --restart=always --network host --shm-size 16g --privileged --memory 100g -u 1000 -v /x:/y --label a=b --stop-timeout 900 --cap-add SYS_NICE -p 8000 --ipc private --gpus 1 vllm/vllm-openai:v0.30.0 a/b",
    );
    expect(told?.leftOut).toEqual([
      { what: "--detach", why: "Pulumi starts the container, and Docker keeps it running." },
      { what: "--rm", why: "the container stays when it stops, so that its log can be read." },
      { what: "--restart always", why: "it is `unless-stopped` here." },
      {
        what: "--network host",
        why: "the container is on a network of its own, and its port is published.",
      },
      { what: "--shm-size 16g", why: "with `--ipc host` /dev/shm is the machine's." },
      { what: "--privileged", why: "no container here has the machine's privileges." },
      {
        what: "--memory 100g",
        why: "the share of the memory limits vLLM; Docker's limit doesn't count GPU memory.",
      },
      { what: "--user 1000", why: "vLLM runs as the image's own user." },
      {
        what: "--volume /x:/y",
        why: "a server gets only the model cache, a volume for compiled kernels, and the folders that its arguments name. If it has to read this one, write `mounts: [{from: /x, to: /y}]` below the server.",
      },
      { what: "--label a=b", why: "the labels here name the stack's machine and server." },
      { what: "--stop-timeout 900", why: "`stopGraceSeconds` is from 1 to 600." },
      { what: "--cap-add SYS_NICE", why: "a server has no setting for it." },
      { what: "-p 8000", why: "no port of the machine can be read from it." },
      { what: "--ipc private", why: "it is `host` here." },
      { what: "--gpus 1", why: "the container gets all GPUs of the machine." },
    ]);
  });
});

describe("a label of a command", () => {
  it.each([
    ["tier=small", "--label tier=small"],
    ["seen", "--label seen"],
    ["n=3", "--label n=3"],
    ["basicauth.users=admin:$apr1$Zk3mQ8vT$Zk3mQ8vT1xWcRb7NdLpY5s", "--label basicauth.users"],
    ["basicauth.users=admin:$$2y$$05$$Zk3mQ8vT1xWcRb7NdLpY5s", "--label basicauth.users"],
    ["users=admin:{SHA}Zk3mQ8vT1xWcRb7NdLpY5sHgJf2=", "--label users"],
    ["password=swordfish", "--label password"],
    ["tokens=JBSWY3DPEHPK3PXP", "--label tokens"],
    ["rule=Host(`h`)", "--label rule"],
  ])("has its value in a stack file only where that can be no secret: %s", (value, what) => {
    const shown = what === `--label ${value}` ? what : `${what} (value not shown)`;
    const why = "the labels here name the stack's machine and server.";
    const [leftOut] = containerFacts([{ name: "label", value }]).leftOut;
    expect(leftOut).toMatchObject({ what: shown, why });
    expect(leftOut?.words?.includes(value)).toBe(what === shown);
  });
});

it("names an address of a server that others reach, if no published port decides that", async () => {
  const left = async (options: string) => {
    const text = `docker run ${options} vllm/vllm-openai:v0.30.0 a/b --host 0.0.0.0`;
    return (await written(text)).told?.leftOut.map(({ what }) => what);
  };
  expect(await left("--network host")).toEqual(["--network host", "--host 0.0.0.0"]);
  expect(await left("-p 127.0.0.1:8000:8000")).toEqual([]);
});

it("says how a file comes into the server whose folder only the command's shell knows", async () => {
  const command = (from: string) =>
    `docker run -v ${from}:/templates vllm/vllm-openai:v0.30.0 a/b --chat-template /templates/tool.jinja`;
  const names =
    "`chatTemplate` names /templates/tool.jinja, which is only in a volume of the command's own container";
  expect((await written(command("./templates"))).mend).toContain(
    `${names}: write \`mounts: [{from: FOLDER, to: /templates}]\` below the server, with the folder's path on the machine.`,
  );
  expect((await written(command("templates"))).mend).toContain(
    `${names}: remove that argument, or use an image that has the file.`,
  );
});

describe("a volume that isn't carried over", () => {
  const why = (value: string) =>
    containerFacts([{ name: "volume", value }]).leftOut[0]?.why.split("arguments name.")[1];

  it.each([
    ["/data/loras:/loras", "/data/loras", "/loras"],
    ["~/loras/:/loras:ro", "~/loras", "/loras"],
  ])("%s: says what to write, and the plan takes it", (value, from, to) => {
    const mounts = `mounts: [{from: ${from}, to: ${to}}]`;
    expect(why(value)).toBe(` If it has to read this one, write \`${mounts}\` below the server.`);
    const b = { ...serverInput(), ...parse(mounts) };
    const dgx = { totalGiB: 121.63, instanceA: "none", inferenceServers: { b } };
    const text = stringify({ config: { "local-serving:machines": { dgx } } });
    const { machines } = parseStackFile("Pulumi.dgx.yaml", text);
    expect(machines.dgx?.inferenceServers.b?.mounts).toEqual([{ from, to }]);
  });

  it.each(["/etc:/etc", "/var/run/docker.sock:/var/run/docker.sock", "/data/x:relative"])(
    "%s: advises nothing that is refused",
    (value) => {
      expect(why(value)).toBe("");
    },
  );

  it("of Docker's own names the setting", () => {
    expect(why("loras:/loras")).toBe(
      " With `mounts` a server reads a further folder of the machine, by its path.",
    );
  });
});

describe("a volume with more than models", () => {
  const facts = (value: string, ...env: readonly string[]) =>
    containerFacts([
      { name: "volume", value },
      ...env.map((each) => ({ name: "env", value: each })),
    ]);

  it.each([
    ["/mnt/nvme/cache:/root/.cache", [], "/mnt/nvme/cache/huggingface", []],
    ["~/.cache:/root/.cache", [], undefined, []],
    ["/mnt/ai:/ai", ["HF_HOME=/ai/hf"], "/mnt/ai/hf", ["--volume /mnt/ai:/ai"]],
    ["/mnt/ai:/ai", ["HF_HOME=/aix/hf"], undefined, ["--volume /mnt/ai:/ai"]],
  ])("%s: has the model cache in it", (value, env, modelCache, left) => {
    const found = facts(value, ...env);
    expect([found.modelCache, found.leftOut.map(({ what }) => what)]).toEqual([modelCache, left]);
  });

  it("of Docker's own is copied from where the models lie in it", () => {
    expect(facts("caches:/root/.cache").leftOut).toEqual([
      expect.objectContaining({
        what: "-v caches:/root/.cache",
        why: expect.stringContaining("cp -au /from/huggingface/. /to`"),
      }),
    ]);
  });
});

describe("a volume of models", () => {
  const facts = (value: string, env: readonly string[] = []) =>
    containerFacts([
      { name: "volume", value },
      ...env.map((each) => ({ name: "env", value: each })),
    ]);
  const copied = (from: string, to: string, program = "docker") =>
    `the volume isn't taken: servers here have the machine's own cache (\`modelCache\`), and download again what isn't there. \`${program} run --rm -v ${from}:/from:ro -v ${to}:/to docker.io/library/ubuntu cp -au /from/. /to\` copies its models there; \`${program} volume ls\` shows the volume's whole name.`;

  it.each([
    ["hf-cache:/root/.cache/huggingface", copied("hf-cache", "~/.cache/huggingface")],
    ["hf:/root/.cache/huggingface/hub", copied("hf", "~/.cache/huggingface/hub")],
    [
      "vllm-models.volume:/root/.cache/huggingface",
      copied("systemd-vllm-models", "~/.cache/huggingface", "podman"),
    ],
    ["./hf:/root/.cache/huggingface", "its folder on the machine is not known: set `modelCache`."],
  ])("%s: says that it isn't taken, and how its models come to the machine's", (value, why) => {
    expect(facts(value).leftOut).toEqual([
      { what: `-v ${value}`, why, words: [value, value.split(":")[0]] },
    ]);
    expect(facts(value).modelCache).toBeUndefined();
  });

  it("is the one of HF_HOME, too", () => {
    const { leftOut } = facts("hf:/data/", ["HF_HOME=/data"]);
    expect(leftOut.map(({ why }) => why)).toEqual([copied("hf", "~/.cache/huggingface")]);
  });

  it.each([
    ["~/models:/root/.cache/huggingface", "~/models"],
    ["/data/hf/hub:/root/.cache/huggingface/hub", "/data/hf"],
    ["/home/me/.cache/huggingface:/root/.cache/huggingface", undefined],
  ])("%s: is a folder of the machine", (value, modelCache) => {
    expect(facts(value)).toMatchObject({ leftOut: [], ...(modelCache && { modelCache }) });
    expect(facts(value).modelCache).toBe(modelCache);
  });
});

describe("a command for a machine that can have no server", () => {
  const OTHER =
    "If another machine is to serve it, add `--on ssh://USER@HOST`, or `--from FILE` with what `serving init --facts` printed there.";
  const AGAIN = "Run this again once `nvidia-smi` shows what the GPU is.";

  it.each<[string, Partial<HostFacts>, string]>([
    [
      "without an NVIDIA GPU that shares its memory",
      { gpus: [], device: "other" },
      `${whyNoServer("other")} Nothing was written. ${OTHER}`,
    ],
    [
      "with a GPU of which too little is known",
      { gpus: ["NVIDIA X1"], device: undefined, product: undefined },
      `nvidia-smi gives no answer, so it is not known whether NVIDIA X1 shares the machine's memory: there is no server B. Nothing was written. ${AGAIN} ${OTHER}`,
    ],
    [
      "with a GPU that no driver shows",
      { gpus: [], device: undefined, unshown: "NVIDIA" },
      `Without its driver the GPU can't be identified: there is no server B. Nothing was written. ${AGAIN} ${OTHER}`,
    ],
  ])("%s is refused, with where to run it", async (_, shown, reason) => {
    await expect(written("vllm serve a/b", { ...facts, ...shown })).rejects.toThrow(
      new WrongUse(`--from-command: ${reason}`),
    );
  });
});

describe("secrets of a command", () => {
  it("are not written wherever they stand", async () => {
    const said = JSON.stringify(
      await written(
        `HF_TOKEN=${SECRETS[0]} DB_PASSWORD=${SECRETS[4]} vllm serve a/b --api-key ${SECRETS[3]} ${SECRETS[1]} --served-model-name ${SECRETS[0]} --download-dir https://me:${SECRETS[4]}@host/x --hf-token=${SECRETS[0]} --otlp-traces-endpoint https://${SECRETS[2]}@host`,
      ),
    );
    for (const secret of SECRETS) expect(said).not.toContain(secret);
    expect(said).toContain("huggingFaceTokenVariable: HF_TOKEN");
  });
});
