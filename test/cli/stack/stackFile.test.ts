import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "@local-serving/machines/shell";
import type { Command } from "commander";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { COMMANDS, UNLISTED } from "../../../cli/servingCommand";
import { SAMPLE } from "../../../cli/stack/sample";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

let project = "";
let env: Record<string, string> = {};

beforeEach(() => {
  project = realpathSync(temporaryFolder("which-stack-"));
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  env = { PULUMI_HOME: join(project, "home"), PULUMI_STACK: "", PWD: project };
});

/** Stack files that each say by a fault of their own that they were read. */
function stacks(...names: readonly string[]) {
  for (const name of names)
    writeFileSync(join(project, `Pulumi.${name}.yaml`), `config: {}\nthis-is-${name}: 1\n`);
}

/** Keeps a selection where `pulumi stack select` keeps it, for the project by this path. */
function select(stack: string, path = project) {
  const folder = join(project, "home/workspaces");
  const hash = createHash("sha1").update(`${path}/Pulumi.yaml`).digest("hex");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `local-serving-${hash}-workspace.json`);
  writeFileSync(file, JSON.stringify({ stack: `organization/local-serving/${stack}` }));
  return file;
}

async function serving(args: readonly string[], more: Record<string, string> = {}) {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
  onTestFinished(() => cwd.mockRestore());
  const { code, out, err } = await runServing(args, { ...env, ...more });
  return { code, out, err: err.replaceAll(project, "PROJECT") };
}

/** Which stack file a command reads. */
async function meant(args: readonly string[], more: Record<string, string> = {}) {
  const { err } = await serving(["plan", ...args], more);
  return /Unknown key `this-is-(\w+)`/.exec(err)?.[1] ?? err;
}

const WHICH =
  "Which stack? PROJECT has lab, prod. Name one by `--stack NAME`, `export LOCAL_SERVING_STACK=NAME` or `pulumi stack select NAME`.\n";

/** Every command that takes `--stack`, with what it wants before it reads one. */
const COMMAND_LINES: Readonly<Record<string, string>> = {
  models: "",
  "models show": "gpt-oss",
  "models use": "gpt-oss",
  "models add": "org/model --from-cache",
  plan: "",
  pin: "--check",
  fetch: "",
  preview: "",
  up: "--yes",
  down: "--yes",
  verify: "",
  doctor: "",
  bench: "",
  status: "",
  logs: "b",
  stop: "b",
  start: "b",
  backup: "chat-ui",
  restore: "chat-ui",
  "clients export": "folder",
  refresh: "--yes",
};
const LINES = Object.entries(COMMAND_LINES).map((words) => words.join(" ").trim());

function withStack(before: string, command: Command): string[] {
  const name = `${before} ${command.name()}`.trim();
  const own = command.options.some(({ long }) => long === "--stack") ? [name] : [];
  return [...own, ...command.commands.flatMap((each) => withStack(name, each))];
}

