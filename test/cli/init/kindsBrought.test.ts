import { WrongUse } from "@local-serving/base/commandLine/exit";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { newestEngineData } from "@local-serving/vllm/engineData";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDockerRun } from "../../../cli/init/command/dockerOptions";
import { filled } from "../../../cli/init/command/filled";
import { placed } from "../../../cli/init/command/lines";
import { kindText, modelValues } from "../../../cli/init/command/model";
import { leftOutText } from "../../../cli/init/command/notes";
import { argumentValues } from "../../../cli/init/command/values";
import { standIn } from "../../../cli/init/command/words";
import { readPublished, readServers } from "../../../cli/init/from/published";

const MODEL = "Qwen/Qwen3-8B";
const IMAGE = "vllm/vllm-openai:v0.30.0";

/** What a text starts first, and what is named of it. */
function read(text: string) {
  const start = filled(readPublished({ text }));
  const { container, words, image, lineOf, line, from } = start;
  const all = [...start.leftOut, ...(container?.leftOut ?? [])];
  return {
    words,
    image,
    variables: [...start.variables.keys()],
    volumes: (container?.volumes ?? []).map(({ target }) => target),
    leftOut: all.map(placed(lineOf, from ?? line)).map(leftOutText),
  };
}

const names = (text: string): readonly string[] =>
  read(text).leftOut.map((each) => each.slice(0, each.indexOf(":")));

describe("another engine in a script", () => {
  it.each([
    [
      "a case",
      `case $1 in\na) vllm serve ${MODEL} ;;\nb) nohup llama-server -m x.gguf & ;;\nesac\n`,
    ],
    ["an if", `if [ -n "$G" ]; then\n  ollama serve\nelse\n  vllm serve ${MODEL}\nfi\n`],
    [
      "a function",
      `other() {\n  docker run lmsysorg/sglang:v1 python3 -m sglang.launch_server\n}\nvllm serve ${MODEL}\n`,
    ],
  ])("hides no vLLM: %s", (_, text) => {
    const { words, leftOut } = read(text);
    expect(words).toEqual([MODEL]);
    expect(leftOut.join("\n")).toMatch(/^`\S+ .*\(line \d\): it starts \S+, not vLLM\./m);
    expect(readServers({ text }, true).servers).toHaveLength(1);
  });

  it("is the answer where there is no other", () => {
    expect(() => read("llama-server -m x.gguf")).toThrow(/It starts llama\.cpp, not vLLM/);
  });
});

describe("what a shell makes of options", () => {
  const run = (options: string) => `docker run --gpus all ${options} -v /d:/d ${IMAGE} ${MODEL}\n`;

  it("is read where it hands on the variable's own value", () => {
    expect(read(run(`\${HF_TOKEN:+-e "HF_TOKEN=$HF_TOKEN"}`))).toMatchObject({
      words: [MODEL],
      image: IMAGE,
      variables: ["HF_TOKEN"],
      volumes: ["/d"],
    });
  });

  it.each([
    [`\${DEBUG:+-e VLLM_LOGGING_LEVEL=DEBUG}`, `\${DEBUG:+-e VLLM_LOGGING_LEVEL=DEBUG}`],
    [`"\${envs[@]}"`, `\${envs[@]}`],
    [`$EXTRA_ARGS`, `$EXTRA_ARGS`],
    [`$X`, `$X`],
  ])("is named, and never taken for the image: %s", (options, name) => {
    const text = `echo\n${run(options)}`;
    expect(read(text)).toMatchObject({ words: [MODEL], image: IMAGE, variables: [] });
    expect(read(text).leftOut).toContain(
      `${name} (line 2): which options of \`docker run\` a shell puts there isn't known: write yourself what the server needs of them.`,
    );
  });

  it("is named of an array that a loop fills", () => {
    const text = `envs=()\nfor kv in $ALL; do envs+=(-e "$kv"); done\n${run(`"\${envs[@]}"`)}`;
    expect(read(text)).toMatchObject({ image: IMAGE, volumes: ["/d"] });
    expect(names(text)).toContain("envs+=(...) (line 3)");
  });

  it("follows what the script sets", () => {
    const text = `A=x\nB=\nIMAGE=\${IMAGE:-${IMAGE}}\ndocker run \${A:+-e "FOO=$A"} \${B:+-e BAR=1} "\${IMAGE:?set it}" ${MODEL}\n`;
    expect(read(text)).toMatchObject({ image: IMAGE, variables: ["FOO"], leftOut: [] });
  });

  it("is one word of the arguments, whatever blanks it has", () => {
    const { words, leftOut } = read(
      `vllm serve ${MODEL} \${LORA:+--enable-lora --lora-modules "$LORA"} --seed 1`,
    );
    expect(words).toEqual([MODEL, "--seed", "1"]);
    expect(leftOut).toHaveLength(1);
  });

  it("takes no value of a list with it", () => {
    expect(
      read(`vllm serve ${MODEL} --served-model-name $(basename x) mine --seed 1`).words,
    ).toEqual([MODEL, "--served-model-name", "mine", "--seed", "1"]);
  });

  it("is refused where there are more than any container has", () => {
    expect(() => read(run("$ARGS ".repeat(200)))).toThrow(
      "Its container has more than 100 variables, mounts and other options.",
    );
  });

  it("never takes the image's place, in any order", () => {
    const open = fc.constantFrom(`\${A[@]}`, `\${A:+-e B=1}`, "$ARGS", "A+=(-e ...)").map(standIn);
    const plain = fc.constantFrom("--rm", "-e A=1", "-v /a:/b", "--gpus all");
    const option = fc.oneof(
      open.map((word) => [word]),
      plain.map((text) => text.split(" ")),
    );
    fc.assert(
      fc.property(fc.array(option, { maxLength: 8 }), (options) => {
        const { image, rest, open: left } = readDockerRun([...options.flat(), IMAGE, "serve"]);
        expect([image, ...rest]).toEqual([IMAGE, "serve"]);
        expect(left).toEqual(
          options.flat().filter((word) => word.startsWith(standIn("").charAt(0))),
        );
      }),
    );
  });
});

