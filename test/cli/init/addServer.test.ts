import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { atKeyboard } from "../../layers/keyboard";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";
import { madeFacts } from "./madeFacts";
import { servingOnPath } from "./servingOnPath";

const SMALL =
  "vllm serve openai/gpt-oss-20b --served-model-name small --gpu-memory-utilization 0.25 --max-model-len 32768 --enable-auto-tool-choice --tool-call-parser openai";
const shell = servingOnPath();
let facts = "";
let project = "";
let file = "";

beforeAll(async () => {
  facts = await madeFacts();
});

beforeEach(async () => {
  project = temporaryFolder("init-add-");
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  symlinkSync(join(process.cwd(), "models"), join(project, "models"));
  file = join(project, "Pulumi.spark.yaml");
  const made = await init("--from-command", `${SMALL} --port 8001`, "--yes");
  expect(made).toMatchObject({ code: 0, err: "" });
});

async function serving(...args: string[]) {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
  try {
    return await runServing(args, shell);
  } finally {
    cwd.mockRestore();
  }
}

const init = (...args: string[]) => serving("init", "--from", facts, "--name", "spark", ...args);

interface Machine {
  readonly inferenceServers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly clients: Readonly<Record<string, { readonly server?: string }>>;
}

function written(): Machine {
  const document = parse(readFileSync(file, "utf8")) as {
    config: Record<string, Record<string, Machine>>;
  };
  const machine = document.config["local-serving:machines"]?.spark;
  if (machine === undefined) throw new Error("the machine stays");
  return machine;
}

const serversOf = ({ inferenceServers }: Machine) =>
  Object.entries(inferenceServers).map(([key, { servedModelName, port }]) => [
    key,
    servedModelName,
    port,
  ]);

describe("init --from-command beside a stack file", () => {
  it("shows what the file gets and the plan of it, and writes nothing without a yes", async () => {
    const before = readFileSync(file, "utf8");
    const { code, out, err } = await init("--from-command", SMALL);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(out).toMatch(/^--- a\/Pulumi\.spark\.yaml\n/);
    expect(out).toContain("\n+        c:\n+          model:\n");
    expect(out).toContain("  - `b` answers to small: the server is called small-2.\n");
    expect(out).toMatch(/\nThe plan is then:\nNothing is refused\..*\n/);
    expect(out).toContain(
      `\nNothing is written. To write it: serving init --name spark --from ${facts} --from-command '${SMALL}' --yes\n`,
    );
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(existsSync(`${file}.bak`)).toBe(false);
  });

  it("writes it with --yes, under the next free key, name and port", async () => {
    const before = readFileSync(file, "utf8");
    const made = await init("--from-command", `${SMALL} --port 8001`, "--yes", "--format", "json");
    expect(made).toMatchObject({ code: 0, err: "" });
    const result = JSON.parse(made.out) as Record<string, unknown>;
    expect(result).toMatchObject({ file, server: "c", servers: ["c"], written: true, refused: [] });
    expect(result.command).toMatchObject({
      chosen: expect.arrayContaining(["Port 8001 is that of `b`: the server gets 8002."]),
    });
    expect(serversOf(written())).toEqual([
      ["b", "small", 8001],
      ["c", "small-2", 8002],
    ]);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(before);
    // Each client stays with the server that it had.
    const { claudeCode, codex } = written().clients;
    expect([claudeCode?.server, codex?.server]).toEqual(["b", "b"]);
    expect(await serving("plan", "--stack", "spark")).toMatchObject({ code: 0, err: "" });
    const more = await init("--from-command", "vllm serve a/b", "--yes");
    expect(more.out).toContain(`${file} is written; the old file is ${file}.bak.\nNext:\n`);
    expect(serversOf(written()).at(-1)).toEqual(["d", "b", 8000]);
  });

  it("says what the plan refuses, and ends with 1 where it is written all the same", async () => {
    const line = SMALL.replace("0.25", "0.8");
    const made = await init("--from-command", line, "--yes", "--format", "json");
    expect(made.code).toBe(1);
    const { refused, written: isWritten } = JSON.parse(made.out) as {
      refused: { name: string }[];
      written: boolean;
    };
    expect(isWritten).toBe(true);
    expect(refused.map(({ name }) => name)).toContain("aggregate-utilization");
  });

  it("asks at a terminal, and takes no answer for a no", async () => {
    const before = readFileSync(file, "utf8");
    const no = await atKeyboard([""], () => init("--from-command", SMALL));
    expect([no.code, readFileSync(file, "utf8")]).toEqual([1, before]);
    const yes = await atKeyboard(["y"], () => init("--from-command", SMALL));
    expect(yes.err).toContain("Write it? [y/N]");
    expect([yes.code, yes.out.split("The plan is then:").length]).toEqual([0, 2]);
    expect(serversOf(written())).toHaveLength(2);
  });

  it("takes each server of a file, and leaves its services out by name", async () => {
    const compose = join(project, "compose.yaml");
    const server = (name: string, model: string, port: number) =>
      `  ${name}:\n    image: vllm/vllm-openai:v0.30.0\n    ports: ["127.0.0.1:${port}:8000"]\n    command: --model ${model} --gpu-memory-utilization 0.1 --max-model-len 4096\n`;
    const chat = "  ui:\n    image: ghcr.io/open-webui/open-webui:v0.6.0\n";
    writeFileSync(
      compose,
      `services:\n${server("one", "a/one", 8001)}${server("two", "a/two", 8005)}${chat}`,
    );
    const made = await init("--from-command", compose, "--all", "--yes", "--format", "json");
    const result = JSON.parse(made.out) as {
      servers: string[];
      command: { leftOut: { what: string }[] };
    };
    expect(result.servers).toEqual(["c", "two"]);
    expect(result.command.leftOut.map(({ what }) => what)).toContain("the service `ui`");
    expect(serversOf(written()).slice(1)).toEqual([
      ["c", "one", 8002],
      ["two", "two", 8005],
    ]);
  });

  it("says how its clients can use a server without tool calls", async () => {
    const { out } = await init("--from-command", SMALL.replace(/ --enable.*/, ""));
    expect(out).toContain(
      "in place of `tools: { autoChoice: false }` (openai is this model's parser), and `server: c` at the client.\n",
    );
    expect(out).not.toContain("no coding client gets a file");
  });

  it("chooses a share that is left beside the servers that are there", async () => {
    const made = await init("--from-command", "vllm serve a/b --max-model-len 4096", "--yes");
    expect(made.out).toContain("it is 0.65 here.");
    expect(written().inferenceServers).toMatchObject({
      b: { gpuMemoryUtilization: 0.25 },
      c: { gpuMemoryUtilization: 0.65 },
    });
  });

  it("is the first server of a file without one, and takes a machine that the file has", async () => {
    writeFileSync(
      file,
      "config:\n  local-serving:machines:\n    dgx: { totalGiB: 121.69, instanceA: none }\n",
    );
    expect(await init("--from-command", SMALL, "--machine", "other", "--yes")).toMatchObject({
      code: 2,
      err: "--machine other: Pulumi.spark.yaml has dgx.\n",
    });
    expect(await init("--from-command", SMALL, "--yes")).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(file, "utf8")).toContain("inferenceServers: { b: { model: ");
    expect(await serving("plan", "--stack", "spark")).toMatchObject({ code: 0 });
  });
});
