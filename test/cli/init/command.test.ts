import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { choose } from "../../../cli/init/choose";
import * as pinnedImages from "../../../cli/init/pinnedImages";
import { atTerminal } from "../../../cli/init/questions";
import { hostFacts } from "../../../cli/sees/computer/facts";
import { commented, commentedYaml } from "../../../cli/stackEdit/commentedYaml";
import { SERVICES } from "../../../components/services/registry";
import { pinnedServer } from "../../../components/supply/pinned";
import { atKeyboard } from "../../layers/keyboard";
import { run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";
import { madeFacts } from "./madeFacts";
import { servingOnPath } from "./servingOnPath";

const ROOT = process.cwd();
let facts = "";
const shell = servingOnPath();
let project = "";

beforeAll(async () => {
  facts = await madeFacts();
});

beforeEach(() => {
  project = temporaryFolder("init-project-");
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  symlinkSync(join(ROOT, "models"), join(project, "models"));
});

/** Runs the command line in the made project. */
async function serving(...args: string[]) {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
  try {
    return await runServing(args, shell);
  } finally {
    cwd.mockRestore();
  }
}

const file = (name: string) => join(project, `Pulumi.${name}.yaml`);

describe("serving init", () => {
  it("reads another kind of file that --from names, as --from-command does", async () => {
    const compose = join(project, "compose.yaml");
    writeFileSync(
      compose,
      `services:\n  llm:\n    image: vllm/vllm-openai:v0.30.0\n    command: --model \${MODEL:-a/b} --max-model-len 4096\n`,
    );
    writeFileSync(join(project, ".env"), "MODEL=openai/gpt-oss-20b\n");
    const name = ["--yes", "--name", "spark"];
    const both = await serving("init", "--from", facts, "--from-command", compose, ...name);
    expect(both.out).toContain("It is read as a compose file: server B is the service `llm`.");
    expect(both.out).toContain("Found on spark-7f3a:");
    expect(readFileSync(file("spark"), "utf8")).toContain("id: openai/gpt-oss-20b");
    // Each text is one of facts or one of a server, and one of each is enough.
    expect(await serving("init", "--from", compose, "--from-command", "vllm serve a/b")).toEqual({
      code: 2,
      out: "",
      err: `--from: ${compose} holds no facts of a machine, as \`serving init --facts\` prints them. Give only one of the two files.\n`,
    });
    // The machine here is looked at, and a server of it is made or refused for that machine.
    const alone = await serving("init", "--from", compose, "--yes", "--name", "alone");
    expect(`${alone.out}${alone.err}`).toMatch(/It is read as a compose file|no server B/);
  });

  it("writes the stack file once, and ends with the next commands in order", async () => {
    const { code, out, err } = await serving("init", "--from", facts, "--yes", "--name", "spark");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`${file("spark")} is written: each value has its reason above it.`);
    expect(out.split("Next:\n")[1]?.trimEnd().split("\n")).toEqual([
      "  serving plan",
      "  serving up",
    ]);
    expect(await serving("plan", "--stack", "spark")).toMatchObject({ code: 0, err: "" });
    const text = readFileSync(file("spark"), "utf8");
    const again = await serving("init", "--from", facts, "--yes", "--name", "spark");
    expect(again).toMatchObject({ code: 2, out: "" });
    expect(again.err).toMatch(
      /Pulumi\.spark\.yaml is there already and stays as it is\. Edit it: `serving init --from-command COMMAND` adds a server to it\. Or move it away and run `serving init` again\. If it is of another machine, add `--name NAME`\.\n$/,
    );
    expect(readFileSync(file("spark"), "utf8")).toBe(text);
    // It is shared by git, as the other files of the project.
    expect(statSync(file("spark")).mode & 0o777).toBe(0o644);
    renameSync(file("spark"), join(project, "old.yaml"));
    expect(await serving("init", "--from", facts, "--yes", "--name", "spark")).toMatchObject({
      code: 0,
    });
    expect(readFileSync(file("spark"), "utf8")).toBe(text);
  });

  it("says how to call the program where `serving` is not on the PATH", async () => {
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
    const args = ["init", "--from", facts, "--yes", "--name", "spark"];
    const { code, out } = await runServing(args, { PATH: "/usr/bin:/bin" });
    cwd.mockRestore();
    expect(code).toBe(0);
    expect(out.split("Next:\n")[1]).toBe(
      '  npx --no -- serving plan\n  npx --no -- serving up\n\nTo type `serving` alone, once:\n  mkdir -p ~/.local/bin && ln -s "$PWD/node_modules/.bin/serving" ~/.local/bin/\n',
    );
  });

  it("takes the stack of the variable, else names it as the machine is named", async () => {
    const { code, out } = await serving("init", "--from", facts, "--yes", "--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      file: file("spark-7f3a"),
      model: "nvidia/Qwen3.6-35B-A3B-NVFP4",
      mend: [],
      refused: [],
      made: [],
    });
    vi.spyOn(process, "cwd").mockReturnValue(project);
    await runServing(["init", "--from", facts, "--yes"], { LOCAL_SERVING_STACK: "other" });
    vi.restoreAllMocks();
    expect(existsSync(file("other"))).toBe(true);
  });

  it("beside a clone's sample needs no name of the stack in what comes next", async () => {
    writeFileSync(file("dgx"), readFileSync(join(ROOT, "Pulumi.dgx.yaml")));
    const { code, out } = await serving("init", "--from", facts, "--yes", "--name", "spark");
    expect([code, out.split("Next:\n")[1]?.split("\n")[0]]).toEqual([0, "  serving plan"]);
    const planned = await serving("plan");
    expect([planned.code, planned.err]).toEqual([0, ""]);
    expect(planned.out).toContain(" of spark's ");
  });

  it.each(["", "# nothing yet\n", "encryptionsalt: v1:abc\n", "config: {}\n"])(
    "completes a stack file that declares nothing: %j",
    async (before) => {
      writeFileSync(file("spark"), before);
      const planned = await serving("plan", "--stack", "spark");
      expect(planned).toMatchObject({ code: 1, out: "" });
      expect(planned.err).toContain(
        "Nothing is declared yet. `serving init --name spark` looks at this machine and writes it down here.",
      );
      expect(await serving("init", "--from", facts, "--yes", "--name", "spark")).toMatchObject({
        code: 0,
      });
      expect(await serving("plan", "--stack", "spark")).toMatchObject({ code: 0 });
      const kept = before.startsWith("encryptionsalt") ? before : "";
      expect(readFileSync(file("spark"), "utf8").endsWith(kept)).toBe(true);
    },
  );

  it("names itself where a stack has no file, and refuses a name that can't be one", async () => {
    expect((await serving("plan", "--stack", "spark")).err).toContain(
      "Stacks there: none. `serving init --name spark` writes one for this machine.",
    );
    expect(await serving("init", "--name", "../x", "--yes")).toMatchObject({ code: 2 });
    expect(readdirSync(project).sort()).toEqual(["Pulumi.yaml", "models"]);
  });

  it("says every fault of facts that somebody edited, and what isn't JSON", async () => {
    const broken = join(project, "facts.json");
    const { memory, ...rest } = JSON.parse(readFileSync(facts, "utf8")) as Record<string, unknown>;
    writeFileSync(broken, JSON.stringify({ ...rest, memory: { totalGiB: "121" }, extra: 1 }));
    const { code, err } = await serving("init", "--from", broken, "--yes", "--name", "spark");
    expect(code).toBe(1);
    expect(err).toMatch(/facts\.json: 3 faults/);
    expect(err).not.toContain("    at ");
    writeFileSync(broken, "{");
    expect(await serving("init", "--from", broken, "--name", "spark")).toMatchObject({ code: 2 });
    expect(memory).toBeDefined();
    expect(existsSync(file("spark"))).toBe(false);
  });

  it("pins the images of Pulumi.dgx.yaml", () => {
    const text = readFileSync(join(ROOT, "Pulumi.dgx.yaml"), "utf8");
    const images = SERVICES.flatMap(
      ({ proposed }) => proposed?.({ freePort: (from) => from }).block.image ?? [],
    );
    expect(images).toHaveLength(2);
    const { image, versions } = pinnedServer();
    for (const value of [image, ...images, ...Object.values(versions)])
      expect(text).toContain(`: ${value}\n`);
  });
});

