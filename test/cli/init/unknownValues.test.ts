import { WrongUse } from "@local-serving/base/commandLine/exit";
import { describe, expect, it } from "vitest";
import { filled } from "../../../cli/init/command/filled";
import { variableValues } from "../../../cli/init/command/variables";
import { readPublished } from "../../../cli/init/from/published";

const MODEL = "openai/gpt-oss-20b";

/** The words of a server, and what is left out of its text. */
function read(text: string) {
  const { words, image, leftOut } = filled(readPublished({ text }));
  return { argv: words.join(" "), image, leftOut: leftOut.map(({ what }) => what) };
}

describe("a value that only a shell knows", () => {
  it.each([
    ["of an option", `vllm serve ${MODEL} --port $PORT --seed 1`, `${MODEL} --seed 1`, ["--port"]],
    ["in one word", `vllm serve ${MODEL} --port=$1 --seed 1`, `${MODEL} --seed 1`, ["--port"]],
    ["inside a value", `vllm serve ${MODEL} --host "a-$H"`, MODEL, ["--host"]],
    [
      "that a condition adds to an array",
      `A=(--seed 1)\nif [ -n "$X" ]; then\n  A+=(--enforce-eager)\nfi\n[ -n "$Y" ] && A+=(--foo)\nvllm serve ${MODEL} "\${A[@]}"`,
      `${MODEL} --seed 1`,
      ["A+=(--enforce-eager ...)", "A+=(--foo ...)"],
    ],
    [
      "of further words",
      `vllm serve ${MODEL} --enforce-eager $MORE`,
      `${MODEL} --enforce-eager`,
      ["$MORE"],
    ],
  ])("is left out by name where it is %s", (_, text, argv, leftOut) => {
    expect(read(text)).toEqual({ argv, image: undefined, leftOut });
  });

  it("of an image gives the usual one", () => {
    expect(read(`docker run "vllm/vllm-openai:$TAG" ${MODEL}`)).toEqual({
      argv: MODEL,
      image: undefined,
      leftOut: ["vllm/vllm-openai:$TAG"],
    });
  });

  it.each([`vllm serve $M --port 1`, `vllm serve --model $M`, `vllm serve --seed 1 --model=$M`])(
    "of a model is asked for: %s",
    (text) => {
      expect(() => read(text)).toThrow(
        new WrongUse("--from-command: The value of `$M` is not known here: write it in its place."),
      );
    },
  );
});

describe("a command that a variable holds", () => {
  const serve = `vllm serve ${MODEL} --port 8000`;
  it.each([
    ["eval", `CMD="${serve}"; eval "$CMD"`],
    ["eval without quotes", `CMD="${serve}"\neval $CMD`],
    ["eval of a text that sets more", `eval 'P=8000; vllm serve ${MODEL} --port $P'`],
    ["eval with quotes inside", `CMD="vllm serve '${MODEL}'"\nCMD+=" --port 8000"\neval "$CMD"`],
    ["eval of an array", `CMD=(${serve})\neval "\${CMD[@]}"`],
    ["eval behind a condition's word", `CMD="${serve}"\nif true; then eval "$CMD"; fi`],
    ["itself", `CMD="${serve}"; $CMD`],
    ["exec", `CMD="${serve}"; exec $CMD`],
    ["bash -c", `CMD="${serve}"; bash -c "$CMD"`],
    ["sh -c", `CMD="${serve}"; sh -c "$CMD"`],
    ["an array", `CMD=(${serve})\n"\${CMD[@]}"`],
    ["an array that grows", `CMD=(vllm serve ${MODEL})\nCMD+=(--port 8000)\nexec "\${CMD[@]}"`],
  ])("is followed: %s", (_, text) => {
    expect(read(text).argv).toBe(`${MODEL} --port 8000`);
  });

  it("is a container's, too", () => {
    const found = read(
      `RUN="docker run --gpus all vllm/vllm-openai:v0.30.0 ${MODEL}"\neval "$RUN --port 8000"`,
    );
    expect([found.argv, found.image]).toEqual([`${MODEL} --port 8000`, "vllm/vllm-openai:v0.30.0"]);
  });

  it.each([`eval "$(ssh-agent -s)"`, `eval "$UNKNOWN"`, `eval "\`cat x\`"`])(
    "is not made up where another program writes it: %s",
    (text) => {
      expect(read(`${text}\n${serve}`).argv).toBe(`${MODEL} --port 8000`);
      expect(() => read(text)).toThrow(/No start of vLLM was found in it/);
    },
  );
});

describe("what a shell runs before vLLM", () => {
  it.each([
    `docker run --entrypoint bash vllm/vllm-openai:v0.30.0 -c "cd /x; pip install vllm[audio] && exec vllm serve ${MODEL}"`,
    `bash -c 'export A=1; pip install vllm[audio]; vllm serve ${MODEL}'`,
  ])("is named: %s", (text) => {
    expect(read(text).leftOut).toEqual(["`pip install vllm[audio]`"]);
  });

  it("is nothing where nothing is prepared", () => {
    expect(read(`bash -c 'cd /x && exec vllm serve ${MODEL}'`).leftOut).toEqual([]);
  });
});

describe("variables of the machine's folders", () => {
  const given = new Map([
    ["PATH", "/opt/vllm/bin:/usr/bin"],
    ["CUDA_HOME", "/usr/local/cuda"],
    ["VLLM_LOGGING_LEVEL", "DEBUG"],
  ]);

  it("stay there where the command runs without a container", () => {
    const { values, leftOut } = variableValues(given, { inContainer: false, lost: [] });
    expect(values.map(({ path }) => path.join("."))).toEqual(["environment.VLLM_LOGGING_LEVEL"]);
    expect(leftOut.map(({ what }) => what)).toEqual([
      "the variable PATH",
      "the variable CUDA_HOME",
    ]);
  });

  it("are a container's own where it has them", () => {
    expect(variableValues(given, { inContainer: true, lost: [] }).leftOut).toEqual([]);
  });
});
