import { readFileSync } from "node:fs";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { choose } from "../../../cli/init/choose";
import { readServers } from "../../../cli/init/from/published";
import { judgedPlan } from "../../../cli/plan/judgedPlan";
import { type HostFacts, hostFacts } from "../../../cli/sees/computer/facts";
import { parseStackFile } from "../../../components/settings/load";
import { madeFacts } from "./madeFacts";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const CHAT = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const SMALL = "openai/gpt-oss-20b";
const EMBED = "Qwen/Qwen3-Embedding-0.6B";

let facts: HostFacts;

beforeAll(async () => {
  facts = hostFacts.parse(JSON.parse(readFileSync(await madeFacts(), "utf8")));
});

interface Machine {
  readonly inferenceServers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly clients: Readonly<Record<string, unknown>>;
  readonly [service: string]: unknown;
}

/** What `init` writes of a text, and what it says. */
async function written(text: string, all = false, of: HostFacts = facts) {
  const place = { name: "spark", project: process.cwd() };
  const choice = await choose(of, place, { command: { text }, all });
  const file = parse(choice.text) as { config: Record<string, Record<string, Machine>> };
  const machine = file.config["local-serving:machines"]?.spark;
  if (machine === undefined) throw new Error("a machine is written");
  const servers = Object.entries(machine.inferenceServers).map(([key, server]) => [
    key,
    (server.model as { id: string }).id,
    server.port,
    server.start ?? "always",
  ]);
  return { ...choice, machine, servers };
}

const service = (name: string, command: string, more = "") =>
  `  ${name}:\n    image: ${IMAGE}\n    command: ${command}\n${more}`;

describe("a text with several units, one behind the other", () => {
  const container = (model: string, port: number) =>
    `[Container]\nImage=docker.io/${IMAGE}\nPublishPort=127.0.0.1:${port}:8000\nExec=${model} --gpu-memory-utilization 0.2\n`;
  const service = (command: string) =>
    `[Unit]\nAfter=network.target\n\n[Service]\nExecStart=${command}\n`;

  it("becomes a server of each container, called as its remark or itself calls it", () => {
    const text = `# cache.volume\n[Volume]\nVolumeName=x\n\n# one.container\n[Unit]\nAfter=a.service\n${container(CHAT, 8001)}[Service]\nRestart=always\n\n# small.container\n${container(SMALL, 8002)}ContainerName=\n`;
    const { servers, leftOut } = readServers({ text });
    const seen = servers.map(({ name, called, start }) => [
      name,
      called,
      start.words[0],
      [...(start.container?.ports ?? [])],
      start.leftOut.map(({ what, line }) => `${what} ${line}`),
    ]);
    expect(seen).toEqual([
      [
        "the container `one`",
        "one",
        CHAT,
        [[8000, 8001]],
        ["[Volume] 2", "After= 7", "Restart= 13"],
      ],
      ["the container `small`", "small", SMALL, [[8000, 8002]], []],
    ]);
    expect(leftOut).toEqual([]);
  });

  it("becomes a server of each service, and names what starts none", () => {
    const text = `${service(`/opt/a/bin/vllm serve ${CHAT} --port 8001`)}\n${service("/usr/bin/warm-up")}\n# /etc/systemd/system/vllm-b.service\n${service(`/opt/b/bin/vllm serve ${SMALL} --port 8002`)}`;
    const { servers, leftOut } = readServers({ text });
    expect(servers.map(({ name, start }) => [name, start.words])).toEqual([
      ["the ExecStart of line 4", [CHAT, "--port", "8001"]],
      ["the ExecStart of `vllm-b`", [SMALL, "--port", "8002"]],
    ]);
    expect(leftOut).toEqual([{ what: "the ExecStart of line 10", why: "it runs no vLLM." }]);
  });

  it("is one where a drop-in changes it, as `systemctl cat` prints both", () => {
    const unit = service(`/opt/a/bin/vllm serve ${CHAT}`);
    const dropIn = `\n# /etc/systemd/system/vllm.service.d/override.conf\n[Service]\nEnvironment=VLLM_LOGGING_LEVEL=DEBUG\nExecStart=\nExecStart=/opt/a/bin/vllm serve ${SMALL}\n`;
    const { servers } = readServers({ text: unit + dropIn });
    const [only] = servers;
    expect([servers.length, only.name, only.start.words]).toEqual([1, "its ExecStart", [SMALL]]);
    expect(only.start.variables.get("VLLM_LOGGING_LEVEL")).toBe("DEBUG");
  });
});

