import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../layers/temporaryFolder";
import { type StandIn, startStandIn } from "../stand-in/server";
import { runServing } from "./runServing";

/** A vLLM that somebody started by hand, and one whose metrics lack most figures. */
let [server, silent]: StandIn[] = [];
const START = ["org/model", "--host", "127.0.0.1", "--port", "0"];
const NAMES = ["--served-model-name", "mine", "--max-model-len", "32768"];
const TOOLS = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"];

beforeAll(async () => {
  server = await startStandIn([...START, ...NAMES, ...TOOLS]);
  const show = () => ({ status: 200, text: 'vllm:num_requests_running{engine="0"} 1.0\n' });
  silent = await startStandIn([...START, ...NAMES], { routes: { "GET /metrics": show } });
});
afterAll(async () => {
  await server?.close();
  await silent?.close();
});

/** Runs a command in a project without a stack file. */
async function serving(...args: string[]) {
  const project = temporaryFolder("by-hand-");
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
  vi.spyOn(process, "cwd").mockReturnValue(project);
  onTestFinished(() => void vi.restoreAllMocks());
  return runServing(args, { PULUMI_HOME: "/dev/null" });
}

describe("a server that somebody started by hand, without a stack file", () => {
  it("is verified by its address, by what it says of itself", async () => {
    const { url = "" } = server ?? {};
    const args = ["--base-url", url, "--only", "health,models,max-model-len,chat", "--format"];
    const { code, out, err } = await serving("verify", ...args, "json");
    expect(err).toContain(`No stack file: ${url} serves mine with a window of 32768 tokens.`);
    const { probes } = JSON.parse(out) as { probes: { name: string; status: string }[] };
    expect([code, probes.map(({ name, status }) => [name, status])]).toEqual([
      0,
      [
        ["health", "pass"],
        ["models", "pass"],
        ["max-model-len", "pass"],
        ["chat", "pass"],
      ],
    ]);
  });

  it("has its figures shown, and what it doesn't tell is said as such", async () => {
    const { url = "" } = server ?? {};
    const whole = await serving("status", "--base-url", url);
    expect([whole.code, whole.err, whole.out.split("\n").slice(0, 5)]).toEqual([
      0,
      "",
      [
        `${url}: ready`,
        "  names        mine",
        "  window       32768 tokens",
        "  running      0",
        "  waiting      0",
      ],
    ]);
    const { out } = await serving("status", "--base-url", silent?.url ?? "");
    expect(out.split("\n").slice(3)).toEqual([
      "  running      1",
      "  waiting      not told",
      "  KV cache     not told",
      "  tokens/s     not told",
      "  prefix hits  not told",
      "  read         not told",
      "  written      not told",
      "",
    ]);
    expect(whole.out + out).not.toMatch(/undefined|null|NaN/);
    const json = await serving("status", "--base-url", silent?.url ?? "", "--format", "json");
    expect(JSON.parse(json.out)).toMatchObject({
      state: "ready",
      served: { names: ["mine"], maxModelLen: 32768 },
      figures: { running: 1, waiting: null, kvUse: null, tokensPerSecond: null, prefixHits: null },
    });
  });

  it("is waited for", async () => {
    const { url = "" } = server ?? {};
    const { code, out } = await serving("wait", "--base-url", url);
    expect([code, out]).toEqual([0, `${url} is ready after 0 s.\n`]);
    const down = await serving("wait", "--base-url", "http://127.0.0.1:1", "--timeout", "1");
    expect([down.code, down.out]).toEqual([
      1,
      "http://127.0.0.1:1 is not ready after 1 s: see its own log.\n",
    ]);
  });

  it("is told as not answering where nothing does", async () => {
    const status = await serving("status", "--base-url", "http://127.0.0.1:1");
    expect([status.code, status.out]).toEqual([
      1,
      "http://127.0.0.1:1\n  http://127.0.0.1:1 does not answer: nothing listens there (connection refused).\n",
    ]);
    const verify = await serving("verify", "--base-url", "http://127.0.0.1:1");
    expect([verify.code, verify.out, verify.err]).toEqual([
      1,
      "",
      "http://127.0.0.1:1 does not answer: nothing listens there (connection refused).\n",
    ]);
  });

  it("goes with no other server, and without a stack file nothing is recorded", async () => {
    const url = "http://127.0.0.1:1";
    expect(await serving("wait", "--base-url", url, "--warm")).toMatchObject({
      code: 2,
      err: "--base-url waits for a single server: leave out --server and --warm.\n",
    });
    expect(await serving("verify", "--base-url", url, "--record")).toMatchObject({
      code: 2,
      err: "--record needs a stack file to write to.\n",
    });
  });
});
