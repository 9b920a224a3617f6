import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { filled } from "../../../cli/init/command/filled";
import { readPublished } from "../../../cli/init/from/published";
import { temporaryFolder } from "../../layers/temporaryFolder";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const MODEL = "openai/gpt-oss-20b";
const KEY = "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";
const SHELL = `bash -c "vllm serve $$MODEL --port $$PORT"`;

let folder = "";
beforeEach(() => {
  folder = temporaryFolder("env-files-");
});

/** What is read of a text in a file. */
function read(text: string) {
  const { words, variables, leftOut, container, told } = filled(
    readPublished({ text, file: join(folder, "given") }),
  );
  const named = [...leftOut, ...(container?.leftOut ?? [])];
  return { argv: words.join(" "), variables, named, told };
}

const service = (command: string) =>
  `services:\n  llm:\n    image: ${IMAGE}\n    entrypoint: []\n    env_file: [vllm.env]\n    environment: {SEED: "2"}\n    command: ${command}\n`;
const quadlet = (command: string) =>
  `[Container]\nImage=docker.io/${IMAGE}\nEntrypoint=""\nEnvironmentFile=%h/vllm.env\nEnvironment=SEED=2\nExec=${command}\n`;
const unit = `[Service]\nEnvironmentFile=-/etc/vllm.env\nEnvironment=SEED=2\nExecStart=/usr/bin/vllm serve $MODEL --port \${PORT}\n`;
const unitOfDocker = `[Service]\nExecStart=/usr/bin/docker run -e SEED=2 --env-file /etc/vllm.env --entrypoint bash ${IMAGE} -c "vllm serve $$MODEL --port $$PORT"\n`;
const script = `docker run --env-file=./vllm.env -e SEED=2 --entrypoint "" ${IMAGE} ${SHELL.replaceAll("$$", "\\$")}\n`;
const swap = `models:\n  m:\n    cmd: docker run --env-file vllm.env -e SEED=2 --entrypoint bash ${IMAGE} -c "vllm serve $MODEL --port $PORT"\n`;

const TEXTS: readonly [string, string][] = [
  ["a compose file", service(SHELL)],
  ["a Quadlet", quadlet(SHELL)],
  ["a unit", unit],
  ["a unit with a docker run", unitOfDocker],
  ["a script", script],
  ["llama-swap's configuration", swap],
];

describe("a file of variables", () => {
  it.each(TEXTS)("that lies beside %s is read, and of a secret only its name", (_, text) => {
    const lines = [
      `MODEL=${MODEL}`,
      "# of vLLM",
      "export PORT='8123'",
      "SEED=1",
      `HF_TOKEN=${KEY}`,
    ];
    writeFileSync(join(folder, "vllm.env"), lines.join("\n"));
    const found = read(text);
    expect(found.argv).toBe(`${MODEL} --port 8123`);
    expect(found.variables.get("SEED")).toBe(text === unit ? "1" : "2");
    expect(found.variables.has("HF_TOKEN")).toBe(true);
    expect(JSON.stringify([found.named, found.told])).not.toContain(KEY);
    expect(found.named.filter(({ what }) => /env-?file/i.test(what))).toEqual([]);
  });

  it.each(TEXTS)("that isn't at hand is asked for where %s needs it", (_, text) => {
    expect(() => read(text)).toThrow(
      /The value of `\$\{?MODEL\}?`(?:, `\$PORT`)? is not known here: write it in its place, or give this text as a file with \S*vllm\.env beside it, which may set it\./,
    );
  });

  it.each([
    [service(`["vllm", "serve", "${MODEL}"]`), "--env-file vllm.env", ""],
    [quadlet(`vllm serve ${MODEL}`), "--env-file %h/vllm.env", ""],
    [
      unit.replace("$MODEL", MODEL),
      "EnvironmentFile=/etc/vllm.env",
      ` It may set \`\${PORT}\`, which nobody else here does.`,
    ],
  ])("that isn't at hand is named with what to do: %#", (text, what, more) => {
    expect(read(text).named).toContainEqual({
      what,
      words: expect.anything() as unknown,
      why: `the file isn't read: give this text as a file with that one beside it, or write its variables as \`environment\`, without secrets.${more}`,
    });
  });
});
