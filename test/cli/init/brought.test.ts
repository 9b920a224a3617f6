import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { choose } from "../../../cli/init/choose";
import { readPublished } from "../../../cli/init/from/published";
import { type HostFacts, hostFacts } from "../../../cli/sees/computer/facts";
import { madeFacts } from "./madeFacts";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const MODEL = "openai/gpt-oss-20b";
const COMMIT = "d666cf3b67006cf8227666739edf25164aaffdeb";

let facts: HostFacts;

beforeAll(async () => {
  facts = hostFacts.parse(JSON.parse(readFileSync(await madeFacts(), "utf8")));
});

interface Machine {
  readonly modelCache?: string;
  readonly inferenceServers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The machine of the stack file that `init` writes of a text, and what it says. */
async function written(text: string, all = false) {
  const place = { name: "spark", project: process.cwd() };
  const choice = await choose(facts, place, { command: { text }, all });
  const file = parse(choice.text) as { config: Record<string, Record<string, Machine>> };
  const { inferenceServers = {}, modelCache } = file.config["local-serving:machines"]?.spark ?? {};
  return { ...choice, modelCache, servers: inferenceServers };
}

describe("a model by its folder in the hub's cache", () => {
  const path = (cache: string, commit = COMMIT) =>
    `${cache}/models--openai--gpt-oss-20b/snapshots/${commit}`;

  it.each([
    ["on the machine", `vllm serve ${path("/data/hf/hub")}/`, "/data/hf"],
    ["in a volume", `docker run -v /data/hf:/hf ${IMAGE} --model ${path("/hf/hub")}`, "/data/hf"],
    [
      "in the usual place",
      `docker run ${IMAGE} --model ${path("/root/.cache/huggingface/hub")}`,
      undefined,
    ],
    ["in a folder of another form", `vllm serve ${path("/data/x")}`, undefined],
  ])("is the hub's, at its commit: %s", async (_, text, modelCache) => {
    const read = await written(text);
    expect(read.servers.b).toMatchObject({
      model: { id: MODEL, revision: COMMIT },
      servedModelName: "gpt-oss-20b",
    });
    expect(read.modelCache).toBe(modelCache);
    expect(read.mend.join()).not.toContain("/models--");
  });

  it("has no commit where the path has none", async () => {
    const { servers } = await written(`vllm serve ${path("/data/hf/hub", "main")}`);
    expect(servers.b?.model).not.toHaveProperty("revision");
  });
});

describe("a file that a text writes itself", () => {
  const config = `model: ${MODEL}\nmax-model-len: 8192\n`;
  it.each([
    [
      "cat > FILE",
      `cat > /opt/config.yaml <<EOF\n${config}EOF\nvllm serve --config /opt/config.yaml`,
    ],
    [
      "cat | tee",
      `cat <<'EOF' | sudo tee conf/c.yml >/dev/null\n${config}EOF\nvllm serve --config=conf/c.yml`,
    ],
    [
      "tee FILE",
      `tee c.yaml <<EOF\n${config}EOF\ndocker run -v $PWD:/c ${IMAGE} --config /c/c.yaml`,
    ],
    [
      "compose's `configs`",
      `services:\n  a:\n    image: ${IMAGE}\n    command: --config /c.yaml\n    configs: [{source: c, target: /c.yaml}]\nconfigs:\n  c:\n    content: |\n${config.replace(/^(?=.)/gm, "      ")}`,
    ],
    [
      "a ConfigMap",
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  c.yaml: |\n${config.replace(/^(?=.)/gm, "    ")}---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: "${IMAGE}", args: [--config, /etc/c.yaml]}]\n`,
    ],
  ])("is read where its options are asked for: %s", (_, text) => {
    expect(readPublished({ text }).words).toEqual(["--model", MODEL, "--max-model-len", "8192"]);
  });

  it("is read as a file of variables, too", () => {
    const text = `cat > vllm.env <<EOF\nVLLM_LOGGING_LEVEL=DEBUG\nEOF\ndocker run --env-file vllm.env ${IMAGE} ${MODEL}`;
    expect([...readPublished({ text }).variables]).toEqual([["VLLM_LOGGING_LEVEL", "DEBUG"]]);
  });

  it("that isn't there is asked for", async () => {
    await expect(written("vllm serve --config c.yaml")).rejects.toThrow(
      "Give this text as a file with that one beside it, or write its options in its place.",
    );
  });
});

describe("what nobody has filled in", () => {
  it.each([
    ["vllm serve <model>", "`<model>`"],
    ["vllm serve your-org/your-model", "`your-org/your-model`"],
    ["M=xxx/models/a\nvllm serve $M", "`xxx/models/a` (line 1)"],
    ["docker run IMAGE \\\n  --model /path/to/model --port 8000", "`/path/to/model` (line 2)"],
  ])("is no model: %s", async (text, name) => {
    await expect(written(text)).rejects.toThrow(
      `--from-command: ${name} is a placeholder: write the model's hub id, or its folder on the machine, in its place.`,
    );
  });