describe("a file that starts several servers together", () => {
  const file = `services:\n${service("emb", `${EMBED} --gpu-memory-utilization 0.1`)}${service(
    "My_Coder.1",
    `${CHAT} --gpu-memory-utilization 0.4 --max-model-len 65536`,
    '    ports: ["9000:8000"]\n',
  )}${service("c", `${SMALL} --gpu-memory-utilization 0.2 --max-model-len 32768`, '    ports: ["9000:8000"]\n    profiles: [small]\n')}  own: { build: ., command: vllm serve a/b }\n`;

  it("becomes a stack file with each, the one that clients use first", async () => {
    const { servers, machine, told, mend, text } = await written(file);
    expect(servers).toEqual([
      ["b", CHAT, 9000, "always"],
      ["emb", EMBED, 8000, "always"],
      ["c", SMALL, 9001, "onRequest"],
    ]);
    expect(machine.clients).toMatchObject({ clientEnv: { server: "b" } });
    expect(machine.inferenceServers.emb).toMatchObject({
      model: { kind: "embedding" },
      maxModelLen: 32_768,
    });
    expect(told?.leftOut.map(({ what, why }) => `${what}: ${why}`)).toEqual(
      expect.arrayContaining([
        "c: the service's `profiles`: it runs only where somebody asks for it: that is `start: onRequest` of a server.",
        "the service `own`: it names no image, and this program builds none: write `image: REGISTRY/NAME:TAG` below it.",
      ]),
    );
    expect(told?.chosen).toContain(
      "It is read as a compose file: server B is the service `My_Coder.1`, `emb` is the service `emb`, `c` is the service `c`.",
    );
    expect(told?.chosen).toContain("c: Port 9000 is that of `b`: the server gets 9001.");
    expect(mend).toEqual([]);
    const { policies } = judgedPlan(parseStackFile("Pulumi.spark.yaml", text), { home: "/h" });
    expect(policies.filter(({ verdict }) => verdict === "refused")).toEqual([]);
  });

  it("is a script, too: servers of one port ran one at a time", async () => {
    const { servers } = await written(
      `vllm serve ${CHAT} --gpu-memory-utilization 0.4 &\nvllm serve ${SMALL} --port 8000 --gpu-memory-utilization 0.6\n`,
    );
    expect(servers).toEqual([
      ["b", CHAT, 8000, "onRequest"],
      ["c", SMALL, 8001, "onRequest"],
    ]);
  });

  it("has what its images need with the key of each", async () => {
    const of = (name: string) => `docker run -p ${name}:8000 me/vllm:${name} ${SMALL}`;
    const { mend } = await written(`${of("8001")} &\n${of("8002")}\n`);
    expect(mend.filter((each) => each.includes("serving pin"))).toEqual([
      "b: me/vllm:8001 is kept as the command has it, and a tag can move: `serving pin me/vllm:8001 --entry inferenceServers.b --write` pins it, and reads the versions inside.",
      "c: me/vllm:8002 is kept as the command has it, and a tag can move: `serving pin me/vllm:8002 --entry inferenceServers.c --write` pins it, and reads the versions inside.",
    ]);
  });

  it("leaves out the part of a model that runs on another machine", () => {
    const { servers, leftOut } = readServers({
      text: `vllm serve ${CHAT} --nnodes 2 &\nssh two vllm serve ${CHAT} --nnodes 2 --headless\n`,
    });
    expect(servers).toHaveLength(1);
    expect(leftOut.map(({ why }) => why)).toEqual([
      "it is a part of the model on another machine, and no server.",
    ]);
  });

  it("says once what is the same of several, with the key of each that has it", async () => {
    const two = "--tensor-parallel-size 2";
    const share = "--gpu-memory-utilization 0.2 --max-model-len 32768";
    const text = `services:\n${service("a", `${CHAT} ${share} ${two}`)}${service("c", `${SMALL} ${share} ${two}`)}${service("d", `${EMBED} ${share}`)}`;
    const { told, mend } = await written(text);
    expect(told?.leftOut.map(({ what }) => what)).toEqual([`b, c: ${two}`]);
    expect(mend.map((each) => each.slice(0, 70))).toEqual([
      "b, c: The command divides its model among several GPUs (--tensor-paral",
    ]);
    expect(told?.chosen).toContain(
      "The command doesn't set --max-num-seqs: it is 4, the default of a stack file.",
    );
  });

  const names = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `the service \`s${from + at}\``);

  it("is written as far as a stack file goes, those that fall out not counted", async () => {
    const many = Array.from({ length: 15 }, (_, at) =>
      service(`s${at}`, `${SMALL} --served-model-name m${at} --gpu-memory-utilization 0.2`),
    );
    many[1] = service("s1", `${SMALL} --enforce-eager=1`);
    many[0] = service("s0", "--port 8000");
    const { servers, told } = await written(`services:\n${many.join("")}`);
    expect(servers).toHaveLength(12);
    const why = (reason: string) =>
      told?.leftOut.filter((each) => each.why === reason).map(({ what }) => what);
    expect(why("a stack file is written with 12 servers at most.")).toEqual(names(14, 15));
  });

  it("is read only so far", () => {
    const many = Array.from({ length: 18 }, (_, at) => service(`s${at}`, SMALL));
    const { servers, leftOut } = readServers({ text: `services:\n${many.join("")}` });
    expect(servers).toHaveLength(16);
    expect(leftOut.map(({ what }) => what)).toEqual(names(16, 18));
  });
});