describe("with two stacks and none named", () => {
  it("every command is asked", async () => {
    const commands = await Promise.all(
      Object.values({ ...COMMANDS, ...UNLISTED }).map(({ load }) => load([])),
    );
    expect(commands.flatMap((each) => withStack("", each))).toEqual(Object.keys(COMMAND_LINES));
  });

  it.each([
    ...LINES,
    "status --wait",
    "status --against applied",
    "status --versions",
    "status --leftovers",
    "pin vllm/vllm-openai:v0.30.0 --write",
    "pin --newer",
  ])("serving %s takes neither", async (line) => {
    stacks("prod", "lab");
    expect(await serving(line.split(" "))).toEqual({ code: 2, out: "", err: WHICH });
  });

  it("takes the named one: by option, else by variable, else by Pulumi's selection", async () => {
    stacks("prod", "lab");
    select("lab");
    expect(await meant([])).toBe("lab");
    expect(await meant([], { PULUMI_STACK: "prod" })).toBe("prod");
    expect(await meant([], { LOCAL_SERVING_STACK: "prod" })).toBe("prod");
    expect(await meant(["--stack", "lab"], { LOCAL_SERVING_STACK: "prod" })).toBe("lab");
  });

  it("advises only commands that name the stack which was asked about", async () => {
    stacks("prod");
    const sample = readFileSync("Pulumi.dgx.yaml", "utf8");
    const text = sample
      .replaceAll(/vllm-openai:v0\.30\.0@sha256:\w{64}/g, "vllm-openai:v0.30.0")
      .replaceAll("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.44");
    writeFileSync(join(project, "Pulumi.lab.yaml"), text);
    const LOOKS_ONLY = "serving pin vllm/vllm-openai:v0.30.0";
    const advised = async (...args: string[]) => {
      const { out } = await serving(["plan", ...args]);
      return [...out.replaceAll(/\s+/g, " ").matchAll(/`(serving \w+[^`]*)`/g)].map(
        ([, typed]) => typed,
      );
    };
    const { out } = await serving(["plan", "--stack", "lab"]);
    expect(out).toMatch(/serving plan --stack lab --full\n$/);
    expect(await advised("--stack", "lab", "--full")).toEqual(
      expect.arrayContaining(["serving verify --stack lab --only memory", LOOKS_ONLY]),
    );
    const others = (await advised("--stack", "lab", "--notes")).filter(
      (each) => !each?.includes("--stack lab"),
    );
    expect(others).toEqual([LOOKS_ONLY]);
    // Where it is the one that is meant anyway, nothing is added.
    rmSync(join(project, "Pulumi.prod.yaml"));
    expect((await advised("--stack", "lab")).filter((each) => each?.includes("--stack"))).toEqual(
      [],
    );
  });

  it("takes no selected stack that has no file here, and none of another folder", async () => {
    stacks("prod", "lab");
    select("gone");
    expect(await meant([])).toBe(WHICH);
    rmSync(join(project, "home"), { recursive: true });
    select("lab", "/elsewhere");
    expect(await meant([])).toBe(WHICH);
  });

  it("takes the selection of the path that the shell shows", async () => {
    stacks("prod", "lab");
    const link = join(project, "link");
    symlinkSync(project, link);
    select("lab");
    select("prod", link);
    expect(await meant([], { PWD: link })).toBe("prod");
    expect(await meant([], { PWD: join(link, "docs") })).toBe("prod");
    expect(await meant([], { PWD: "/" })).toBe("lab");
  });

  it.each(["{", "[]", '{"stack":1}', ""])("takes none by a broken selection: %j", async (text) => {
    stacks("prod", "lab");
    writeFileSync(select("lab"), text);
    expect(await meant([])).toBe(WHICH);
  });
});

describe("with the sample that a clone holds", () => {
  const text = readFileSync("Pulumi.dgx.yaml", "utf8");
  const sample = (changed = text) => writeFileSync(join(project, "Pulumi.dgx.yaml"), changed);
  const NOTE =
    "dgx is this project's sample: `serving init` writes a stack file for your machine. Once you edit Pulumi.dgx.yaml, it is yours.\n";
  const BOTH = WHICH.replace("lab, prod", "dgx, prod");

  it("is the file that comes along", () => {
    expect(SAMPLE).toBe(sha256(text));
  });

  it.each(["plan", "pin --check", "status", "stop b"])(
    "serving %s takes the only other stack",
    async (line) => {
      sample();
      stacks("prod");
      expect((await serving(line.split(" "))).err).toContain("Pulumi.prod.yaml");
    },
  );

  it("asks where two others are there, and where somebody has changed the sample", async () => {
    sample();
    stacks("prod", "lab");
    expect(await meant([])).toBe(WHICH.replace("lab, prod", "dgx, lab, prod"));
    rmSync(join(project, "Pulumi.lab.yaml"));
    expect(await meant([])).toBe("prod");
    // As Pulumi adds it at the first preview.
    for (const changed of [
      text.replace("maxNumSeqs: 4", "maxNumSeqs: 8"),
      `${text}encryptionsalt: v1:x\n`,
    ]) {
      sample(changed);
      expect(await meant([])).toBe(BOTH);
    }
  });

  it("takes the sample where Pulumi has selected it, or somebody names it", async () => {
    sample();
    stacks("prod");
    select("dgx");
    expect(await serving(["plan"])).toMatchObject({ code: 0, err: NOTE });
    select("gone");
    expect(await serving(["plan", "--stack", "dgx"])).toMatchObject({ code: 0, err: "" });
  });

  it("says that it is one, where nobody named it, until somebody edits it", async () => {
    sample();
    expect(await serving(["plan"])).toMatchObject({ code: 0, err: NOTE });
    expect(await serving(["plan"], { LOCAL_SERVING_STACK: "dgx" })).toMatchObject({ err: "" });
    expect(await serving(["plan", "--file", join(project, "Pulumi.dgx.yaml")])).toMatchObject({
      err: "",
    });
    sample(text.replace("maxNumSeqs: 4", "maxNumSeqs: 3"));
    expect(await serving(["plan"])).toMatchObject({ code: 0, err: "" });
  });
});

describe("with one stack", () => {
  it("takes it, whatever Pulumi has selected", async () => {
    stacks("prod");
    select("lab");
    expect(await meant([])).toBe("prod");
  });

  it("takes no other one that is named", async () => {
    stacks("prod");
    expect(await meant([], { LOCAL_SERVING_STACK: "lab" })).toBe(
      "No Pulumi.lab.yaml in PROJECT. Stacks there: prod. Name one of them.\n",
    );
  });
});

describe("without a stack file", () => {
  // These two judge the catalogue's models for a machine by its name.
  const needNone = ["models", `models show ${COMMAND_LINES["models show"]}`];
  it.each(LINES.filter((line) => !needNone.includes(line)))(
    "serving %s names `serving init`",
    async (line) => {
      expect(await serving(line.split(" "))).toEqual({
        code: 2,
        out: "",
        err: "No stack file in PROJECT. `serving init` writes one for this machine.\n",
      });
    },
  );
});

it("the stack file that comes along says first that it is a sample", () => {
  const [first, second] = readFileSync("Pulumi.dgx.yaml", "utf8").split("\n");
  expect(first).toMatch(/^# A sample: .*`serving init --name NAME`/);
  expect(second).toBe("# yaml-language-server: $schema=docs/reference/stack-file.schema.json");
});