describe("what another program prints", () => {
  it("is called by its variable, also in a shell's own script", () => {
    const value = `A=$(awk -v a="\${X:-0}" 'BEGIN {\n print a }')\n`;
    const run = `docker run ${IMAGE} bash -c "vllm serve ${MODEL} --port '\${A}' --seed 1"\n`;
    expect(read(value + run).words).toEqual([MODEL, "--seed", "1"]);
  });
});

describe("arguments of which another program prints one", () => {
  it("keep all others", () => {
    const text = `A="--trust-remote-code --served-model-name $(basename x y) mine"\nvllm serve ${MODEL} $A\n`;
    expect(read(text).words).toEqual([
      ...[MODEL, "--trust-remote-code", "--served-model-name", "mine"],
    ]);
  });
});

describe("a file that a script reads as a part of itself", () => {
  const script = `SERVE_ARGS=()\n. ./model.env\nvllm serve ${MODEL} "\${SERVE_ARGS[@]}"\n`;

  it("is named, with what it may have set", () => {
    expect(read(script).leftOut).toEqual([
      `\`. ./model.env\` (line 2): the file isn't given, so what it sets isn't known here (it may be \`\${SERVE_ARGS[@]}\`): give this text as a file with that one beside it.`,
      `\${SERVE_ARGS[@]} (line 3): what a condition or another program puts there isn't known: write it yourself if it matters.`,
    ]);
  });

  it("is named where the model comes from it", () => {
    expect(() => read(`. "$RECIPE"\nvllm serve "$MODEL"\n`)).toThrow(
      'give this text as a file with "$RECIPE" beside it, which may set it.',
    );
  });

  it("is none where it sets the paths of programs alone", () => {
    expect(read(`source .venv/bin/activate\nvllm serve ${MODEL}\n`).leftOut).toEqual([]);
  });
});

describe("variables around a container", () => {
  const unit = (of: string, run: string) =>
    `[Service]\n${of}\nExecStart=docker run ${run} ${IMAGE} ${MODEL}\n`;
  const WHY =
    "it says which engine starts the container: `dockerHost` of the machine takes its place.";

  it.each([
    [
      "a unit",
      unit("Environment=DOCKER_HOST=unix:///a.sock", ""),
      "the variable DOCKER_HOST (line 2)",
    ],
    [
      "a script",
      `export DOCKER_HOST=unix:///a.sock\ndocker run ${IMAGE} ${MODEL}\n`,
      "the variable DOCKER_HOST (line 1)",
    ],
    [
      "an option",
      `docker --context spark run ${IMAGE} ${MODEL}`,
      "`--context spark` of its program",
    ],
  ])("that steer its engine are named: %s", (_, text, name) => {
    expect(read(text).leftOut).toContain(`${name}: ${WHY}`);
  });

  it("are handed on by their names", () => {
    const start = readPublished({ text: `export A_B=1\ndocker run -e A_B ${IMAGE} ${MODEL}\n` });
    expect([...start.variables]).toEqual([["A_B", "1"]]);
  });
});

