import { WrongUse } from "@local-serving/base/commandLine/exit";
import { describe, expect, it } from "vitest";
import { readPublished } from "../../../cli/init/from/published";

const NAMES = Array.from({ length: 20 }, (_, index) => `m${index}`);
const MODEL = "openai/gpt-oss-20b";

/** What a published text starts, or why it starts nothing. */
function said(text: string): string {
  try {
    return readPublished({ text }).words.join(" ");
  } catch (error) {
    if (error instanceof WrongUse) return error.message.replace("--from-command: ", "");
    throw error;
  }
}

describe("a file that is read by another program", () => {
  it.each([
    ["a Dockerfile", "# syntax=x\nARG V=1\nFROM vllm/vllm-openai:$V\nENTRYPOINT vllm serve a/b\n"],
    [
      "a Dockerfile",
      'FROM python:3.12 AS build\nRUN pip install vllm\nCMD ["vllm", "serve", "a/b"]\n',
    ],
    ["a Modelfile of Ollama's", 'FROM llama3:8b\n\nPARAMETER num_ctx 8192\nSYSTEM "x"\n'],
    ["a Makefile", ".PHONY: run\nrun: stop\n\tdocker run vllm/vllm-openai:v0.30.0 --model a/b\n"],
    ["a Makefile", "MODEL ?= a/b\nrun:\n\t@vllm serve $(MODEL)\n"],
    [
      "a justfile",
      'set dotenv-load\nmodel := "a/b"\n\nserve port="8000":\n    vllm serve {{model}} --port {{port}}\n',
    ],
    ["a justfile", "model := env('M', 'a/b')\n@default:\n\n  vllm serve {{ model }}\n"],
    [
      "a Nix file",
      '{ config, pkgs, ... }:\n{\n  services.x = { cmd = [ "--model" "a/b" ]; };\n}\n',
    ],
    ["a Nix file", '# vLLM\nlet port = "8000";\nin { x = "vllm serve a/b"; }\n'],
    ["a program in Python", "#!/usr/bin/env python3\nfrom vllm import LLM\nllm = LLM('a/b')\n"],
    ["a program in Python", '"""Starts vllm serve."""\nimport os\n'],
    ["a Terraform file", 'resource "docker_container" "vllm" {\n  image = "vllm/vllm-openai"\n}\n'],
    ["a page in HTML or XML", "<!DOCTYPE html>\n<pre>vllm serve a/b</pre>\n"],
    [
      "a file of variables (.env)",
      'VLLM_IMAGE=vllm/vllm-openai:v0.30.0\n# the model\nMODEL="a/b"\nEMPTY=\n',
    ],
    [
      "a workflow or an action of GitHub's",
      "name: x\non: push\njobs:\n  a:\n    steps:\n      - run: vllm serve a/b\n",
    ],
    [
      "a workflow or an action of GitHub's",
      "name: x\nruns:\n  using: composite\n  steps:\n    - run: vllm serve a/b\n",
    ],
    [
      "a YAML file of a kind that isn't read here",
      "servingEngineSpec:\n  modelSpec:\n  - name: a\n    modelURL: a/b\n",
    ],
    [
      "a YAML file of a kind that isn't read here",
      "- name: a\n  shell: vllm serve a/b\n- name: b\n  x: y\n",
    ],
    ["a JSON file of a kind that isn't read here", '{"name": "a",\n "cmd": "vllm serve a/b"}\n'],
    ["a file of settings in sections", "[program:vllm]\ncommand=vllm serve a/b\nautostart=true\n"],
  ])("is named as %s", (kind, text) => {
    expect(said(text)).toMatch(
      new RegExp(`^It is ${kind.replace(/[().]/g, "\\$&")}\\. [A-Z\`][^\\n]+\\.$`),
    );
  });

  it.each([
    [
      "LiteLLM's",
      `model_list:\n${NAMES.map((name) => `  - {model_name: ${name}}\n`).join("")}`,
      `${NAMES.map((name) => `\`${name}\``).join(", ")} (lines 2 to 21): each names a model that another server serves.`,
    ],
    [
      "llama-swap's without a vLLM",
      `models:\n${NAMES.map((name) => `  ${name}: {cmd: "llama-server -m x.gguf"}\n`).join("")}`,
      `${NAMES.map((name) => `the model \`${name}\``).join(", ")}: each runs llama.cpp, not vLLM.`,
    ],
    [
      "llama-swap's with many",
      `models:\n${NAMES.map((name) => `  ${name}: {cmd: vllm serve org/${name}}\n`).join("")}`,
      `with 20 servers of vLLM: ${NAMES.map((name) => `the model \`${name}\``).join(", ")}. `,
    ],
    [
      "a script with many branches",
      `case $1 in\n${NAMES.map((name) => `${name}) vllm serve org/${name} ;;\n`).join("")}esac\n`,
      `with 20 starts of vLLM: ${NAMES.map((name, index) => `the start of \`org/${name}\` (line ${index + 2})`).join(", ")}. `,
    ],
  ])("names all that it has: %s", (_, text, names) => {
    expect(said(text).toLowerCase()).toContain(names.toLowerCase());
  });

  it("says what to give instead", () => {
    expect(said("run:\n\t@vllm serve $(MODEL)\n")).toBe(
      "It is a Makefile. `make` fills in its variables: give what `make -n TARGET` prints.",
    );
  });

  it.each([
    ["with options of the shell", `#!/bin/bash\nset -euo pipefail\nset -x\nvllm serve ${MODEL}\n`],
    ["with variables first", `A=1\nB="2"\nexport C=3\nvllm serve ${MODEL}\n`],
    [
      "that writes a compose file",
      `cat > c.yaml <<'E'\nservices:\n  web:\n    image: x\nE\nvllm serve ${MODEL}\n`,
    ],
    ["that runs Python", `python3 - <<'E'\nimport os\nfrom x import y\nE\nvllm serve ${MODEL}\n`],
    ["with a function", `run() {\n\tvllm serve ${MODEL}\n}\nrun\n`],
    ["on one line", `vllm serve ${MODEL}`],
    ["with a list in JSON", `vllm serve ${MODEL} \\\n  --x '{"a": [1]}'\n`],
  ])("isn't taken for a script %s", (_, text) => {
    expect(said(text)).toMatch(new RegExp(`^${MODEL}`));
  });
});