describe("a file that starts one server or another", () => {
  const swap = `models:\n  big:\n    cmd: vllm serve ${CHAT} --port \${PORT}\n  small:\n    cmd: vllm serve ${SMALL} --port \${PORT}\n  gguf: { cmd: llama-server -m x.gguf }\n`;
  const branches = `case "$1" in\n  big) vllm serve ${CHAT} ;;\n  *) vllm serve ${SMALL} ;;\nesac\n`;

  it.each([
    [
      swap,
      "It is llama-swap's configuration with 2 servers of vLLM: the model `big`, the model `small`. Servers with `start: onRequest` take its place: `serving init --all` makes one of each. Or give the `cmd` of one.",
    ],
    [
      branches,
      `It is a shell script with 2 starts of vLLM: the start of \`${CHAT}\` (line 2), the start of \`${SMALL}\` (line 3). Which of them run, its conditions decide (\`if\`, \`case\`, a loop, \`&&\` or \`||\`), and nothing of it is evaluated. Give the command of one, or add \`--all\` to \`serving init\`: each becomes a server with \`start: onRequest\`.`,
    ],
  ])("leaves the choice to a person: %#", (text, reason) => {
    expect(() => readServers({ text })).toThrow(new WrongUse(`--from-command: ${reason}`));
  });

  it("names the file's line where it leaves a choice, and where it chose", () => {
    const file = "/x/start.sh";
    const script = `#!/bin/bash\n\nM="vllm serve ${CHAT} \\\n  --port 1"\nif [ "$1" = big ]\nthen\n  exec $M\n`;
    expect(() => readServers({ text: `${script}else\n  cd /x\n  eval "$M"\nfi\n`, file })).toThrow(
      `2 starts of vLLM: the start of \`${CHAT}\` (/x/start.sh:7), the start of \`${CHAT}\` (/x/start.sh:10). Which`,
    );
    const { servers } = readServers({ text: `${script}fi\n`, file }, true);
    expect(servers.map(({ start }) => start.told)).toEqual([
      [
        "The script starts it only under a condition (/x/start.sh:7), which isn't judged here (`if`, `case`, a loop, `&&` or `||`).",
      ],
    ]);
  });

  it.each([swap, branches])("becomes servers that start on request: %#", async (text) => {
    const { servers, told, mend } = await written(text, true);
    expect(servers.map(([, id, , start]) => [id, start])).toEqual([
      [CHAT, "onRequest"],
      [SMALL, "onRequest"],
    ]);
    expect(told?.chosen.join("\n")).toMatch(
      /`serving start b` starts a server with `start: onRequest` \(b, (?:small|c)\)/,
    );
    expect(mend).toEqual([]);
  });
});

describe("programs beside a server", () => {
  const KEY = "sk-proj-aB3dE6gH9jK2mN5pQ8sT";
  const server = service("llm", `${CHAT} --gpu-memory-utilization 0.4 --max-model-len 65536`);
  const ui = "image: 'ghcr.io/open-webui/open-webui:main', ports: ['3000:8080']";
  const ollama =
    "image: ollama/ollama, environment: [OLLAMA_KEEP_ALIVE=10m, OLLAMA_CONTEXT_LENGTH=no]";
  const proxy = `image: 'ghcr.io/berriai/litellm:main', ports: ['127.0.0.1:4000:4000'], environment: {LITELLM_MASTER_KEY: ${KEY}}`;
  const file = `services:\n${server}  ui: { ${ui} }\n  ui2: { ${ui} }\n  proxy: { ${proxy} }\n  ollama: { ${ollama} }\n  db: { image: postgres }\n`;

  it("become their blocks where a stack file has one, and else are named", async () => {
    const { machine, told, mend, text } = await written(file);
    expect(machine.chatUi).toMatchObject({ port: 3000 });
    expect(machine.bridge).toMatchObject({ port: 4000, keyVariable: "LITELLM_MASTER_KEY" });
    expect(machine).not.toHaveProperty("simpleServer");
    expect(text).not.toContain(KEY);
    expect(told?.chosen).toEqual(
      expect.arrayContaining([
        "`chatUi` takes the place of the service `ui` with its port 3000. It has an image and data of its own: what that one had stays where it is.",
        "`serving up` reads the key of `bridge` from LITELLM_MASTER_KEY of your shell.",
      ]),
    );
    expect(told?.leftOut.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      "the service `db`: it runs no vLLM.",
      "the service `ui2`: there is one `chatUi`.",
      "the service `ollama`: `simpleServer` of a stack file takes its place, and its data stay where they are. Install Ollama on the machine and write `simpleServer: { mode: host }`: it runs there, and not in a container.",
    ]);
    expect(mend).toEqual([]);
    const advised = text.replace(/^( +)instanceA: none$/m, "$&\n$1simpleServer: { mode: host }");
    const { policies } = judgedPlan(parseStackFile("Pulumi.spark.yaml", advised), { home: "/h" });
    expect(policies.filter(({ verdict }) => verdict === "refused")).toEqual([]);
  });

  it("give what they say to the Ollama of the machine", async () => {
    const own = { unit: true, models: [] };
    const { machine } = await written(file, false, { ...facts, ollama: own });
    expect(machine.simpleServer).toEqual({ mode: "host", models: [], keepAlive: "10m" });
  });
});
