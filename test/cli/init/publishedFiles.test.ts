import { WrongUse } from "@local-serving/base/commandLine/exit";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPublished } from "../../../cli/init/from/published";
import { substituted } from "../../../cli/init/from/substitute";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const MODEL = "openai/gpt-oss-20b";

/** What a published text starts, in the words that a person would check. */
function read(text: string) {
  const {
    words,
    image,
    container,
    variables,
    values = [],
    leftOut,
    told = [],
  } = readPublished({ text });
  return {
    argv: words.join(" "),
    image,
    ports: [...(container?.ports ?? [])],
    variables: [...variables.keys()],
    values: values.map(({ path, value }) => [path.join("."), value]),
    leftOut: [...leftOut, ...(container?.leftOut ?? [])].map(({ what }) => what),
    told,
  };
}

const compose = (service: string, more = "") =>
  `services:\n  llm:\n    image: ${IMAGE}\n${service.replace(/^/gm, "    ")}\n${more}`;
const unit = (body: string) =>
  `[Unit]\nDescription=vLLM\n[Service]\n${body}\n[Install]\nWantedBy=multi-user.target\n`;
const quadlet = (body: string) => `[Container]\nImage=docker.io/${IMAGE}\n${body}\n`;
const pod = (container: string, kind = "Pod") =>
  `apiVersion: v1\nkind: ${kind}\nmetadata: {name: p}\nspec:\n  containers:\n    - name: c\n      image: ${IMAGE}\n${container.replace(/^/gm, "      ")}\n`;
const inspected = (config: object, host: object = {}) =>
  JSON.stringify([
    { Id: "a", Name: "/llm", Config: { Image: IMAGE, ...config }, HostConfig: host },
  ]);

