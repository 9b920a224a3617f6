import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { fitModel, withModel } from "../../../cli/models/fit";
import { seatFor } from "../../../cli/models/seat";
import { changeModel, seatOf } from "../../../cli/models/useModel";
import { readOneMachine } from "../../../cli/stack/readStack";
import { readCatalogue, readRecipe } from "../../../components/catalogue/readCatalogue";
import { notAHubId } from "../../../components/planned/fields/hubId";
import { parseStackFile } from "../../../components/settings/load";
import { atKeyboard } from "../../layers/keyboard";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const DEFAULT = readFileSync("Pulumi.dgx.yaml", "utf8");
const ALONE = DEFAULT.replace(/instanceA:\n(?: {8}.*\n)+/, "instanceA: none\n");

function stackFile(text = DEFAULT): string {
  const file = join(temporaryFolder("models-"), "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  return file;
}

describe("serving models", () => {
  it("lists what fits first, with its figures, and by how much the others don't", async () => {
    const { code, out } = await runServing(["models", "--file", stackFile()]);
    expect(code).toBe(0);
    expect(out).toContain("Machine dgx, server b, beside its other engines:");
    expect(out).toMatch(
      /^qwen3\.6-35b-a3b +yes \(computed\) +0\.45 +6\.5 to 12\.4 of 256K +8 +not known +97\.7 +vLLM 0\.24\.0, 22 GB of disk$/m,
    );
    // Its speed with drafts is larger, but `use` writes none.
    expect(out).toMatch(/^gemma-4-26b-a4b +maybe .* 4 +52 +- +vLLM/m);
    expect(out).toMatch(
      /^Don't fit here: .*\bgpt-oss-120b \(10\.9 GiB over; may fit alone\).*\. `--all` lists them too\.$/m,
    );
    const all = await runServing(["models", "--all", "--file", stackFile()]);
    expect(all.out).toMatch(
      /^gpt-oss-120b +no \(10\.9 GiB over\) +- .* the machine to itself, vLLM 0\.24\.0, 61 GB of disk$/m,
    );
    expect(all.out).not.toContain("Don't fit here");
    expect(out).toMatch(/^glm-4\.7-flash .* disk not known$/m);
    const order = ["qwen3.6-35b-a3b ", "nemotron-3.5", "gemma-4-26b", "qwen3.6-27b", "gpt-oss-20b"];
    expect(order.map((name) => out.indexOf(`\n${name}`)).toSorted((a, b) => a - b)).toEqual(
      order.map((name) => out.indexOf(`\n${name}`)),
    );
    expect(out).not.toContain("minimax-m2.7");
  });

  it("says once why a machine gets no server of ours, and nothing to do next", async () => {
    const text = `config:
  local-serving:machines:
    box:
      totalGiB: 124.9
      instanceA: none
      device: other
`;
    const { code, out } = await runServing(["models", "--file", stackFile(text)]);
    const why = whyNoServer("other") ?? "";
    expect([code, out.split(why).length - 1, out.endsWith(`\n\n${why}\n`)]).toEqual([0, 1, true]);
    expect(why).toMatch(/there is no server B\. .*Ollama/);
    expect(out).not.toContain("Next:");
    expect(out).not.toMatch(/ (tokens\/s|maybe) /);
  });

  it("lists those for several machines with --all", async () => {
    const { out } = await runServing([
      "models",
      "--all",
      "--format",
      "json",
      "--file",
      stackFile(),
    ]);
    const { models } = JSON.parse(out);
    expect(models).toHaveLength(31);
    expect(models.find(({ id }: { id: string }) => id.includes("MiniMax"))).toMatchObject({
      servedModelName: "minimax-m2.7",
      verdict: "no",
      reasons: [
        "It needs 2 machines, and this stack has 1: declare the others, each with its `link`.",
      ],
    });
  });

  it("shows a model with the source of each value, and what is not known", async () => {
    const file = stackFile();
    const narrow = await runServing(["models", "--file", file], { COLUMNS: "80" });
    // A command to type is not broken.
    const lines = narrow.out.replaceAll(` --file ${file}`, "").split("\n");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines).toContain("?: not known");
    const served = lines.indexOf("b serves qwen3.6-35b-a3b now.");
    expect(lines.slice(served + 1, served + 5)).toEqual([
      "What surely starts comes first; each part is sorted by tool calls, speed, room.",
      "`up to`: at worst there is no room at all.",
      "`tokens/s`: one answer alone with what `use` writes, and with `use --drafts`;",
      "measured here, or published of a DGX Spark.",
    ]);
    expect(narrow.out).toMatch(/^glm-4\.7-flash +maybe +\S+ +\? +\? +-\n {4}KV cache not known; /m);
    expect(narrow.out.replaceAll("\n    ", " ")).toMatch(
      /^qwen3\.6-35b-a3b +yes +0\.45 +8 +\? +97\.7 computed; windows .*; vLLM 0\.24\.0/m,
    );
    const { out } = await runServing(["models", "show", "glm-4.7-flash", "--file", stackFile()]);
    expect(out).toMatch(
      /parsers\.tool +glm47 +published: spark-arena recipe-registry, glm-4\.7-flash-awq-vllm\.yaml \(2026-11-22\)/,
    );
    expect(out).toMatch(/share\.beside +0\.35 +judged: 30 billion parameters/);
    expect(out).toMatch(/weights\.diskGB +not known/);
    expect(out).toContain("config.json: class-defaults, transformers 5.20");
  });

  it("says in whole sentences that one fits only alone, or fits", async () => {
    const shown = async (name: string) =>
      (await runServing(["models", "show", name, "--file", stackFile()])).out;
    expect(await shown("gpt-oss-120b")).toMatch(/ GiB too little\. Alone on the machine: maybe$/m);
    expect(await shown("gpt-oss-20b")).toMatch(/^ {2}here: [^.]+[^.\n]*; alone on the machine: /m);
  });

  it("says which models there are where one is unknown, or several are meant", async () => {
    const unknown = await runServing(["models", "show", "org/none", "--file", stackFile()]);
    expect([unknown.code, unknown.err]).toEqual([
      2,
      expect.stringContaining("`serving models use org/none` reads it from the hub."),
    ]);
  });

  it("says what a name alone tells of a model that is unknown", async () => {
    const said = async (id: string) =>
      (await runServing(["models", "show", id, "--file", stackFile()])).err;
    expect(await said("org/bge-x")).toContain(
      " reads it from the hub. By its name, it is for embeddings",
    );
    expect(await said("org/Dense-700B-FP8")).toContain("its weights take 6");
    expect(await said("org/Dense-8B-GGUF")).toContain("consists of GGUF files");
    expect(await said("openai/whisper-x")).toContain("No server here supports such a model");
  });

  it("refuses a name that several have, with the command to type for each", async () => {
    const file = stackFile();
    const before = readFileSync(file, "utf8");
    const shown = await runServing(["models", "show", "gpt-oss", "--file", file]);
    expect(shown).toEqual({
      code: 2,
      out: "",
      err: `gpt-oss fits 2 models. Type one of these:\n  serving models show openai/gpt-oss-120b --file ${file}\n  serving models show openai/gpt-oss-20b --file ${file}\n`,
    });
    // A server may have the very name that is asked for.
    const words = ["models", "use", "--server", "embedding", "embedding", "--file", file];
    const used = await runServing([...words, "--write"]);
    const lines = used.err.trimEnd().split("\n");
    expect([used.code, lines]).toEqual([
      2,
      [
        "embedding fits 2 models. Type one of these:",
        `  serving models use --server embedding Qwen/Qwen3-Embedding-0.6B --file ${file} --write`,
        `  serving models use --server embedding Qwen/Qwen3-VL-Embedding-8B --file ${file} --write`,
      ],
    ]);
    expect(readFileSync(file, "utf8")).toBe(before);
    for (const line of [...shown.err.trimEnd().split("\n").slice(1), ...lines.slice(1)]) {
      const typed = line.trim().split(" ").slice(1);
      expect((await runServing(typed)).err).not.toContain("Type one of these");
    }
  });

  it.each([
    ["2", "openai/gpt-oss-20b"],
    ["openai/gpt-oss-120b", "openai/gpt-oss-120b"],
    ["7", undefined],
    ["", undefined],
  ])("asks at a terminal which one is meant: `%s`", async (answer, id) => {
    const words = ["models", "show", "gpt-oss", "--file", stackFile()];
    const { code, out, err } = await atKeyboard([answer], () => runServing(words));
    expect(err).toContain(
      "gpt-oss fits 2 models.\n  1  openai/gpt-oss-120b\n  2  openai/gpt-oss-20b\nWhich one? ",
    );
    expect([code, out.split("\n")[0]]).toEqual(id === undefined ? [2, ""] : [0, id]);
    expect(err.includes("Type one of these:\n  serving models show openai/gpt-oss-120b")).toBe(
      id === undefined,
    );
    const asJson = await atKeyboard([answer], () => runServing([...words, "--format", "json"]));
    expect([asJson.code, asJson.err.includes("Which one?")]).toEqual([2, false]);
  });
});