  it("is named as such elsewhere, with its line", async () => {
    const text = `docker run -e HF_TOKEN=<your token> -e A=<a> -v /path/to/models:/m \\
  <image> --model ${MODEL} --max-model-len <LEN> --seed your-seed > log.txt 2>&1`;
    const { told, servers } = await written(text);
    expect(servers.b).toMatchObject({ huggingFaceTokenVariable: "HF_TOKEN" });
    expect(told?.leftOut.map(({ what, line }) => [what, line])).toEqual([
      ["<image>", 2],
      ["--max-model-len", 2],
      ["--seed", 2],
      ["--volume /path/to/models:/m", 1],
      ["the variable A", 1],
    ]);
    expect(told?.leftOut.slice(1).every(({ why }) => why.includes("is a placeholder"))).toBe(true);
  });

  it("leaves redirections as they are", () => {
    const text = `vllm serve ${MODEL} <in >out 2>&1 --port 8001`;
    expect(readPublished({ text }).words).toEqual([MODEL, "--port", "8001"]);
  });
});

describe("a fault of the stack file that would be written", () => {
  it("is one of the command, with the line of what it says", async () => {
    await expect(written("vllm serve \\\n  a/b/c --max-model-len 8192")).rejects.toThrow(
      "--from-command: What would be `model.id` (line 2) can't be: `a/b/c` isn't a hub id",
    );
  });
});

describe("a menu of models", () => {
  const LARGE = "openai/gpt-oss-120b";
  const serve = 'vllm serve "$M" --max-model-len $L --gpu-memory-utilization 0.3\n';
  const menus: readonly (readonly [string, string])[] = [
    [
      "case",
      `L=8192\ncase $1 in\n small) M=${MODEL} ;;\n large|xl)\n  M=${LARGE}; L=4096 ;;\n *) exit 1 ;;\nesac\n${serve}`,
    ],
    ["if", `if [ $1 = s ]; then M=${MODEL}; L=8192; else M=${LARGE}; L=4096; fi\n${serve}`],
    [
      "a value that a condition changes",
      `M=${MODEL} L=8192\nif [ $1 ]; then M=${LARGE}; L=4096; fi\n${serve}`,
    ],
    [
      "branches inside a branch",
      `if [ $2 ]; then\n case $1 in\n s) M=${MODEL} L=8192;;\n l) M=${LARGE} L=4096;;\n esac\nfi\n${serve}`,
    ],
  ];

  it.each(menus)("by %s becomes a server of each with --all", async (_, text) => {
    const { servers } = await written(text, true);
    const values = Object.values(servers).map(({ model, maxModelLen, start }) => [
      (model as { id: string }).id,
      maxModelLen,
      start,
    ]);
    expect(values).toEqual([
      [MODEL, 8192, "onRequest"],
      [LARGE, 4096, "onRequest"],
    ]);
  });

  it.each(menus)("by %s asks which one is wanted", async (_, text) => {
    await expect(written(text)).rejects.toThrow(
      /^--from-command: It is a shell script with 2 starts of vLLM: the start of `openai\/gpt-oss-20b` \(line \d+\), the start of `openai\/gpt-oss-120b` \(line \d+\)\./,
    );
  });

  it("is none where only an option of the script gives another model", async () => {
    const options = 'while getopts "m:" o; do case $o in m) M=$OPTARG;; esac; done';
    const { servers, told } = await written(`M=${MODEL} L=8192\n${options}\n${serve}`);
    expect(Object.values(servers)).toEqual([
      expect.objectContaining({ model: expect.objectContaining({ id: MODEL }), maxModelLen: 8192 }),
    ]);
    expect(told?.chosen).toContain(
      `A condition of the script decides \`$M\`: it is ${MODEL} here.`,
    );
  });

  it("by the keys of an array is read at the one that the script takes, and names the others", async () => {
    const arrays = `declare -A IDS=( [small]="${MODEL}" ['large one']=${LARGE} )\ndeclare -A LENGTHS\nLENGTHS[small]="8192"\nMORE=(--seed 7)`;
    const command = `K=\${1:-small}\nvllm serve "\${IDS[$K]}" --max-model-len \${LENGTHS[small]} \${MORE[0]} \${MORE[1]}`;
    const { words, told } = readPublished({ text: `${arrays}\n${command}` });
    expect(words).toEqual([MODEL, "--max-model-len", "8192", "--seed", "7"]);
    expect(told).toEqual([
      "The script's `IDS` is read at `small`. It has `large one` as well: to read one of these, write it as the script's default.",
    ]);
    await expect(written(`${arrays}\nvllm serve "\${IDS[$1]}"`)).rejects.toThrow(
      /\$\{IDS\[\$1\]\}/,
    );
  });

  it("by a loop becomes a server of each word", async () => {
    const { servers } = await written(
      `for M in ${MODEL} ${LARGE}; do\n  vllm serve $M --gpu-memory-utilization 0.3\ndone\n`,
      true,
    );
    expect(Object.values(servers).map(({ model }) => (model as { id: string }).id)).toEqual([
      MODEL,
      LARGE,
    ]);
  });

  it("with one model is that one, and says that a condition decides it", async () => {
    const { told, servers } = await written(`if [ -z "$M" ]; then M=${MODEL}; fi\nvllm serve $M\n`);
    expect(servers.b).toMatchObject({ model: { id: MODEL } });
    expect(servers.b).not.toHaveProperty("start");
    expect(told?.chosen).toContain(
      `A condition of the script decides \`$M\`: it is ${MODEL} here.`,
    );
  });
});