describe("the arguments of a server", () => {
  it.each([
    [
      "compose: a list",
      compose(`command:\n  - ${MODEL}\n  - --max-model-len\n  - "8192"`),
      `${MODEL} --max-model-len 8192`,
    ],
    [
      "compose: one line",
      compose(`command: >\n  --model ${MODEL}\n  --served-model-name "a"`),
      `--model ${MODEL} --served-model-name a`,
    ],
    [
      "compose: defaults",
      compose(`command: --model \${MODEL:-a/b} --port \${PORT-8001} --x \${A:-\${B:-c}}`),
      "--model a/b --port 8001 --x c",
    ],
    [
      "compose: a shell",
      compose(
        `environment: {M: ${MODEL}}\nentrypoint: [bash, -c]\ncommand: ["vllm serve $$M --port 8000"]`,
      ),
      `${MODEL} --port 8000`,
    ],
    [
      "compose: a merge key",
      `x-a: &a {image: "${IMAGE}"}\nservices:\n  llm: {<<: *a, command: [${MODEL}]}\n`,
      MODEL,
    ],
    [
      "systemd: vllm",
      unit(
        `Environment="M=${MODEL}"\nExecStart=-/opt/v/bin/vllm serve \${M} \\\n  # the window\n  --max-model-len 4096`,
      ),
      `${MODEL} --max-model-len 4096`,
    ],
    [
      "systemd: docker",
      unit(
        `ExecStartPre=-/usr/bin/docker rm -f llm\nExecStart=@/usr/bin/docker run --rm ${IMAGE} --model ${MODEL}`,
      ),
      `--model ${MODEL}`,
    ],
    [
      "systemd: a shell",
      unit(`ExecStart=/bin/bash -lc 'exec vllm serve ${MODEL} --port 8000'`),
      `${MODEL} --port 8000`,
    ],
    [
      "systemd: a variable of several words",
      unit(`Environment="A=--port 8000 --seed 1"\nExecStart=/v/vllm serve ${MODEL} $A`),
      `${MODEL} --port 8000 --seed 1`,
    ],
    [
      "Quadlet: Exec",
      quadlet(`Exec=--model ${MODEL} \\\n  --port 8000`),
      `--model ${MODEL} --port 8000`,
    ],
    ["Quadlet: vllm serve", quadlet(`Exec=vllm serve ${MODEL}`), MODEL],
    ["Quadlet: an entrypoint", quadlet(`Entrypoint=vllm\nExec=serve ${MODEL}`), MODEL],
    [
      "Quadlet: JSON in quotes",
      quadlet(`Exec=${MODEL} --speculative-config '{"method":"mtp"}'`),
      `${MODEL} --speculative-config {"method":"mtp"}`,
    ],
    ["Kubernetes: args", pod(`args: [--model, ${MODEL}]`), `--model ${MODEL}`],
    [
      "Kubernetes: a shell",
      pod(`command: [/bin/sh, -c]\nargs: ["vllm serve ${MODEL} --port 8000"]`),
      `${MODEL} --port 8000`,
    ],
    [
      "Kubernetes: a variable",
      pod(`env: [{name: M, value: ${MODEL}}]\nargs: [--model, $(M)]`),
      `--model ${MODEL}`,
    ],
    [
      "Kubernetes: a later document",
      `apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\n${pod(`args: [${MODEL}]`)}`,
      MODEL,
    ],
    [
      "llama-swap: macros",
      `macros: {m: ${MODEL}}\nmodels:\n  a:\n    cmd: |\n      # a remark\n      vllm serve \${m}\n      --port \${PORT}\n`,
      `${MODEL} --port 5800`,
    ],
    [
      "llama-swap: docker",
      `models:\n  a:\n    cmd: docker run -p \${PORT}:8000 ${IMAGE} ${MODEL}\n`,
      MODEL,
    ],
    [
      "llama-swap: its first port",
      `startPort: 9000\nmodels:\n  a: {cmd: "llama-server -m x"}\n  b:\n    cmd: vllm serve ${MODEL} --port \${PORT}\n`,
      `${MODEL} --port 9001`,
    ],
    [
      "llama-swap: the model's name",
      `models:\n  a:\n    cmd: vllm serve ${MODEL} --served-model-name \${MODEL_ID}\n`,
      `${MODEL} --served-model-name a`,
    ],
    [
      "vLLM's file: dashes",
      `model: ${MODEL}\nmax-model-len: 4096\n`,
      `--model ${MODEL} --max-model-len 4096`,
    ],
    [
      "vLLM's file: underscores and switches",
      `model: ${MODEL}\nenforce_eager: true\nenable-log-requests: false\n`,
      `--model ${MODEL} --enforce-eager --no-enable-log-requests`,
    ],
    [
      "vLLM's file: lists",
      `model: ${MODEL}\nserved-model-name: [a, b]\n`,
      `--model ${MODEL} --served-model-name a b`,
    ],
    [
      "vLLM's file: a map",
      `model: ${MODEL}\nspeculative_config: {method: mtp}\n`,
      `--model ${MODEL} --speculative-config {"method":"mtp"}`,
    ],
    ["docker inspect: Cmd", inspected({ Cmd: ["--model", MODEL] }), `--model ${MODEL}`],
    [
      "docker inspect: the image's entrypoint",
      inspected({ Entrypoint: ["vllm", "serve"], Cmd: [MODEL] }),
      MODEL,
    ],
    [
      "docker inspect: a shell",
      inspected({ Entrypoint: ["bash", "-c"], Cmd: [`vllm serve ${MODEL}`] }),
      MODEL,
    ],
    ["docker inspect: one object", inspected({ Cmd: [MODEL] }).slice(1, -1), MODEL],
    [
      "a script: an array",
      `ARGS=(\n  --model ${MODEL} # it\n)\nARGS+=( --port 8000 )\ndocker run ${IMAGE} "\${ARGS[@]}"`,
      `--model ${MODEL} --port 8000`,
    ],
    [
      "a script: defaults",
      `set -e\nM=\${1:-${MODEL}}\nvllm serve "$M" --port \${PORT:-8000}`,
      `${MODEL} --port 8000`,
    ],
    [
      "a script: a here-document",
      `cat > x.yaml <<EOF\n- no command\nEOF\nvllm serve ${MODEL}`,
      MODEL,
    ],
    [
      "a script: a file that it writes",
      `tee /etc/x.service <<'EOF'\n${unit(`ExecStart=/v/vllm serve ${MODEL}`)}EOF\n`,
      MODEL,
    ],
    [
      "a script: a function",
      `start() {\n  local M=${MODEL}\n  exec vllm serve $M\n}\nstart`,
      MODEL,
    ],
    [
      "a script: case patterns",
      `case $1 in\n  --help) echo no ;;\nesac\nvllm serve ${MODEL}`,
      MODEL,
    ],
    ["fences of a page", `\`\`\`yaml\n${compose(`command: ${MODEL}`)}\`\`\`\n`, MODEL],
  ])("are read of %s", (_, text, argv) => {
    expect(read(text).argv).toBe(argv);
  });
});