it("takes a part of a listed name, and says what was typed where several have it", async () => {
  const words = ["models", "show", "gpt-oss", "--file", stackFile()];
  const { code, out, err } = await atKeyboard(["gpt", "qwen", "120"], () => runServing(words));
  expect([code, out.split("\n")[0]]).toEqual([0, "openai/gpt-oss-120b"]);
  expect(err).toContain(
    "`gpt` may be:\n  1  openai/gpt-oss-120b\n  2  openai/gpt-oss-20b\nWhich one? ",
  );
  expect(err).toContain("`qwen` is none of these.\nWhich one? ");
});

it.each([
  ["gpt-oss:20b", "openai/gpt-oss-20b"],
  ["llama3.3:70b", "nvidia/Llama-3.3-70B-NVFP4"],
])("says which model of the catalogue Ollama's %s is", async (name, id) => {
  const said = `\`${name}\` is a name of Ollama's: the same model in the catalogue is ${id}.\n`;
  for (const words of [
    ["models", "show", name],
    ["models", "use", name],
  ]) {
    const { out, err } = await runServing([...words, "--file", stackFile()]);
    expect([err.startsWith(said), out.includes(id) || err.includes(id)]).toEqual([true, true]);
  }
});

it("says of another name of Ollama's that the catalogue has no such model", async () => {
  expect(await runServing(["models", "show", "qwen3:8b", "--file", stackFile()])).toEqual({
    code: 2,
    out: "",
    err: "`qwen3:8b` is a name of Ollama's: write the model's hub id (`organisation/name`), or declare it in `simpleServer.models`. No model of the catalogue is the same.\n",
  });
});

