import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { keepPassed } from "../../../cli/verify/lastVerify";
import { readFolders } from "../../../components/evidence/readFolders";
import { readModels } from "../../../components/evidence/readModels";
import { plan } from "../../../components/plan/plan";
import { loadStackFile } from "../../../components/settings/load";
import { DIGEST } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";

const STACK = readFileSync("Pulumi.dgx.yaml", "utf8");
const WINDOW = "maxModelLen: 262144";
const SHORTER = STACK.replace(WINDOW, "maxModelLen: 131072");

let home = "";
let file = "";
beforeEach(() => {
  home = temporaryFolder("against-");
  file = join(home, "Pulumi.dgx.yaml");
  writeFileSync(file, SHORTER);
});
/** An engine that has no containers, whatever runs beside this test. */
const emptyDocker = new FakeDocker({ "ps --all": { out: "" } });

const env = () => ({
  HOME: home,
  XDG_STATE_HOME: join(home, "state"),
  NO_COLOR: "1",
  ...emptyDocker.env,
});
const serving = (...args: string[]) => runServing(["plan", "--file", file, ...args], env());
const WINDOW_LINE = "  `machines.dgx.inferenceServers.b.maxModelLen` (line 39): 262144 -> 131072";

/** Lays the plan of a stack file's text where `up` leaves it. */
function apply(text: string) {
  const applied = join(home, "applied.yaml");
  writeFileSync(applied, text);
  const settings = loadStackFile(applied);
  const models = readModels(settings, process.cwd(), home);
  const { machines } = plan(settings, { home, models, ...readFolders(settings, home) });
  const record = machines[0]?.files.find(({ role }) => role === "applied-plan");
  if (record === undefined) throw new Error("no record");
  mkdirSync(dirname(record.path), { recursive: true });
  writeFileSync(record.path, record.text);
  return record.path;
}

const AGAINST_APPLIED =
  "This compares with what was applied; `serving status --against applied` looks at the machine itself.";

describe("a plan against a stack file or a commit", () => {
  it("names the setting with its line, for a file", async () => {
    writeFileSync(join(home, "old.yaml"), STACK);
    const { code, out, err } = await serving("--against", join(home, "old.yaml"));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.split("\n")).toContain(WINDOW_LINE);
    expect(out).not.toContain("docker run");
  });

  it("and the same for a commit, whatever lies in the folder", async () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", home, "-c", "user.name=x", "-c", "user.email=x@x", ...args], {
        stdio: "ignore",
      });
    git("init");
    writeFileSync(file, STACK);
    git("add", file);
    git("commit", "-m", "first");
    writeFileSync(file, SHORTER);
    const { code, out } = await serving("--against", "HEAD");
    expect(code).toBe(0);
    expect(out.split("\n")).toContain(WINDOW_LINE);
    const named = async (source: string) =>
      (await serving("--against", source)).out.split("\n", 1)[0];
    const short = (commit: string) =>
      execFileSync("git", ["-C", home, "rev-parse", "--short", commit], {
        encoding: "utf8",
      }).trim();
    const title = (base: string, head: string) => `Pulumi.dgx.yaml: base ${base} -> head ${head}`;
    expect(await named("HEAD")).toBe(title(short("HEAD"), "not committed yet"));
    git("checkout", "-b", "change");
    git("commit", "-am", "second");
    expect(await named("HEAD^")).toBe(title(short("HEAD^"), short("HEAD")));
    // A pull request is checked out as a merge that nobody has seen.
    git("checkout", "-");
    git("merge", "--no-ff", "change");
    expect(await named("HEAD^1")).toBe(title(short("HEAD^1"), short("change")));
  });

  it.each([
    [
      "is neither",
      "no-such",
      /^--against no-such: no such file, and git has nothing of that name \(fatal: .*\)\. Write `applied`, `verified`, a stack file such as old\.yaml, or a commit such as HEAD~1\.\n$/,
    ],
    ["begins with a dash", "--output=/tmp/x", /Write `applied`/],
    [
      "has faults",
      "FAULTY",
      /^--against \S+: this version can't read it, so nothing is compared\.\n\S+: 1 fault\n/,
    ],
    [
      "is no YAML",
      "BROKEN",
      /^--against \S+: this version can't read it, so nothing is compared\.\n\S+: .*not valid YAML/,
    ],
  ])("is refused where it %s, with what to write", async (_, source, words) => {
    writeFileSync(join(home, "FAULTY"), STACK.replace("totalGiB", "totalGB"));
    writeFileSync(join(home, "BROKEN"), "config: {");
    const given = /^[A-Z]/.test(source) ? join(home, source) : source;
    const { code, out, err } = await serving(`--against=${given}`);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(words);
  });
});