describe("what stands around a server", () => {
  it("is read of a compose file", () => {
    const beside = `  web: {image: "ghcr.io/open-webui/open-webui:main"}\n  db: {image: postgres}\n`;
    const service = `command: ${MODEL}\nports: ["127.0.0.1:9000:8000"]\nenvironment: [HF_TOKEN]\ngpus: all\ndepends_on: [db]`;
    expect(read(compose(service, beside))).toMatchObject({
      image: IMAGE,
      ports: [[8000, 9000]],
      variables: ["HF_TOKEN"],
      leftOut: ["the service's `depends_on`", "the service `web`", "the service `db`"],
      told: ["It is read as a compose file: server B is the service `llm`."],
    });
  });

  it("says which of two servers was taken", () => {
    const more = `  other:\n    image: ${IMAGE}\n    command: a/b\n`;
    expect(read(compose(`command: ${MODEL}`, more))).toMatchObject({
      argv: MODEL,
      leftOut: ["the service `other`"],
    });
  });

  it("starts on request where llama-swap did it", () => {
    const text = `models:\n  a:\n    cmd: vllm serve ${MODEL}\n    ttl: 9\n  b: {cmd: "llama-server -m x"}\n`;
    expect(read(text)).toMatchObject({
      values: [["start", "onRequest"]],
      leftOut: ["the model's `ttl`", "the model `b`"],
    });
  });

  it("says what else llama-swap's file has, with a reason for each key", () => {
    const model = `cmd: vllm serve ${MODEL}\n    cmdStop: docker stop a\n    useModelName: x\n    name: A`;
    const text = `healthCheckTimeout: 300\ngroups: {g: {members: [a]}}\nhooks: {on_startup: {preload: [a]}}\nmodels:\n  a:\n    ${model}\n`;
    const { leftOut } = readPublished({ text });
    expect(leftOut.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      "the model's `cmdStop`: `serving stop` stops it.",
      "the model's `useModelName`: write that name as `servedModelName`.",
      "the model's `name`: clients see a server by its names alone.",
      "the file's `healthCheckTimeout`: the health check asks for /health, and `healthcheck` sets its times.",
      "the file's `groups`: which servers run together follows from the machine's memory (`onDemand`).",
      "the file's `hooks`: a server with `start: always` runs from the beginning.",
    ]);
  });

  it("names the memory that a deployment may take at most", () => {
    const deploy = "deploy:\n  resources:\n    limits: {memory: 100g}";
    expect(read(compose(`command: ${MODEL}\n${deploy}`)).leftOut).toContain("--memory 100g");
  });

  it("is read of a Quadlet and of `docker inspect`", () => {
    expect(
      read(
        quadlet(
          `Exec=${MODEL}\nPublishPort=127.0.0.1:9000:8000\nSecret=t,type=env,target=HF_TOKEN`,
        ),
      ),
    ).toMatchObject({
      ports: [[8000, 9000]],
      variables: ["HF_TOKEN"],
    });
    const host = {
      PortBindings: { "8000/tcp": [{ HostPort: "9000" }] },
      DeviceRequests: [{ Count: -1 }],
    };
    expect(
      read(inspected({ Cmd: [MODEL], Env: ["PATH=/bin", "VLLM_LOGGING_LEVEL=DEBUG"] }, host)),
    ).toMatchObject({
      ports: [[8000, 9000]],
      variables: ["VLLM_LOGGING_LEVEL"],
    });
  });
});

describe("what else is named of a model of llama-swap's", () => {
  const swap = (cmd: string) =>
    `models:\n  m:\n    cmd: ${cmd}\n    env: [CUDA_VISIBLE_DEVICES=0]\n    unlisted: true\n    name: M\n`;

  it.each([
    [`vllm serve ${MODEL} --port \${PORT}`, ["the model's `unlisted`", "the model's `name`"]],
    [
      `docker run -p 127.0.0.1:\${PORT}:8000 ${IMAGE} ${MODEL}`,
      ["the model's `env`", "the model's `unlisted`", "the model's `name`"],
    ],
  ])("%s", (cmd, names) => {
    expect(read(swap(cmd)).leftOut).toEqual(names);
  });
});