/** The second of two machines, below the first of a stack file, and the links of both. */
const SECOND = `    dgx2:
      dockerHost: ssh://me@dgx2
      totalGiB: 121.63
      link: { interface: enp1s0f1np1, address: 192.168.100.12 }
      instanceA: none
`;
const linked = (text: string) =>
  `${text.replace("instanceA:", "link: { interface: enp1s0f1np1, address: 192.168.100.11 }\n      instanceA:").trimEnd()}\n${SECOND}`;

describe("serving models for two machines that are linked", () => {
  it("lists those that need both, writes nodes and shares, and takes them back", async () => {
    const file = stackFile(linked(ALONE));
    const listed = await runServing(["models", "--file", file]);
    expect(listed.out).toMatch(
      /^minimax-m2\.7-gb10 +(?:yes|maybe) .* 2 linked machines, vLLM 0\.24\.0, 130\.6 GB of disk$/m,
    );
    const used = await runServing([
      "models",
      "use",
      "minimax-m2.7-gb10",
      "--write",
      "--file",
      file,
    ]);
    expect([used.code, used.err]).toEqual([0, ""]);
    expect(used.out).toContain('nodes: ["dgx","dgx2"]  it needs 2 machines');
    const serverOf = () =>
      parse(readFileSync(file, "utf8")).config["local-serving:machines"].dgx.inferenceServers.b;
    expect(serverOf()).toMatchObject({ nodes: ["dgx", "dgx2"], tensorParallelSize: 2 });
    const planned = await runServing(["plan", "--file", file]);
    expect([planned.code, planned.err]).toEqual([0, ""]);
    const back = await runServing(["models", "use", "qwen3.6-35b-a3b", "--write", "--file", file]);
    expect([back.code, back.err]).toEqual([0, ""]);
    expect(serverOf()).not.toHaveProperty("nodes");
    expect(serverOf()).not.toHaveProperty("tensorParallelSize");
  });

  it("says what is missing: another machine, or its link", async () => {
    const alone = await runServing([
      "models",
      "use",
      "minimax-m2.7-gb10",
      "--file",
      stackFile(ALONE),
    ]);
    expect([alone.code, alone.err.trim()]).toEqual([
      1,
      "saricles/MiniMax-M2.7-NVFP4-GB10: It needs 2 machines, and this stack has 1: declare the others, each with its `link`.",
    ]);
    const unlinked = linked(ALONE).replace(/ {6}link: .*100\.12 \}\n/, "");
    const { out } = await runServing(["models", "--all", "--file", stackFile(unlinked)]);
    expect(out).toMatch(/^minimax-m2\.7-gb10 +no \(needs 2 machines\) /m);
    const shown = await runServing([
      "models",
      "show",
      "minimax-m2.7-gb10",
      "--file",
      stackFile(unlinked),
    ]);
    expect(shown.out).toContain(
      "here: no. It needs 2 machines, and too few are linked to dgx: write the `link` of each.",
    );
  });

  it("counts what runs on the other machine", async () => {
    const busy = SECOND.replace("instanceA: none", "instanceA: { gpuMemoryUtilization: 0.45 }");
    const { code, err } = await runServing([
      "models",
      "use",
      "minimax-m2.7-gb10",
      "--file",
      stackFile(linked(ALONE).replace(SECOND, busy)),
    ]);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("It was only ever published as the only engine of a machine."),
    ]);
  });
});