describe("lines of what is left out", () => {
  it("are those of the option, not of another one with its value", () => {
    const text = `[Service]\nMemorySwapMax=0\nOOMScoreAdjust=500\nExecStartPre=/bin/rm -f %t/a-long-name.cid\nExecStart=docker run --cidfile=%t/a-long-name.cid \\\n  --memory 128g \\\n  --memory-swap 128g \\\n  --memory-swappiness 0 \\\n  --oom-score-adj 500 \\\n  ${IMAGE} ${MODEL}\n`;
    expect(names(text)).toEqual(
      expect.arrayContaining([
        "--cidfile %t/a-long-name.cid (line 5)",
        "--memory 128g (line 6)",
        "--memory-swap 128g (line 7)",
        "--memory-swappiness 0 (line 8)",
        "--oom-score-adj 500 (line 9)",
      ]),
    );
  });
});

describe("lines of keys", () => {
  it("are those of the key with its value", () => {
    const text = `services:\n  v:\n    image: ${IMAGE}\n    command: ${MODEL}\n    deploy:\n      resources:\n        reservations: {cpus: "2"}\n        limits:\n          cpus: "4"\n          memory: 90g\n    environment: {M: memory}\n`;
    expect(names(text)).toContain("--memory 90g (line 10)");
  });
});

describe("a recipe of sparkrun", () => {
  const recipe = `model: a/M-8B\ndraft_model: a/D\nmin_nodes: 2\npre_exec: [x]\ncontainer: ${IMAGE}\nvolumes:\n  - ~/m/M-8B:/model:ro\ncommand: vllm serve /model\n`;

  it("has each of its keys read or named", () => {
    const { volumes, leftOut } = read(recipe);
    expect(volumes).toEqual(["/model"]);
    expect(leftOut.filter((each) => each.startsWith("the recipe"))).toEqual([
      "the recipe's `model` a/M-8B (line 1): its command names another place for it: write it as `model.id` to have it from the hub.",
      "the recipe's `draft_model` a/D (line 2): its command names another place for it: write it as `speculative.model` to have it from the hub.",
      "the recipe's `min_nodes: 2` (line 3): this stack file is for one machine: docs/guide/two-as-one.md describes a server over two.",
      "the recipe's `pre_exec` (line 4): no other command runs before or after the server: what it needs of that has to be in the image.",
    ]);
  });

  it("names no model that its command takes", () => {
    const taken =
      "model: a/M\ndraft_model: a/D\ncommand: vllm serve {model} --spec-model {draft_model} --spec-tokens 3\n";
    expect(read(taken).words.slice(0, 3)).toEqual(["a/M", "--spec-model", "a/D"]);
    expect(read(taken).leftOut).toEqual([]);
  });
});

describe("a container that `docker inspect` shows", () => {
  it("keeps the variables that somebody chose, and none of its image's", () => {
    const given = ["NCCL_SOCKET_IFNAME=e", "CUDA_LAUNCH_BLOCKING=1", "OMPI_MCA_x=1"];
    const own = ["NCCL_VERSION=2", "CUDA_HOME=/c", "NVIDIA_VISIBLE_DEVICES=all", "PATH=/b"];
    const Config = { Image: IMAGE, Cmd: [MODEL], Env: [...given, ...own] };
    const text = JSON.stringify([{ Config, HostConfig: {} }]);
    expect(read(text).variables).toEqual(given.map((each) => each.split("=")[0]));
  });
});

describe("reasons that hold for their key", () => {
  it("say of a unit what takes each key's place", () => {
    const text = `[Unit]\nAfter=x\nConflicts=y.service\nStartLimitBurst=1\n[Service]\nExecStart=vllm serve ${MODEL}\n`;
    expect(read(text).leftOut).toEqual([
      "After= (line 2): Docker starts the container, and waits for no other unit.",
      "Conflicts= (line 3): servers with `start: onRequest` are started where they fit, and `serving start` says what has to stop for one.",
      "StartLimitBurst= (line 4): how often a server may start again, `startsPerHour` says.",
    ]);
  });

  it("say of a mount over the image's code what that makes", () => {
    const target = "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/models/gemma4.py";
    expect(read(`docker run -v /x/gemma4.py:${target} ${IMAGE} ${MODEL}`).leftOut).toEqual([
      `--volume /x/gemma4.py:${target}: it lies over the image's own code, so that without it another vLLM runs: build an image that has it (\`FROM\` that image, \`COPY\`), and pin that.`,
    ]);
  });
});