describe("a page with prose around its blocks of code", () => {
  const block = (language: string, body: string) => `\`\`\`${language}\n${body}\n\`\`\`\n`;
  const compose = `services:\n  llm:\n    image: ${IMAGE}\n    command: ${MODEL} --seed 3`;

  it("is its commands, and another block that speaks of vLLM is named", () => {
    const text = `# How to\n\n${block("bash", "export M=openai/gpt-oss-20b")}\n\`vllm serve\` takes \`--seed 1\`, it's (so far) good.\n\n${block("", "vllm serve $M --seed 2")}\n${block("yaml", compose)}`;
    const { words, leftOut, line } = readPublished({ text });
    expect([words, line]).toEqual([[MODEL, "--seed", "2"], 10]);
    expect(leftOut).toEqual([
      expect.objectContaining({ what: "the page's block of yaml", line: 13 }),
    ]);
  });

  it("is its file where no command starts a server", () => {
    const text = `# How to\n\n${block("yaml", compose)}\nThen ask it.\n\n${block("bash", "curl localhost:8000")}`;
    expect(read(text)).toMatchObject({ argv: `${MODEL} --seed 3`, image: IMAGE, leftOut: [] });
  });

  it.each([
    `cat > README.md <<'END'\n${block("bash", "vllm serve a/b")}END\nvllm serve ${MODEL}\n`,
    `M=${MODEL}\ntee README.md <<'END'\n${block("bash", "vllm serve a/b")}END\nnohup vllm serve $M &\n`,
  ])("is no page where a command stands outside of them: %#", (text) => {
    expect(read(text).argv).toBe(MODEL);
  });
});

describe("the time that a server gets to end", () => {
  it.each([
    [`docker run --stop-timeout 90 ${IMAGE} ${MODEL}`, 90],
    [compose(`command: ${MODEL}\nstop_grace_period: 1m30s`), 90],
    [quadlet(`Exec=${MODEL}\nStopTimeout=90`), 90],
    [unit(`ExecStart=vllm serve ${MODEL}\nTimeoutStopSec=1min 30s`), 90],
    [unit(`ExecStart=docker run --stop-timeout=20 ${IMAGE} ${MODEL}\nTimeoutStopSec=90`), 20],
    [pod(`args: [${MODEL}]`).replace("spec:", "spec:\n  terminationGracePeriodSeconds: 90"), 90],
    [inspected({ Cmd: [MODEL], StopTimeout: 90 }), 90],
  ])("is taken: %#", (text, seconds) => {
    const { container, values = [], leftOut } = readPublished({ text });
    const ofUnit = values.find(({ path }) => path.join(".") === "stopGraceSeconds")?.value;
    expect(ofUnit ?? container?.stopGraceSeconds).toBe(seconds);
    expect([...leftOut, ...(container?.leftOut ?? [])]).toEqual([]);
  });

  it.each([
    [`docker run --stop-timeout -1 ${IMAGE} ${MODEL}`, "--stop-timeout -1"],
    [compose(`command: ${MODEL}\nstop_grace_period: 1h`), "--stop-timeout 1h"],
    [unit(`ExecStart=vllm serve ${MODEL}\nTimeoutStopSec=infinity`), "TimeoutStopSec="],
  ])("is named where no stack file may have it: %#", (text, what) => {
    const { container, leftOut } = readPublished({ text });
    const left = [...leftOut, ...(container?.leftOut ?? [])];
    expect(left).toEqual([
      expect.objectContaining({ what, why: "`stopGraceSeconds` is from 1 to 600." }),
    ]);
  });
});

it("takes a switch of `docker run` that is off for none", () => {
  const { leftOut } = read(
    `docker run --privileged=false --rm=false --sig-proxy=false ${IMAGE} ${MODEL}`,
  );
  expect(leftOut).toEqual(["--sig-proxy false"]);
});