it("says of a server that isn't there yet not what it serves, and names it in what is next", async () => {
  const file = stackFile();
  const { out } = await runServing(["models", "--server", "second", "--file", file]);
  expect(out).not.toContain("second serves");
  expect(out).toContain(`serving models use MODEL --file ${file} --server second --write\n`);
});

describe("serving models use", () => {
  it("shows the change without making it", async () => {
    const file = stackFile();
    const { code, out } = await runServing(["models", "use", "qwen3-coder-next", "--file", file]);
    expect(code).toBe(0);
    expect(out).toContain("+            id: saricles/Qwen3-Coder-Next-NVFP4-GB10\n");
    expect(out).toContain("-            weightsGB: 22\n");
    expect(out).toContain("gpuMemoryUtilization: 0.45  the most that is left of 0.55");
    expect(out).toContain(
      "\nTo download on a machine that has nothing of it: 44.8 GB of models, about 20.0 GB for 1 image, 2 images of unknown size\n",
    );
    expect(readFileSync(file, "utf8")).toBe(DEFAULT);
  });

  it("writes it with --write, keeps comments and the old file, and has nothing to change then", async () => {
    const file = stackFile();
    const args = ["models", "use", "qwen3-coder-next", "--file", file];
    expect((await runServing([...args, "--write"])).code).toBe(0);
    const after = readFileSync(file, "utf8");
    const comments = (text: string) =>
      text.split("\n").filter((line) => line.trim().startsWith("#"));
    expect(comments(after)).toEqual(comments(DEFAULT));
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(DEFAULT);
    expect((await runServing(args)).out).toContain(`${file} has all of this already.`);
    const planned = await runServing(["plan", "--file", file]);
    expect([planned.code, planned.out]).toEqual([
      0,
      expect.stringContaining("Nothing is refused."),
    ]);
    expect(planned.out).toContain("  ! b: The layers are assumed to be those of ");
  });

  it("names the next command for the stack that it changed", async () => {
    const file = stackFile();
    const use = ["models", "use", "gpt-oss-20b", "--file", file];
    expect((await runServing(use)).out).toMatch(/\n\nWrite it: the same command with --write\n$/);
    const { out } = await runServing([...use, "--write"]);
    expect(out.endsWith(`\nNext: serving plan --file ${file}\n`)).toBe(true);
    const again = await runServing([...use, "--write"]);
    expect(again.out).not.toContain("Write it");
    expect(again.out.endsWith(`\n\nNext: serving plan --file ${file}\n`)).toBe(true);
  });

  it("says which other servers change with it by an alias", async () => {
    const dgx2 = "    dgx2:\n      dockerHost: ssh://me@dgx2.local\n      totalGiB: 121.63\n";
    const twice = `${ALONE.replace("        b:\n", "        b: &b\n")}${dgx2}      instanceA: none\n      inferenceServers: { b: *b }\n`;
    const use = ["models", "use", "gemma-4-26b-a4b", "--file"];
    expect((await runServing([...use, stackFile(twice)])).out).toContain(
      "\n\ndgx2.b repeats its block, and changes too.\n\n",
    );
    expect((await runServing([...use, stackFile(ALONE)])).out).not.toContain("changes too");
  });

  it("says by how much memory is missing for one more server where none is left", async () => {
    const file = stackFile(
      DEFAULT.replace("claudeCode:\n", "claudeCode:\n          server: b\n").replaceAll(
        /(codex|clientEnv): \{\}/g,
        "$1: { server: b }",
      ),
    );
    const use = ["models", "use", "gpt-oss-20b", "--server", "c", "--file", file];
    const { code, err } = await runServing(use);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /\. It needs a share of at least 0\.\d+, and 0\.00 is left: [\d.]+ GiB too little\. Instead .*lower instance A to (0\.\d+)/,
      ),
    ]);
    const text = readFileSync(file, "utf8");
    // Instance A alone may hold more than all servers together may.
    for (const held of ["0.45", "0.95"]) {
      writeFileSync(file, text.replace("0.45", held));
      const refused = await runServing(use);
      const [, lower = ""] = /lower instance A to (0\.\d+)/.exec(refused.err) ?? [];
      writeFileSync(file, text.replace("0.45", lower));
      expect([lower, (await runServing(use)).code]).toEqual([lower, 0]);
    }
  });

  it("says where a folder, or a model of Ollama, belongs instead", async () => {
    const file = stackFile();
    for (const folder of ["./merged", "~/runs/merged", "/srv/merged", ".."]) {
      const { code, err } = await runServing(["models", "use", folder, "--file", file]);
      expect([code, err]).toEqual([2, expect.stringContaining(`${folder} is a folder.`)]);
      expect(err).toContain("`model.id`");
    }
    const { code, err } = await runServing(["models", "use", "qwen3:8b", "--file", file]);
    expect([code, err]).toEqual([2, expect.stringContaining("`simpleServer.models`")]);
  });

  it.each([
    "ORG/M@main",
    "a\\b",
    "https://huggingface.co/ORG/M",
    "hf.co/ORG/M:Q4_K_M",
    "https://huggingface.co/nvidia/Qwen3.6-35B-A3B-NVFP4/tree/main",
    "models--ORG--M",
    "ORG//M",
  ])("says of `%s` what a stack file is told of it", async (name) => {
    const file = stackFile();
    const said = `${notAHubId(name)}\n`;
    for (const words of [["use"], ["use", "--write"], ["show"]])
      expect(await runServing(["models", ...words, name, "--file", file])).toEqual({
        code: 2,
        out: "",
        err: said,
      });
    expect(readFileSync(file, "utf8")).toBe(DEFAULT);
    expect(await runServing(["models", "add", name, "--config", "none.json"])).toEqual({
      code: 2,
      out: "",
      err: said,
    });
  });

  it.each(["gpt2", "org/m-GGUF:Q4_K_M", "/data/m"])("adds no model named %s", async (name) => {
    const { code, err } = await runServing(["models", "add", name, "--config", "none.json"]);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^\S+: expected a hub id such as org\/model, /),
    ]);
    expect(err.startsWith(`${name}: `)).toBe(true);
  });

  it("asks which server only where several have a model of that kind", async () => {
    const text = readFileSync("docs/examples/two-servers.yaml", "utf8");
    const file = stackFile(text);
    const asked = await runServing(["models", "use", "gpt-oss-20b", "--file", file]);
    expect([asked.code, asked.err]).toEqual([
      2,
      "Which server? Say --server b or --server small.\n",
    ]);
    const use = ["models", "use", "qwen3-reranker", "--file", file, "--write"];
    const { code, out } = await runServing(use);
    expect([code, out.split("\n").filter((line) => /^-(?!-)/.test(line))]).toEqual([0, []]);
    const servers = parseStackFile(file, readFileSync(file, "utf8")).machines.dgx?.inferenceServers;
    expect(Object.keys(servers ?? {})).toEqual(["b", "small", "rerank"]);
  });

  it("doesn't count against a model what is refused whatever the server holds", async () => {
    const shared = DEFAULT.replace("port: 8787", "port: 8080");
    const use = ["models", "use", "gemma-4-26b-a4b", "--file"];
    const taken = await runServing([...use, stackFile()]);
    expect(await runServing([...use, stackFile(shared)])).toEqual(taken);
    expect(taken.code).toBe(0);
    // That a share is too large is said of the model, though the one before had one, too.
    const large = ALONE.replace("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.85");
    const beside = large.replace(
      "instanceA: none",
      "instanceA:\n        gpuMemoryUtilization: 0.8",
    );
    const same = ["models", "use", "qwen3.6-35b-a3b", "--file", stackFile(beside)];
    expect((await runServing(same)).code).toBe(1);
  });

  it("refuses a model whose name another server on demand has, and lists the others", async () => {
    const text = `${ALONE.slice(0, ALONE.indexOf("      bridge:"))}`;
    const at = text.indexOf("        # Instance B");
    const block = text.slice(at).replace("        b:\n", "        c:\n");
    const second = block
      .replace("port: 8001", "port: 8002")
      .replace(/ id: .*/, " id: openai/gpt-oss-20b")
      .replace(/servedModelName: .*/, "servedModelName: gpt-oss-20b");
    const onDemand = "      onDemand: { program: { version: v250 } }\n";
    const both = `${text}${second}${onDemand}`.replaceAll(
      /( +)compileJobs: 2\n/g,
      "$1compileJobs: 2\n$1start: onRequest\n",
    );
    const file = stackFile(both);
    const use = ["models", "use", "gpt-oss-20b", "--server", "b", "--file", file];
    const { code, err } = await runServing(use);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("openai/gpt-oss-20b conflicts with the rest of"),
    ]);
    const list = await runServing(["models", "--server", "b", "--file", file]);
    expect([list.code, list.out]).toEqual([
      0,
      expect.stringMatching(/^Don't fit here: .*\bgpt-oss-20b\b/m),
    ]);
    expect(list.out).toMatch(/^gemma-4-26b-a4b +maybe/m);
  });

  it("refuses a model that doesn't fit, with the figures and what to do", async () => {
    const file = stackFile();
    const { code, err } = await runServing([
      "models",
      "use",
      "gpt-oss-120b",
      "--write",
      "--file",
      file,
    ]);
    expect(code).toBe(1);
    expect(err.trim()).toBe(
      "openai/gpt-oss-120b does not fit beside the other engines of this machine. It needs a share of at least 0.54, and 0.45 is left: 10.9 GiB too little. Instead take a smaller model (`serving models` lists what fits), or lower instance A to 0.36, where it is started and in `instanceA`, or run it alone (`instanceA: none`, and no other server).",
    );
    expect(readFileSync(file, "utf8")).toBe(DEFAULT);
  });

  it.each([
    [
      "instance A lowered as the refusal says",
      DEFAULT.replace(
        "gpuMemoryUtilization: 0.45\n        maxModelLen: 131072",
        "gpuMemoryUtilization: 0.36\n        maxModelLen: 131072",
      ),
    ],
    ["no instance A", ALONE],
  ])("takes the refused model with %s", async (_, text) => {
    const file = stackFile(text);
    expect(
      (await runServing(["models", "use", "gpt-oss-120b", "--write", "--file", file])).code,
    ).toBe(0);
    expect((await runServing(["plan", "--file", file])).code).toBe(0);
  });

  it("removes what belonged to the model before, whole blocks too, and keeps the rest", () => {
    const own = [
      "          speculative:\n            method: mtp\n            numSpeculativeTokens: 3\n",
      '          environment:\n            VLLM_MARLIN_USE_ATOMIC_ADD: "1"\n            HF_HUB_OFFLINE: "1"\n',
      "          reasoningParser: qwen3\n          kvCacheMemoryBytes: 4294967296\n          extraArgs: [--block-size=16]\n",
    ];
    const file = stackFile(
      DEFAULT.replace("          compileJobs: 2\n", `          compileJobs: 2\n${own.join("")}`),
    );
    const stack = readOneMachine(file);
    const recipe = readRecipe(process.cwd(), "openai/gpt-oss-20b");
    if (recipe === undefined) throw new Error("no recipe");
    const { after } = changeModel(stack, seatOf(stack, process.cwd()), recipe);
    const { b } = parse(after).config["local-serving:machines"].dgx.inferenceServers;
    expect(
      Object.keys(b).filter((key) =>
        ["speculative", "reasoningParser", "kvCacheMemoryBytes", "extraArgs"].includes(key),
      ),
    ).toEqual([]);
    expect(b.environment).toEqual({ HF_HUB_OFFLINE: "1" });
    expect([b.compileJobs, b.model.family, b.attentionBackend]).toEqual([
      2,
      "gpt-oss",
      "TRITON_ATTN",
    ]);
  });

  it("adds a server with another port and the image of the one that is there", async () => {
    const file = stackFile(
      ALONE.replace("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.4")
        .replace(/codex: \{\}/, "codex: { server: b }")
        .replace("via: bridge", "server: b\n          via: bridge")
        .replace("clientEnv: {}", "clientEnv: { server: b }"),
    );
    const { code, err } = await runServing([
      "models",
      "use",
      "gpt-oss-20b",
      "--server",
      "small",
      "--write",
      "--file",
      file,
    ]);
    expect([code, err]).toEqual([0, ""]);
    const { b, small } = parse(readFileSync(file, "utf8")).config["local-serving:machines"].dgx
      .inferenceServers;
    expect([small.port, small.image, small.versions]).toEqual([8002, b.image, b.versions]);
  });

  it("replaces the reasons that init wrote, keeps a person's comments, and leaves no empty map", async () => {
    const file = stackFile(
      ALONE.replace(
        /^( *)gpuMemoryUtilization: .*\n {10}maxModelLen/m,
        "$1# alone on the machine, published: somebody, in a text of\n$1# two lines (2026-01-01)\n$&",
      )
        .replace(/^( *)maxModelLen/m, "$1# Ours: as long as it gets.\n$&")
        .replace(/^( *)environment:.*\n/m, ""),
    );
    expect(readFileSync(file, "utf8")).toContain("# two lines (2026-01-01)\n");
    const { code, err } = await runServing([
      "models",
      "use",
      "gpt-oss-120b",
      "--write",
      "--file",
      file,
    ]);
    expect([code, err]).toEqual([0, ""]);
    const text = readFileSync(file, "utf8");
    expect(text).not.toMatch(/2026-01-01|environment: \{\}/);
    expect(text).toContain("          # Ours: as long as it gets.\n");
    expect(text).toContain(
      "          # 0.7: alone on the machine, published: spark-arena recipe-registry, #17 (2026-11-22)\n          gpuMemoryUtilization: 0.7\n",
    );
    expect(text).toMatch(
      /# published: spark-arena recipe-registry, #17 \(2026-11-22\): maxModelLen 131072, maxNumBatchedTokens 8192\n +maxModelLen: 131072\n/,
    );
  });

  it("gives a model of another kind a server of its own, which plans clean", async () => {
    const file = stackFile(ALONE);
    for (const name of ["qwen3-embedding-0.6b", "qwen3-reranker"]) {
      const { code, err } = await runServing(["models", "use", name, "--write", "--file", file]);
      expect([code, err]).toEqual([0, ""]);
    }
    const { b, embedding, rerank } = parse(readFileSync(file, "utf8")).config[
      "local-serving:machines"
    ].dgx.inferenceServers;
    expect(b.model.id).toBe("nvidia/Qwen3.6-35B-A3B-NVFP4");
    expect(embedding).toEqual({
      ...{ image: b.image, versions: b.versions, port: 8002, servedModelName: "qwen3-embedding" },
      model: { id: "Qwen/Qwen3-Embedding-0.6B", kind: "embedding", thinking: false },
      ...{ gpuMemoryUtilization: 0.15, maxModelLen: 32768, kvCacheDtype: "auto" },
    });
    expect(rerank).toMatchObject({ port: 8003, extraArgs: ["--hf-overrides", expect.any(String)] });
    const { code, err } = await runServing(["plan", "--file", file]);
    expect([code, err]).toEqual([0, ""]);
  });

  it("takes the variables of the model that leaves from the server that the new one gets", () => {
    const embedding = [
      "  embedding:",
      "    model: { id: nvidia/Qwen3.6-35B-A3B-NVFP4, kind: embedding }",
      "    servedModelName: vectors",
      "    image: vllm/vllm-openai:v0.30.0",
      "    port: 8002",
      "    gpuMemoryUtilization: 0.1",
      "    maxModelLen: 32768",
      '    environment: { VLLM_MARLIN_USE_ATOMIC_ADD: "1", MINE: "1" }',
    ];
    const withEmbedding = ALONE.replace(/^( *)inferenceServers:\n/m, (line, indent) =>
      [line.trimEnd(), ...embedding.map((each) => indent + each), ""].join("\n"),
    );
    const seat = seatOf(readOneMachine(stackFile(withEmbedding)), process.cwd());
    const [recipe] = readCatalogue(process.cwd()).filter(
      ({ id }) => id === "Qwen/Qwen3-Embedding-0.6B",
    );
    if (recipe === undefined) throw new Error("no such recipe");
    expect(seatFor(recipe, seat)).toMatchObject({
      server: "embedding",
      leaves: ["VLLM_MARLIN_USE_ATOMIC_ADD"],
    });
  });

  const stacks = { beside: DEFAULT, alone: ALONE };
  it.each(Object.entries(stacks))("writes what was planned, %s", (_, text) => {
    const stack = readOneMachine(stackFile(text));
    const seat = seatOf(stack, process.cwd());
    const fitting = readCatalogue(process.cwd()).filter(
      (recipe) => seatFor(recipe, seat) === seat && fitModel(recipe, seat).verdict !== "no",
    );
    expect(fitting.length).toBeGreaterThan(12);
    for (const recipe of fitting) {
      const { after, fit } = changeModel(stack, seat, recipe);
      expect(parseStackFile("after", after), recipe.id).toEqual(withModel(seat, fit.values));
    }
  });
});