describe("serving init --from-command", () => {
  const MADE = ["init", "--from", "", "--yes", "--name", "spark", "--from-command"];
  const init = (command: string, ...more: string[]) =>
    serving(...MADE.map((word) => word || facts), command, ...more);

  it("says what became of the command, and ends with the next commands", async () => {
    const { code, out, err } = await init(
      "docker run -d --gpus all -p 8000:8000 -e HF_TOKEN vllm/vllm-openai:v0.27.1 nvidia/Qwen3.6-35B-A3B-NVFP4 --gpu-memory-utilization 0.4 --max-model-len 262144 --max-num-seqs 4 --reasoning-parser qwen3 --enable-auto-tool-choice --tool-call-parser qwen3_coder",
    );
    expect({ code, err }).toEqual({ code: 1, err: "" });
    const [, said] = out.split("above it.\n");
    expect(said).toBe(`
Not carried over from the command:
  - --detach: Pulumi starts the container, and Docker keeps it running.
  - -p 8000:8000 for other computers: the server answers on this machine alone; other computers reach the bridge, with a key.

Set for every server here: --gpus.

Not in the command, or different from it:
  - \`serving up\` reads the Hugging Face token from HF_TOKEN of your shell.

Fix first:
  - vllm/vllm-openai:v0.27.1 is kept as the command has it, and a tag can move: \`serving pin vllm/vllm-openai:v0.27.1 --write\` pins it, and reads the versions inside.

But b may not start: one published log, of this model (nvidia/Qwen3.6-35B-A3B-NVFP4), took 29.93 GiB beside its weights; then no window is left.

Next:
  serving plan
  export HF_TOKEN=...
  serving up
`);
    expect(await serving("plan", "--stack", "spark")).toMatchObject({ code: 1, err: "" });
  });

  it("names the stack in what to fix and in what comes next, beside another stack", async () => {
    writeFileSync(file("lab"), "config: {}\n");
    const { code, out } = await init("docker run vllm/vllm-openai:v0.27.1 openai/gpt-oss-20b");
    expect(code).toBe(1);
    expect(out).toContain("`serving pin vllm/vllm-openai:v0.27.1 --write --stack spark` pins it");
    expect(out.split("Next:\n")[1]).toBe(
      "  serving plan --stack spark\n  serving up --stack spark\n",
    );
  });

  it("says what `up` needs of the shell, as the plan does, as far as the shell lacks it", async () => {
    const command = "docker run -e HF_TOKEN=$MY_TOKEN vllm/vllm-openai:v0.30.0 openai/gpt-oss-20b";
    expect((await init(command)).out).toContain("\n  export MY_TOKEN=...\n  serving up\n");
    expect((await serving("plan")).out).toContain("\n  needs     export MY_TOKEN=...\n");
    vi.stubEnv("MY_TOKEN", "hf_made");
    const planned = await serving("plan");
    vi.unstubAllEnvs();
    expect(planned.out).toContain("  first up  ");
    expect(planned.out).not.toMatch(/needs {2}|export/);
  });

  it("fails of nothing that `up` mends, which the plan says as well", async () => {
    const image = "ghcr.io/me/vllm:1.0";
    const digests = new Map([[image, `sha256:${"a".repeat(64)}`]]);
    const asked = vi.spyOn(pinnedImages, "digestsOf").mockResolvedValue(digests);
    const { code, out } = await init(
      `docker run --gpus all ${image} vllm serve openai/gpt-oss-20b --gpu-memory-utilization 0.4 --max-model-len 131072`,
    );
    asked.mockRestore();
    expect(code).toBe(0);
    expect(out).not.toContain("Fix first");
    expect(out.split("Next:\n")[1]).toBe("  serving up\n");
    const planned = await serving("plan", "--stack", "spark");
    expect(planned.code).toBe(1);
    expect(planned.out).toContain("as `serving up` at a terminal does first.");
  });

  it("reads a command from stdin", async () => {
    const stdin = vi.spyOn(process, "stdin", "get");
    stdin.mockReturnValue(Readable.from(["vllm serve a/b\n"]) as typeof process.stdin);
    try {
      const { code, out } = await init("-", "--format", "json");
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({
        model: "a/b",
        command: { leftOut: [], setHere: [] },
        mend: [],
      });
    } finally {
      stdin.mockRestore();
    }
  });

  it("writes nothing of a command that it refuses", async () => {
    expect(await init("ollama run qwen3")).toEqual({
      code: 2,
      out: "",
      err: "--from-command: It starts Ollama, not vLLM. Ollama belongs in `simpleServer`.\n",
    });
    expect(readdirSync(project).sort()).toEqual(["Pulumi.yaml", "models"]);
  });

  it.each([
    [{ reachable: true }, ["gpuRuntime: This key is required", "ours: This key is required"]],
    [{ reachable: false }, ["reason: This key is required"]],
    [{ gpuRuntime: true }, ["reachable: Expected `reachable: true` or `reachable: false`."]],
  ])("names what a file of facts lacks of Docker: %o", async (docker, missing) => {
    const here = join(project, "here.json");
    const read = JSON.parse(readFileSync(facts, "utf8")) as Record<string, unknown>;
    writeFileSync(here, JSON.stringify({ ...read, docker }));
    const { code, out, err } = await serving("init", "--yes", "--name", "spark", "--from", here);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(new RegExp(`^${here}: ${missing.length} faults?\n`));
    for (const each of missing) expect(err).toContain(`docker.${each}`);
  });

  it("writes nothing on a machine without a GPU, and a file from the facts of another", async () => {
    const here = join(project, "here.json");
    const read = JSON.parse(readFileSync(facts, "utf8")) as Record<string, unknown>;
    writeFileSync(here, JSON.stringify({ ...read, gpus: [], device: "none" }));
    const line = ["init", "--yes", "--name", "spark", "--from-command", "vllm serve a/b"];
    const { code, out, err } = await serving(...line, "--from", here);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(
      /^--from-command: .*there is no server B.* Nothing was written\. If another machine/,
    );
    expect(existsSync(file("spark"))).toBe(false);
    expect(await serving(...line, "--from", facts)).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(file("spark"), "utf8")).toMatch(/\bid: a\/b\b/);
  });

  it("leaves no reason of the command behind when another model is chosen", async () => {
    const command = "vllm serve a/b --gpu-memory-utilization 0.4 --seed 3";
    expect(await init(command)).toMatchObject({ code: 0 });
    expect(readFileSync(file("spark"), "utf8")).toMatch(/# by the command .*# not in the command/s);
    const used = await serving("models", "use", "gpt-oss-20b", "--stack", "spark", "--write");
    expect(used).toMatchObject({ code: 0, err: "" });
    const text = readFileSync(file("spark"), "utf8");
    expect(text).not.toMatch(/by the command|not in the command|--seed/);
  });
});