describe("a plan against what was applied", () => {
  it("names the adapter whose files have changed since, and what its server's going means", async () => {
    const folder = join(home, "tone");
    mkdirSync(folder);
    const train = (alpha: number) =>
      writeFileSync(
        join(folder, "adapter_config.json"),
        JSON.stringify({
          ...{ r: 8, lora_alpha: alpha, target_modules: ["q_proj"] },
          base_model_name_or_path: "nvidia/Qwen3.6-35B-A3B-NVFP4",
        }),
      );
    writeFileSync(join(folder, "adapter_model.safetensors"), "weights");
    train(16);
    const text = STACK.replace(
      "          port: 8001",
      `          adapters: [{name: tone, path: ${folder}}]\n          port: 8001`,
    );
    writeFileSync(file, text);
    apply(text);
    expect((await serving("--against", "applied")).out).toContain(
      "Nothing is replaced or written.",
    );
    train(32);
    const { code, out } = await serving("--against", "applied");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^ {2}b \(vllm-qwen3\.6-35b-a3b-8001\) is replaced: `files in the folder of the adapter tone` [0-9a-f]{12} -> [0-9a-f]{12}\.$/m,
    );
    expect(out).toContain("  Not touched: bridge, chat-ui.\n");
    expect(out).toContain("b (qwen3.6-35b-a3b, nvidia/Qwen3.6-35B-A3B-NVFP4, tone) is gone for");
  });

  it("is refused before the first `up`", async () => {
    // The machine that runs the tests may have a container of this name.
    const noContainers = new FakeDocker({ "ps --all": { out: "" } }).env;
    const { code, err } = await runServing(["plan", "--file", file, "--against", "applied"], {
      ...noContainers,
      HOME: home,
    });
    expect([code, err]).toEqual([2, "Nothing is applied yet: run `serving up`.\n"]);
  });

  it("changes nothing behind an `up` of the same file, and says so", async () => {
    apply(SHORTER);
    const { code, out } = await serving("--against", "applied");
    expect(code).toBe(0);
    expect(out).toContain("  dgx: clients lose nothing.\n");
    expect(out).toContain(
      `What changes on dgx\n  Nothing is replaced or written.\n  Not touched: b, bridge, chat-ui.\n  ${AGAINST_APPLIED}\n`,
    );
    expect(out).not.toContain("Findings\n");
  });

  it("names the arguments that differ, since the settings aren't known, and finds no warning new", async () => {
    apply(STACK);
    const { out } = await serving("--against", "applied");
    expect(out).toContain(
      "  b (vllm-qwen3.6-35b-a3b-8001) is replaced: `--max-model-len` 262144 -> 131072.\n",
    );
    expect(out).not.toContain("Changed settings");
    expect(out).not.toContain("Findings\n");
  });

  it("stands in a plan in few lines, where there is one", async () => {
    expect((await serving()).out).toContain("\n  first up  downloads ");
    apply(STACK);
    const { out } = await serving();
    expect(out).not.toContain("first up");
    const at = out.split("\n").findIndex((line) => line.startsWith("  up "));
    expect(out.split("\n").slice(at, at + 3)).toEqual([
      expect.stringMatching(/^ {2}up {6}replaces b; changes 2 files; downloads /),
      "          b is gone for 4 to 25 min.",
      "          The window of b shrinks from 262144 to 131072 tokens: longer prompts are refused.",
    ]);
    expect((await serving("--full")).out).not.toContain("replaces b");
  });

  it("is not known of a record that is none, and that is said with its path", async () => {
    const path = apply(STACK);
    writeFileSync(path, '{ "machine": { "name": "dgx" } }');
    const { code, err } = await serving("--against", "applied");
    expect(code).toBe(2);
    expect(err).toContain(
      `--against applied: ${path} holds no plan that can be read. machine.dockerHost: `,
    );
    const { code: summary, out } = await serving();
    expect(summary).toBe(0);
    expect(out).toContain(`\n  up      ${path} holds no plan that can be read. `);
    expect(out).not.toContain("first up");
  });

  it("is refused where a newer version wrote it, with what to do", async () => {
    const path = apply(STACK);
    writeFileSync(path, '{ "version": 2, "machine": {} }');
    const { code, err } = await serving("--against", "applied");
    expect({ code, err }).toEqual({
      code: 2,
      err: `--against applied: ${path} was written by a newer local-serving (plan version 2); this one reads up to version 1: update local-serving, or run \`serving up\`, which goes back to this version and writes the plan again.\n`,
    });
  });
});