describe("the GPU by the container device interface", () => {
  it.each([
    `podman run --device nvidia.com/gpu=all ${IMAGE} ${MODEL}`,
    `docker run --device=nvidia.com/gpu=0 ${IMAGE} ${MODEL}`,
    compose(`command: ${MODEL}\ndevices: [nvidia.com/gpu=all]`),
    compose(
      `command: ${MODEL}\ndeploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: ["nvidia.com/gpu=all"]}]}}}`,
    ),
    quadlet(`Exec=${MODEL}\nAddDevice=nvidia.com/gpu=all`),
  ])("is what every server has: %#", (text) => {
    const { container, leftOut } = readPublished({ text });
    expect([...leftOut, ...(container?.leftOut ?? [])]).toEqual([]);
    expect(container?.setHere.join()).toMatch(/^--(?:device|gpus)$/);
  });

  it("is no other device", () => {
    const { container } = readPublished({
      text: `docker run --device /dev/infiniband --device nvidia.com/gpu=1 ${IMAGE} ${MODEL}`,
    });
    expect(container?.leftOut.map(({ what }) => what)).toEqual([
      "--device /dev/infiniband",
      "--device nvidia.com/gpu=1",
    ]);
  });
});

describe("a text that no server can be read from", () => {
  it.each([
    [
      `kind: Service\napiVersion: v1\n`,
      "It is a Kubernetes manifest. No start of vLLM can be read in its containers (it has Service). Give the manifest whose container has an image of vLLM, or `vllm serve MODEL` as its command.",
    ],
    [
      `apiVersion: v1\nkind: Pod\nspec: {{ .Values.x }}\n`,
      "It is a Kubernetes manifest. It is a template of Helm, whose values aren't known: give what `helm template` prints.",
    ],
    [
      `model_list:\n  - {model_name: a}\n`,
      "It is LiteLLM's configuration. It starts no server: LiteLLM passes requests on. The `bridge` of a stack file is a LiteLLM whose configuration this program writes, by the servers beside it. Give what starts the vLLM behind it. `a` (line 2): it names a model that another server serves.",
    ],
    [
      unit("ExecStart=/opt/start.sh"),
      "It is a systemd unit. Its ExecStart runs /opt/start.sh, which isn't read here: give that script.",
    ],
    [
      "[Container]\nImage=docker.io/library/nginx\n",
      "It is a Podman Quadlet. Its container runs no vLLM. Give one whose Image= is one of vLLM, or whose Exec= begins with `vllm serve`.",
    ],
    [
      "services:\n  a: {image: redis}\n",
      "It is a compose file. No start of vLLM can be read in its services. Give one with an image of vLLM, or with `vllm serve MODEL` as its command. The service `a`: it runs no vLLM.",
    ],
    [
      "services:\n  a: {build: ., command: vllm serve a/b}\n",
      "The service `a` names no image, and this program builds none: write `image: REGISTRY/NAME:TAG` below it.",
    ],
  ])("is named for what it is: %j", (text, reason) => {
    expect(() => read(text)).toThrow(new WrongUse(`--from-command: ${reason}`));
  });

  it.each([
    ["services:\n  a: [\n", /^--from-command:\d+:\d+: not valid YAML/],
    [
      `services:\n  a: &a [x]\n  b: &b [${"*a,".repeat(60)}]\n  c: [${"*b,".repeat(60)}]\n`,
      /^--from-command:\d+:\d+: unusable YAML/,
    ],
  ])("has the line of what is no YAML: %#", (text, message) => {
    expect(() => read(text)).toThrow(UnreadableInput);
    expect(() => read(text)).toThrow(message);
  });
});

describe("a secret", () => {
  const KEY = "sk-proj-aB3dE6gH9jK2mN5pQ8sT";
  it.each([
    compose(
      `command: ${MODEL} --api-key \${K:-${KEY}}\nenvironment: {OPENAI_API_KEY: ${KEY}}`,
      `  web: {image: redis, command: ${KEY}}`,
    ),
    unit(`Environment=HF_TOKEN=${KEY}\nExecStart=/v/vllm serve ${MODEL}`),
    quadlet(`Exec=${MODEL}\nEnvironment=HF_TOKEN=${KEY}`),
    pod(`args: [${MODEL}]\nenv: [{name: HF_TOKEN, value: ${KEY}}]`),
    inspected({ Cmd: [MODEL], Env: [`HF_TOKEN=${KEY}`] }),
  ])("is in nothing that is said or kept of variables: %#", (text) => {
    const { leftOut, told, variables } = readPublished({ text });
    expect(JSON.stringify([leftOut, told])).not.toContain(KEY);
    expect(variables.get("OPENAI_API_KEY") ?? "").not.toContain(KEY);
  });
});