describe("init on this very machine", () => {
  it("reads it, prints what it saw, and writes a file that plans", async () => {
    const before = JSON.stringify(statSync(project).mode);
    const serve = (...args: string[]) =>
      run("node", [join(ROOT, "bundle/serving.cjs"), ...args], { cwd: project });
    const printed = await serve("init", "--facts");
    expect(printed.code).toBe(0);
    expect(hostFacts.safeParse(JSON.parse(printed.stdout)).success).toBe(true);
    const made = await serve("init", "--yes", "--name", "here", "--format", "json");
    // What this machine lacks is to be mended first, and said by the exit code.
    expect(made.code).toBe((JSON.parse(made.stdout) as { mend: string[] }).mend.length > 0 ? 1 : 0);
    expect((await serve("plan", "--stack", "here")).code).toBe(0);
    expect(JSON.stringify(statSync(project).mode)).toBe(before);
  });
});

describe("the questions at a terminal", () => {
  it("are not answered where Ctrl-C or Ctrl-D came between two of them", async () => {
    const asking = atKeyboard(["3"], () =>
      atTerminal(async (ask) => {
        expect(await ask("first?")).toBe("3");
        // What is typed while nothing is asked may close the terminal.
        await setTimeout(50);
        return ask("second?");
      }),
    );
    await expect(asking).rejects.toThrow("Nothing was written: the questions were not answered.");
  });

  const answered = async (...answers: string[]) => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answers[asked.length - 1] ?? "";
    };
    const read = hostFacts.parse(JSON.parse(readFileSync(facts, "utf8")));
    return { asked, ...(await choose(read, { name: "spark", project: ROOT }, { ask })) };
  };

  it("offer the models that fit, the network and the clients", async () => {
    const { asked, model, text } = await answered(
      "99",
      "1",
      "perhaps",
      "y",
      "spark.local",
      "MY_EMAIL MY_PASSWORD",
      "codex, pi",
    );
    const [title, heads, first] = asked[0]?.split("\n") ?? [];
    expect(title).toBe("Models that fit beside what runs here:");
    expect(heads).toMatch(
      /^ {5}model +tokens\/s +with drafts +agents +download +window +share +hub id$/,
    );
    expect(first).toMatch(
      /^ {2}1 {2}qwen3\.6-35b-a3b +not known +97\.7 +8 +22 GB +262,144 +0\.5 +nvidia\/Qwen3\.6-35B-A3B-NVFP4$/,
    );
    expect(asked[0]).toMatch(/\n {5}\d+ more may not start: `serving models` /);
    expect(asked[0]).not.toContain("MAY NOT START");
    expect(asked[1]).toBe("`99` is no answer to this. Which one shall server B serve? [1]");
    expect(asked.slice(2)).toEqual([
      "Shall other computers on the local network use it, with a key? [y/N]",
      "`perhaps` is no answer to this. Shall other computers on the local network use it, with a key? [y/N]",
      "By which name do they reach it? [spark-7f3a.local]",
      "Which variables of your shell hold the chat UI administrator's email and password? (names; `none`: the first who signs up) [LOCAL_SERVING_CHAT_EMAIL LOCAL_SERVING_CHAT_PASSWORD]",
      expect.stringMatching(
        /^Which clients get files \(claudeCode, codex, .*\)\? \[claudeCode codex clientEnv\]$/,
      ),
    ]);
    expect(text).toContain(
      "        host: spark.local\n        codex: { via: bridge }\n        pi: { via: bridge }\n",
    );
    expect(model).toBe("nvidia/Qwen3.6-35B-A3B-NVFP4");
    expect(text).toContain("keyVariable: LOCAL_SERVING_BRIDGE_KEY\n");
    expect(text).toMatch(
      /administrator:\s*\{?\s*emailVariable: MY_EMAIL,?\s+passwordVariable: MY_PASSWORD/,
    );
  });

  it("offer no client that the command's server can't have, and what is said then can be written", async () => {
    const asked: string[] = [];
    const answers = ["n", "claudeCode codex", "clientEnv"];
    const { text, mend, told } = await choose(
      hostFacts.parse(JSON.parse(readFileSync(facts, "utf8"))),
      { name: "spark", project: ROOT },
      {
        ask: async (question) => answers[asked.push(question) - 1] ?? "",
        command: { text: "vllm serve openai/gpt-oss-20b --gpu-memory-utilization 0.4" },
      },
    );
    const coding = "claudeCode, codex, opencode, pi, qwenCode, crush";
    const why = "needs structured tool calls, which the command leaves off";
    const question = "Which clients get files (clientEnv)? [clientEnv]";
    expect(asked.slice(1)).toEqual([
      `${coding}: each ${why}, so it gets no file.\n${question}`,
      `claudeCode ${why}. ${question}`,
    ]);
    expect(mend).toEqual([]);
    expect(told?.chosen.filter((each) => each.includes("clients"))).toEqual([
      "Claude Code and Codex need structured tool calls, which the command leaves off, so no coding client gets a file. To have them, write `tools: { parser: openai }` in place of `tools: { autoChoice: false }` (openai is this model's parser), and add `claudeCode: {}` and `codex: {}` to `clients`.",
    ]);
    const written = text
      .replace("tools: { autoChoice: false }", "tools: { parser: openai }")
      .replace("clients:\n", "clients:\n        claudeCode: {}\n        codex: {}\n");
    writeFileSync(file("spark"), written);
    expect(await serving("plan", "--stack", "spark")).toMatchObject({ code: 0, err: "" });
    expect(written.match(/claudeCode/g)).toHaveLength(1);
  });

  it("asks again for a client whose answers are longer than the command's window", async () => {
    const asked: string[] = [];
    const answers = ["n", "claudeCode codex", "codex"];
    const { text } = await choose(
      hostFacts.parse(JSON.parse(readFileSync(facts, "utf8"))),
      { name: "spark", project: ROOT },
      {
        ask: async (question) => answers[asked.push(question) - 1] ?? "",
        command: {
          text: "vllm serve openai/gpt-oss-20b --max-model-len 16384 --enable-auto-tool-choice --tool-call-parser openai",
        },
      },
    );
    expect(asked[2]).toMatch(
      /^claudeCode needs a longer window than 16384 tokens for its answers\. Which clients get files \(codex, /,
    );
    expect(text).toContain("codex: {");
    expect(text).not.toContain("claudeCode");
  });

  it("leave columns out where the terminal is narrower than the table", async () => {
    vi.stubEnv("COLUMNS", "80");
    const { asked } = await answered("1", "n", "");
    vi.unstubAllEnvs();
    const [, heads = "", ...rows] = asked[0]?.split("\n") ?? [];
    expect(heads.trim().split(/ {2,}/)).toEqual([
      "model",
      "tokens/s",
      "with drafts",
      "agents",
      "download",
    ]);
    expect(Math.max(...[heads, ...rows].map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  it("take a model by a part of its name that only one has", async () => {
    const { model } = await answered("nemotron-3-super", "n", "");
    expect(model).toBe("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4");
  });

  it("list what a part of a name may be, and ask again", async () => {
    const { asked, model } = await answered("gpt-oss", "gpt-oss-20b", "n", "");
    const [first = "", second = ""] = asked;
    expect(first).not.toContain("gpt-oss");
    expect(second).toMatch(
      /^`gpt-oss` may be:\n(?: {2}openai\/gpt-oss-\d+b\n){2}Which one shall server B serve\? \[1\]$/,
    );
    expect(model).toBe("openai/gpt-oss-20b");
  });

  it("leave server B out where that is wanted", async () => {
    const { model, text, mend } = await answered("0");
    expect({ model, mend }).toEqual({ model: null, mend: [] });
    expect(text).not.toMatch(/inferenceServers|bridge:|clients:/);
  });
});

describe("commented YAML", () => {
  it("puts each comment above its key, and lets no text end one", () => {
    const text = commentedYaml(
      { a: 1, b: { c: "x: y", d: undefined }, e: { f: { g: [1, "two"] } } },
      new Map([
        ["a", "first\nsecond: 3"],
        ["b.c", "inside"],
        ["e.f", "deep"],
      ]),
    );
    expect(text).toBe(
      '# first second: 3\na: 1\n# inside\nb: { c: "x: y" }\ne:\n  # deep\n  f: { g: [ 1, two ] }\n',
    );
  });

  it("wraps a comment and indents the lines of an item", () => {
    const lines = commented(`${"word ".repeat(40)}end`, "  ", "- ").split("\n");
    expect(lines[0]).toMatch(/^ {2}# - word/);
    expect(lines[1]).toMatch(/^ {2}# {3}word/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(121);
  });
});