describe("a file whose server is another engine", () => {
  const SGLANG =
    "runs SGLang, not vLLM. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.";
  it.each([
    [
      "[Service]\nExecStart=/bin/bash -c 'exec docker run --rm img python3 -m sglang.launch_server --model-path a/b'\n",
      `It is a systemd unit. Its ExecStart ${SGLANG} Give the unit that starts \`vllm serve\` or \`docker run\`.`,
    ],
    [
      "[Service]\nExecStart=/usr/bin/docker run lmsysorg/sglang:latest\n",
      `It is a systemd unit. Its ExecStart ${SGLANG} Give the unit that starts \`vllm serve\` or \`docker run\`.`,
    ],
    [
      "[Container]\nImage=docker.io/lmsysorg/sglang:latest\n",
      `It is a Podman Quadlet. Its container ${SGLANG} Give one whose Image= is one of vLLM, or whose Exec= begins with \`vllm serve\`.`,
    ],
    [
      "[Service]\nExecStart=/usr/bin/sleep 1\n",
      "It is a systemd unit. Its ExecStart runs no vLLM. Give the unit that starts `vllm serve` or `docker run`.",
    ],
  ])("names it, also inside a shell: %j", (text, reason) => {
    expect(said(text)).toBe(reason);
  });
});

describe("a start through something else", () => {
  it("is read inside a unit's shell", () => {
    const text = `[Service]\nExecStart=/bin/bash -c 'exec docker run --gpus all vllm/vllm-openai:v0.30.0 --model ${MODEL}'\n`;
    const { image, words } = readPublished({ text });
    expect([image, ...words]).toEqual(["vllm/vllm-openai:v0.30.0", "--model", MODEL]);
  });

  const throughScript = (command: string) =>
    `services:\n  llm:\n    image: vllm/vllm-openai:v0.30.0\n    entrypoint: [/bin/bash, /s/start.sh]\n    command: ${command}\n`;

  it("of a script in vLLM's image has the words behind that script", () => {
    const { words, told } = readPublished({
      text: throughScript(`[${MODEL}, --max-model-len, "4096"]`),
    });
    expect(words).toEqual([MODEL, "--max-model-len", "4096"]);
    expect(told).toContain(
      "`/s/start.sh` starts it, and isn't read here: the words behind it are taken for the arguments of `vllm serve`.",
    );
  });

  it("isn't made up where such a script has no options of vLLM's behind it", () => {
    expect(said(throughScript("[now]"))).toContain(
      "The service `llm`: it is started by a program of its own, which isn't read here: give that script, or the `vllm serve` that it runs.",
    );
  });

  it("isn't seen in what a compose file builds and gives no words to", () => {
    const text = `services:\n  llm: {image: "vllm/vllm-openai:v0.30.0", command: [${MODEL}]}\n  vllm-benchmark: {build: .}\n`;
    expect(readPublished({ text }).leftOut).toContainEqual({
      what: "the service `vllm-benchmark`",
      why: "it runs no vLLM.",
    });
  });

  it("of vllm-project/recipes is its model with the arguments that everybody gets", () => {
    const text = `meta: {title: x}\nmodel:\n  model_id: ${MODEL}\n  base_args: [--trust-remote-code]\n  base_env: {A: 1}\nfeatures:\n  tool_calling: {args: [--tool-call-parser, openai]}\n  spec: {args: [--speculative-config.method, mtp]}\nopt_in_features: [spec]\nvariants:\n  default: {precision: bf16}\n  fp8: {model_id: a/b-FP8}\n`;
    const { words, variables, leftOut } = readPublished({ text });
    expect(words).toEqual([MODEL, "--trust-remote-code", "--tool-call-parser", "openai"]);
    expect([...variables]).toEqual([["A", "1"]]);
    expect(leftOut).toEqual([
      { what: "its feature `spec`", why: "the recipe has it only for those who ask for it." },
      { what: "its variant `fp8`", why: "its weights are others: a/b-FP8." },
    ]);
  });
});