describe("a text of 1 MiB", () => {
  const MIB = 1024 * 1024;
  const filled = (start: string, part: string) =>
    start + part.repeat(Math.floor((MIB - start.length) / part.length));
  it.each([
    ["a compose file", filled("services:\n  a:\n    command: |\n      ", "${A:-${B:-")],
    ["services", filled("services:\n", "  a1: {image: x}\n")],
    ["documents", filled("apiVersion: v1\nkind: Pod\n", "---\n")],
    ["a unit", filled("[Service]\nExecStart=vllm serve a/b ", "$A \\\n")],
    ["a Quadlet", filled("[Container]\nImage=x/vllm\nExec=", '"$A ')],
    ["llama-swap's configuration", filled("models:\n  a:\n    cmd: x ", `\${m}`)],
    ["vLLM's file", filled("model: a/b\n", "x: y\n")],
    ["an answer of docker inspect", filled('[{"Config":{},"HostConfig":{},"x":"', "[{")],
    ["expansions", filled("vllm serve ", "${A")],
    ["nested substitutions", filled("vllm serve ", "$(")],
    ["arrays", filled("A=(", " x")],
    ["here-documents", filled("", "cat <<E\n")],
    ["conditions", filled("", "if a; then ")],
    ["an array that grows", filled("", "A+=(x)\n")],
    ["an array that doubles", filled("A=(x x)\n", `A=("\${A[@]}" "\${A[@]}")\n`)],
    ["a variable that doubles", filled("A=xx\n", "A=$A$A\n")],
    ["starts", filled("", "vllm serve a/b\n")],
  ])("is answered: %s", (_, text) => {
    try {
      expect(readPublished({ text }).words.length).toBeGreaterThan(0);
    } catch (error) {
      expect(error instanceof WrongUse || error instanceof UnreadableInput).toBe(true);
    }
  });
});

describe("a text that nobody reads through", () => {
  const refusal = (text: string) => {
    try {
      return readPublished({ text }).words.length;
    } catch (error) {
      return error instanceof WrongUse ? error.message : error;
    }
  };

  it("is refused by its words, by the length of one, and at the edge is read", () => {
    const words = (many: number) => `vllm serve a/b\n${"# a\n".repeat((many - 3) / 2)}`;
    expect(refusal(words(20_001))).toBe(
      "--from-command: It has more than 20,000 words, up to line 10000. Give the part that starts the server alone.",
    );
    expect(refusal(words(19_999))).toBe(1);
    const long = (many: number) => `vllm serve a/b\n# ${"a".repeat(many)}\n`;
    expect(refusal(long(20_001))).toBe(
      "--from-command: It has a word of 20,001 characters in line 2, and at most 20,000 are read. Give the part that starts the server alone.",
    );
    expect(refusal(long(20_000))).toBe(1);
  });

  it("is refused by the options of a container", () => {
    const container = (many: number) =>
      `docker run ${"-e A=1 ".repeat(many)}vllm/vllm-openai:v0.30.0 a/b`;
    expect(refusal(container(101))).toBe(
      "--from-command: Its container has more than 100 variables, mounts and other options. Give those that its server needs.",
    );
    expect(refusal(container(100))).toBe(1);
  });

  it("is told from a Makefile in one pass, with another system's ends of lines", () => {
    expect(refusal(`${"a\r".repeat(19_000)}`)).toMatch(/^--from-command: No start of vLLM/);
  });
});

describe("substitution of variables", () => {
  const known = (name: string) => (name === "A" ? "1" : undefined);

  it("leaves a text without dollars as it is, and makes one of two", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const plain = text.replaceAll("$", "");
        expect(substituted(plain, known)).toBe(plain);
        expect(substituted(plain.replace(/^/, "$$$$"), known)).toBe(`$${plain}`);
      }),
    );
  });

  it("has the value, else the default, whatever stands around it", () => {
    const text = fc.string().map((each) => each.replaceAll(/[$}{]/g, ""));
    fc.assert(
      fc.property(text, text, (before, byDefault) => {
        expect(substituted(`${before}\${A:-${byDefault}}`, known)).toBe(`${before}1`);
        expect(substituted(`${before}\${B:-${byDefault}}`, known)).toBe(before + byDefault);
      }),
    );
  });
});