describe("a plan against what was verified", () => {
  const env = () => ({ HOME: home, XDG_STATE_HOME: join(home, "state") });

  it("is refused until a verify passed as a whole", async () => {
    apply(STACK);
    expect(await serving("--against", "verified")).toMatchObject({
      code: 2,
      err: "--against verified: no `serving verify` of Pulumi.dgx.yaml has passed as a whole yet. Run it: it keeps the file that passes.\n",
    });
  });

  it("ends with the way back: a command that makes the file what it was", async () => {
    keepPassed(file, STACK, env());
    const { out } = await serving("--against", "verified");
    expect(out.split("\n")).toContain(WINDOW_LINE);
    const [, back = "", update] = /The way back\n {2}`(cp .*) && (.*)`\n/.exec(out) ?? [];
    expect(update).toBe("serving up");
    expect(out).toMatch(
      /The way back\n.*\n {2}dgx: b \(.*\) is gone for 14 to 25 min, or 4 to 10 min if .*\n {2}dgx: not touched: bridge, chat-ui\.\n {2}dgx: memory fits: 4\.67 /,
    );
    execFileSync("sh", ["-c", back]);
    expect(readFileSync(file, "utf8")).toBe(STACK);
    const after = await serving("--against", "verified");
    expect(after.out).toContain("Changed settings\n  None.\n");
    expect(after.out).not.toContain("The way back");
  });

  it("names the stack where it is not the usual one", async () => {
    const other = join(home, "Pulumi.spark.yaml");
    cpSync(file, other);
    keepPassed(other, STACK, env());
    const { out } = await runServing(["plan", "--file", other, "--against", "verified"], env());
    expect(out).toMatch(
      /`cp \S+verified-[0-9a-f]{12}\.yaml \S+Pulumi\.spark\.yaml && serving up --stack spark`/,
    );
  });
});

describe("a plan with another vLLM", () => {
  const NEWER = STACK.replace(/vllm-openai:v0\.30\.0@\S+/, `vllm-openai:v0.33.0@${DIGEST}`);
  const TITLE = "What vLLM 0.33.0 makes of the arguments of b on dgx";

  it("says what that makes of the server's arguments, as text and as data", async () => {
    writeFileSync(file, NEWER);
    writeFileSync(join(home, "old.yaml"), STACK);
    const against = ["--against", join(home, "old.yaml")];
    const { out } = await serving(...against);
    const [, said = ""] = out.split(`${TITLE}\n`);
    expect(said.split("\n\n")[0]?.split("\n")).toEqual([
      "  vLLM 0.33.0 has every flag, value and variable that is set here.",
      "  `--disable-cascade-attn` isn't set here, and its default changes: `true` -> left to vLLM.",
      '  `--mamba-cache-mode` isn\'t set here, and its default changes: `"none"` -> left to vLLM.',
    ]);
    const { change } = JSON.parse((await serving(...against, "--format", "json")).out);
    expect(change.engine).toEqual([
      {
        machine: "dgx",
        key: "b",
        version: "0.33.0",
        known: "exact",
        nearest: "0.33.0",
        gone: [],
        defaults: {
          changed: [
            { name: "disable-cascade-attn", before: true, after: null },
            { name: "mamba-cache-mode", before: "none", after: null },
          ],
          unrecorded: [],
        },
      },
    ]);
  });

  it("says so of what is applied without being asked", async () => {
    writeFileSync(file, NEWER);
    apply(STACK);
    expect((await serving()).out).toContain(
      "\n          b: vLLM 0.33.0 has every flag that is set here; these flags aren't set and get another default: `--disable-cascade-attn`, `--mamba-cache-mode`.\n",
    );
  });

  it("says nothing where the vLLM stays, or nobody knows one of them", async () => {
    writeFileSync(join(home, "old.yaml"), STACK);
    for (const image of ["v0.30.0", "mine"]) {
      writeFileSync(
        file,
        SHORTER.replace(/vllm-openai:v0\.30\.0@\S+/, `vllm-openai:${image}@${DIGEST}`),
      );
      const { out } = await serving("--against", join(home, "old.yaml"));
      expect(out).toContain("; `image` vllm/vllm-openai:");
      expect(out).not.toContain("makes of the arguments");
    }
  });
});