describe("a configuration of vLLM's own without a model", () => {
  it("is called what it is, with what it lacks", () => {
    const text = "max-model-len: 8192\ngpu-memory-utilization: 0.8\nport: 8000\n";
    expect(() => readPublished({ text })).toThrow(WrongUse);
    expect(() => readPublished({ text })).toThrow(
      "It is a configuration of vLLM's own (`vllm serve --config`). It names no model: write `model: ORGANIZATION/MODEL` in it, or give the command that reads it",
    );
  });
});

describe("what a command says of its model's kind", () => {
  const said = (...words: readonly string[]) => {
    const args = readServerArguments(words);
    const id = String(args.model);
    const kind = modelValues(args, id, undefined).find(({ path }) => path[1] === "kind")?.value;
    return { kind, told: kindText(modelValues(args, id, undefined), args, id) };
  };

  it.each([
    ["embedding", ["Qwen/Qwen3-8B", "--convert", "embed"]],
    ["embedding", ["Qwen/Qwen3-Embedding-8B", "--convert", "embed"]],
    ["rerank", ["Qwen/Qwen3-8B", "--convert", "classify"]],
    ["rerank", ["Qwen/Qwen3-8B", "--task", "classify"]],
    ["rerank", ["/m/querit", "--runner", "pooling", "--served-model-name", "q", "a/X-Reranker"]],
    ["rerank", ["/m/querit", "--runner", "pooling", "--chat-template", "/m/q-rerank.jinja"]],
    ["embedding", ["/m/x", "--served-model-name", "text-embedding"]],
    ["embedding", ["/m/x", "--runner", "pooling"]],
    [undefined, ["Qwen/Qwen3-Embedding-8B", "--runner", "generate"]],
    [undefined, ["Qwen/Qwen3-8B", "--served-model-name", "rm", "--convert", "none"]],
  ])("is %s: %j", (kind, words) => {
    expect(said(...words).kind).toBe(kind);
  });

  it("is told where a name says it, and asked for where nothing does", () => {
    expect(said("/m/x", "--served-model-name", "a-reranker").told).toEqual([
      "What it is served as says its kind: `model.kind: rerank`.",
    ]);
    expect(said("/m/x", "--runner", "pooling").told[0]).toContain("`embedding` is assumed");
    expect(said("Qwen/Qwen3-8B", "--convert", "embed").told).toEqual([]);
  });
});

describe("drafts without a method", () => {
  const drafts = (config: object) =>
    argumentValues(readServerArguments([MODEL, "--speculative-config", JSON.stringify(config)]), {
      engine: newestEngineData(),
      hasOwnNetwork: false,
    });

  it.each([
    ["google/gemma-4-26B-A4B-it-assistant", "draft_model"],
    ["yuhuili/EAGLE-LLaMA3-Instruct-8B", "eagle"],
    ["AngelSlim/Qwen3-8B_eagle3", "eagle3"],
    ["a/M-DFlash", "dflash"],
    ["[ngram]", "ngram"],
  ])("are read as vLLM reads them: %s is %s", (model, method) => {
    const { values, leftOut } = drafts({ model, num_speculative_tokens: 4 });
    expect(leftOut).toEqual([]);
    expect(values).toContainEqual(
      expect.objectContaining({
        path: ["speculative"],
        value: { model, method, numSpeculativeTokens: 4 },
      }),
    );
  });

  it("are named with what they lack", () => {
    expect(drafts({ num_speculative_tokens: 4 }).leftOut[0]?.why).toBe(
      "it has neither a method nor a draft model, so vLLM refuses it.",
    );
  });
});

describe("another machine's part of a model", () => {
  const ranks = (of: string) =>
    `vllm serve ${MODEL} --nnodes 2\nvllm serve ${MODEL} --nnodes 2 ${of}\n`;

  it.each(["--headless", "--node-rank 1", "--node-rank=1"])("is no server: %s", (of) => {
    const { servers, leftOut } = readServers({ text: ranks(of) });
    expect(servers).toHaveLength(1);
    expect(leftOut[0]?.why).toBe("it is a part of the model on another machine, and no server.");
  });
});
