import { WrongUse } from "@local-serving/base/commandLine/exit";
import { describe, expect, it } from "vitest";
import { filled } from "../../../cli/init/command/filled";
import { launchesIn } from "../../../cli/init/command/launch";
import { variableValues } from "../../../cli/init/command/variables";
import { asWritten } from "../../../cli/init/command/words";
import { readPublished } from "../../../cli/init/from/published";

const UNIT = (of: string) => `[Service]\nExecStart=/v/vllm serve ${of}\n`;
const words = (text: string) => filled(readPublished({ text })).words;

describe("a here-document that a script writes", () => {
  const script = (end: string, model: string) =>
    `DIR=/opt/models/m\nif [ -x /v ]; then W=1; fi\ncat >/etc/systemd/system/v.service <<${end}\n${UNIT(`${model} --port 8001 \\\\\n  --seed 1`)}EOF\n`;

  it("has the script's own values, and its pairs of backslashes as one", () => {
    expect(words(script("EOF", `\${DIR}`))).toEqual([
      ...["/opt/models/m", "--port", "8001", "--seed", "1"],
    ]);
  });

  it("has what nobody knows as it is written, in a unit of its own too", () => {
    for (const text of [script("EOF", "$W"), UNIT("$W")])
      expect(() => words(text)).toThrow(
        new WrongUse("--from-command: The value of `$W` is not known here: write it in its place."),
      );
  });

  it("is left as it is where its end is quoted", () => {
    expect(() => words(script("'EOF'", `\${DIR}`))).toThrow(
      new WrongUse(
        `--from-command: The value of \`\${DIR}\` is not known here: write it in its place.`,
      ),
    );
  });
});

describe("a unit's variable without a value", () => {
  it.each([`\${NAME}`, `\${A-1}`, `$\${NAME}`])("%s is asked for by its name", (model) => {
    const name = model.replace("$$", "$");
    expect(() => words(UNIT(model))).toThrow(
      new WrongUse(
        `--from-command: The value of \`${name}\` is not known here: write it in its place.`,
      ),
    );
  });

  it("leaves out the option whose value it is", () => {
    const { words: kept, leftOut } = filled(readPublished({ text: UNIT(`a/b --port \${A-1}`) }));
    expect([kept, leftOut.map(({ what }) => what)]).toEqual([["a/b"], ["--port"]]);
  });
});

describe("an option with its value in one item of a list", () => {
  it("is read as two words, and said with what to write, which is read alike", () => {
    const file = (item: string) =>
      `services:\n  c:\n    image: vllm/vllm-openai:v0.30.0\n    command: [a/b, "${item}", --speculative-config.method=a b]\n`;
    const { words: read, told = [] } = filled(readPublished({ text: file("--dtype auto") }));
    expect(read).toEqual(["a/b", "--dtype", "auto", "--speculative-config.method=a b"]);
    expect(told.at(-1)).toBe(
      "`--dtype auto` is one word with a blank, which vLLM refuses: it is read as two. Write `--dtype=auto` there.",
    );
    expect(words(file("--dtype=auto"))[1]).toBe("--dtype=auto");
  });
});

describe("an image that nobody has filled in", () => {
  const pod = (image: string, args: string) =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n    - {name: c, image: ${image}, args: [${args}]}\n`;

  it.each(["IMAGE_PLACEHOLDER", "<your-image>"])("%s is named, and the server read", (image) => {
    const launch = filled(readPublished({ text: pod(`"${image}"`, "--model=a/b, --port=8001") }));
    expect(launch.words).toEqual(["--model=a/b", "--port=8001"]);
    expect(launch.image).toBeUndefined();
    expect(launch.leftOut).toContainEqual({
      what: image,
      why: "which image that is isn't known here: the one of every new stack file takes its place.",
      words: [image],
    });
  });

  it.each([
    ["redis", "--model=a/b, --port=8001"],
    ["IMAGE_PLACEHOLDER", "--model=a/b, --unheard-of=1"],
    ["IMAGE_PLACEHOLDER", "--port=8001, --seed=1"],
  ])("%s with %s is no vLLM", (image, args) => {
    expect(() => words(pod(image, args))).toThrow("it runs no vLLM.");
  });
});

describe("what a refusal or a name says", () => {
  it("a manifest whose model is in a ConfigMap names `envFrom`", () => {
    const text = `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n    - name: c\n      image: vllm/vllm-openai:v0.30.0\n      command: [sh, -c]\n      args: ['exec vllm serve "$M" --port $P \${T:+--seed "$T"}']\n      envFrom: [{configMapRef: {name: m}}]\n`;
    expect(() => words(text)).toThrow(
      new WrongUse(
        "--from-command: The value of `$M` is not known here: write it in its place. Of the variables of ConfigMap `m` (`envFrom`) nothing is known: it isn't in this file: add it, or write its variables as `environment`.",
      ),
    );
  });

  it("what a condition adds to an array is named by its options", () => {
    const [launch] = launchesIn(
      `A=(a/b)\n[ -n "$S" ] && A+=(--speculative-config "$S" --seed 1)\nvllm serve "\${A[@]}"`,
    ).launches;
    expect(launch?.words.map(asWritten)).toEqual(["a/b", "A+=(--speculative-config --seed ...)"]);
  });

  it("what a script does to vLLM before it starts it is named", () => {
    const text = `pip install -U vllm\npython3 patch_vllm.py --fast\nls\n`;
    const named = (start: string) =>
      launchesIn(text + start).launches[0]?.leftOut.map(({ what }) => what);
    expect(named("vllm serve a/b")).toEqual([
      "`pip install -U vllm`",
      "`python3 patch_vllm.py --fast`",
    ]);
    expect(named("docker run vllm/vllm-openai:v0.30.0 a/b")).toEqual([]);
  });

  it("another program's file with a map for its model is no file of vLLM's", () => {
    const text = "model: {id: a, path: ../m}\nport: 8000\nhost: h\n";
    expect(() => words(text)).toThrow("It is a YAML file of a kind that isn't read here.");
  });

  it("variables of a volume that isn't carried over go with it", () => {
    const given = new Map([
      ["TORCH_HOME", "/state/torch"],
      ["VLLM_HOME", "/state"],
      ["OTHER", "/states"],
    ]);
    const { values, leftOut } = variableValues(given, { inContainer: true, lost: ["/state"] });
    expect(values.map(({ path }) => path[1])).toEqual(["OTHER"]);
    expect(leftOut).toEqual(
      ["TORCH_HOME", "VLLM_HOME"].map((name) => ({
        what: `the variable ${name}`,
        why: "it names a folder of a volume that isn't carried over.",
        words: [name],
      })),
    );
  });
});