describe("serving models add", () => {
  it("makes a folder with gaps, which reads well, and overwrites nothing", async () => {
    const project = temporaryFolder("models-add-");
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
    writeFileSync(join(project, "Pulumi.dgx.yaml"), DEFAULT);
    mkdirSync(join(project, "models"));
    const config = join(process.cwd(), "models/openai--gpt-oss-20b/config.json");
    const here = vi.spyOn(process, "cwd").mockReturnValue(project);
    try {
      const add = ["models", "add", "org/new", "--config", config];
      expect((await runServing(add)).code).toBe(0);
      const folder = join(project, "models/org--new");
      expect(readRecipe(project, "org/new")).toMatchObject({
        id: "org/new",
        family: "gpt-oss",
        share: {},
      });
      expect(existsSync(join(folder, "config.json"))).toBe(true);
      const snapshot = join(project, ".cache/huggingface/hub/models--org--cached/snapshots/abc");
      mkdirSync(snapshot, { recursive: true });
      writeFileSync(join(snapshot, "config.json"), readFileSync(config));
      vi.stubEnv("HOME", project);
      expect((await runServing(["models", "add", "org/cached", "--from-cache"])).code).toBe(0);
      expect(readRecipe(project, "org/cached")).toMatchObject({
        family: "gpt-oss",
        config: { from: "model", source: "the model cache" },
      });
      const absent = await runServing(["models", "add", "org/absent", "--from-cache"]);
      expect([absent.code, absent.err]).toEqual([
        2,
        expect.stringContaining(
          "has no config.json of org/absent: download the model first, or give --config FILE.",
        ),
      ]);
      const used = await runServing(["models", "use", "org/new"]);
      expect([used.code, used.err]).toEqual([
        1,
        expect.stringContaining("Its recipe names no share yet: write `share.alone`."),
      ]);
      const again = await runServing(add);
      expect([again.code, again.err]).toEqual([
        2,
        expect.stringContaining("has both files already"),
      ]);
      expect((await runServing(["models", "add", "org/other"])).err).toContain(
        "--config FILE, or --from-cache",
      );
    } finally {
      here.mockRestore();
      vi.unstubAllEnvs();
    }
  });
});