describe("a review of a server that cannot start", () => {
  const review = async (more: string) => {
    const share = "gpuMemoryUtilization: 0.45\n          maxModelLen";
    writeFileSync(join(home, "old.yaml"), STACK);
    writeFileSync(file, STACK.replace(share, share.replace("0.45", "0.1").replace("\n", more)));
    const { code, out } = await serving("--against", join(home, "old.yaml"));
    const said = out.split("\n").filter((line) => /the new server|BUT /.test(line));
    return { code, first: out.split("\n")[1], said, runs: out.includes("`serving up && ") };
  };
  const LOSS = /^ {2}dgx: b \(.*\) is gone until you go back: the new server can't start\./;

  it("says not to approve it, or to ask where somebody wants to start it anyway", async () => {
    expect(await review("\n")).toEqual({
      code: 1,
      first: "  Don't approve this yet: `serving up` refuses it.",
      said: [expect.stringMatching(LOSS)],
      runs: false,
    });
    expect(await review("\n          startAnyway: it did here\n")).toEqual({
      code: 0,
      first: "  Ask before you approve this: 2 points below.",
      said: [expect.stringMatching(/^ {2}Nothing is refused, BUT /), expect.stringMatching(LOSS)],
      runs: true,
    });
  });
});

describe("the formats of a comparison", () => {
  it("are text, Markdown and JSON with everything that a plan has", async () => {
    writeFileSync(join(home, "old.yaml"), STACK);
    const against = ["--against", join(home, "old.yaml")];
    const markdown = await serving(...against, "--format", "markdown");
    expect(markdown.out).toMatch(/^### Pulumi\.dgx\.yaml against \S+\/old\.yaml\n/);
    const { machines, findings, policies, change } = JSON.parse(
      (await serving(...against, "--format", "json")).out,
    );
    expect(machines[0].containers).toHaveLength(3);
    expect(findings).toEqual(
      policies.filter(({ verdict }: { verdict: string }) => verdict !== "pass"),
    );
    expect(findings).toMatchObject([
      { name: "inference-image", path: "machines.dgx.inferenceServers.b.versions", line: 30 },
    ]);
    expect(change).toMatchObject({
      settings: [
        {
          path: "machines.dgx.inferenceServers.b.maxModelLen",
          before: 262144,
          after: 131072,
          line: 39,
        },
      ],
      machines: [
        {
          containers: [
            {
              key: "b",
              kind: "replaced",
              steps: [{ least: 0, most: 60 }, { least: 240 }, { most: 900 }],
            },
            {},
            {},
          ],
          losses: [
            { key: "b", what: "gone" },
            { key: "b", what: "window", before: "262144", after: "131072" },
          ],
        },
      ],
      findings: { new: [], gone: [] },
      back: null,
    });
  });

  it("have Markdown for a comparison alone", async () => {
    const { code, out, err } = await serving("--format", "markdown");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toBe(
      "--format markdown is for reviews: add --against applied|verified|FILE|COMMIT.\n",
    );
  });
});

describe("a plan of one name", () => {
  const lines = async (name: string) => (await serving(name)).out.split("\n");

  it("is a server with its `docker run`, its KV cache and what its gate reads", async () => {
    const shown = await lines("b");
    expect(shown[0]).toBe("Container vllm-qwen3.6-35b-a3b-8001");
    expect(shown).toContain("      --max-model-len 131072 \\");
    expect(shown).toContain("    longest window  1,792,080 tokens");
    expect(shown.filter((line) => line.trimStart().startsWith("File "))).toEqual([
      `  File ${home}/.local/share/local-serving/dgx/start-gate/gate (mode 0644)`,
    ]);
  });

  it("is a service with its file, Ollama with the commands that are left to you, and what is known of A", async () => {
    expect(await lines("bridge")).toContain("    model_list:");
    expect(await lines("bridge")).not.toContain("Machine dgx");
    expect(await lines("chatUi")).toContain("Container open-webui-8080");
    expect(await lines("ollama")).toContain(
      "    sudo systemctl daemon-reload && sudo systemctl restart ollama.service",
    );
    expect(await lines("instance-a")).toEqual([
      "  instance A: port 8000, utilization 0.45, declared only: nothing here touches it",
      "",
    ]);
  });

  it("is refused where nothing has it, and JSON is whole whatever the name", async () => {
    expect(await serving("c")).toMatchObject({
      code: 2,
      err: expect.stringContaining("There is: b, bridge"),
    });
    const { machines } = JSON.parse((await serving("b", "--format", "json")).out);
    expect(machines[0].containers).toHaveLength(3);
  });
});
