import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { todaysWords } from "../../cli/earlierWords";
import { UNLISTED } from "../../cli/servingCommand";
import { serverInput } from "../fixtures/machine";
import { lookSooner } from "../layers/lookSooner";
import { temporaryFolder } from "../layers/temporaryFolder";
import { markApplied } from "./applied";
import { FakeDocker, inspected } from "./fakeDocker";
import { runServing } from "./runServing";

lookSooner();

describe("a word of an earlier release", () => {
  it.each([
    ["wait --warm b", "status --wait --warm b"],
    ["drift --stack a", "status --against applied --stack a"],
    ["inventory --machine a", "status --versions --machine a"],
    ["inventory --file x --leftovers", "status --file x --leftovers"],
    ["upgrade b --stack a", "pin --newer b --stack a"],
    ["kv --config x", "models kv --config x"],
    ["config check providers x", "harness check providers x"],
    ["app run --config x -- kv", "harness app run --config x -- kv"],
    ["gate visual --config x", "harness gate visual --config x"],
    ["help drift", "help status"],
  ])("%s means %s", (earlier, today) => {
    expect(todaysWords(earlier.split(" "))).toEqual(today.split(" "));
  });

  it.each([
    [["status", "wait"]],
    [["help"]],
    [["plan", "--leftovers"]],
    [["upgrade", "--format", "json"]],
    [["constructor"]],
    [["--help"]],
    [[]],
  ])("is none of %j", (words) => {
    expect(todaysWords(words)).toEqual(words);
  });

  it("is in no help, and near no mistyped word", async () => {
    const { out } = await runServing(["--help"]);
    expect(
      out.match(/^ {2}(wait|drift|inventory|kv|refresh|config|app|gate|candidates)\b/gm),
    ).toBeNull();
    expect((await runServing(["inventry"])).err).not.toContain("Did you mean");
    expect(Object.keys(UNLISTED)).toEqual(["refresh", "candidates"]);
    expect((await runServing(["help", "refresh"])).out).toContain("Usage: serving refresh ");
  });
});

const GONE =
  "`serving upgrade` is gone. npm upgrades this program: docs/upgrade.md says how. `serving pin --newer` lists newer images and what their vLLM makes of a server's arguments; once one is pinned, `serving plan --against applied` shows what it changes.";

describe("a word that is gone", () => {
  it.each([
    [["upgrade"]],
    [["upgrade", "--no-install"]],
    [["upgrade", "--help"]],
    [["help", "upgrade"]],
  ])("%j is answered with what took its place", async (args) => {
    expect(await runServing(args)).toEqual({ code: 2, out: "", err: `${GONE}\n` });
  });

  it("is answered as a document, too", async () => {
    const { code, out } = await runServing(["upgrade", "--format", "json"]);
    expect([code, JSON.parse(out)]).toMatchObject([
      2,
      { version: 1, faults: [{ code: "wrong_use", message: GONE }] },
    ]);
  });

  it("is none that help lists", async () => {
    const { out } = await runServing(["--help"]);
    expect(out).toMatch(/^ {2}pin /m);
    expect(out).not.toContain("upgrade");
  });
});

const folder = temporaryFolder("earlier-");
const file = join(folder, "Pulumi.dgx.yaml");
const dgx = {
  totalGiB: 121.63,
  instanceA: "none",
  inferenceServers: { b: serverInput({ port: 8041 }) },
};
writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));

/** Runs a command on a machine where a stack was applied, and its server has died since. */
async function found(...args: string[]) {
  const died = inspected({
    name: "vllm-model-8041",
    state: { Status: "exited", ExitCode: 1, StartedAt: "2026-11-21T13:00:00Z" },
  });
  const docker = new FakeDocker({
    "ps --all": { out: "4711\n" },
    ps: { out: "4711\n" },
    "inspect 4711": { out: JSON.stringify([died]) },
    logs: { out: "" },
    "image inspect": { code: 1 },
    "volume ls": { out: "" },
    "network ls": { out: "" },
    images: { out: "" },
  });
  markApplied(folder, "dgx");
  const { code, out, err } = await runServing([...args, "--format", "json"], {
    ...docker.env,
    HOME: folder,
  });
  return { code, err, document: JSON.parse(out.replace(/"seconds": [\d.]+/, '"seconds": 0')) };
}

describe("the answer to a word of an earlier release", () => {
  it.each([
    [["wait", "--timeout", "1"], 1, ["servers", "diagnoses", "starting"]],
    [["wait", "--server", "b", "--timeout", "1"], 1, ["servers", "diagnoses", "starting"]],
    [["wait", "b", "--timeout", "1"], 1, ["servers", "diagnoses", "starting"]],
    [["wait", "c"], 2, ["faults"]],
    [["drift"], 1, ["machines", "mend"]],
    [["inventory"], 1, ["machine", "containers", "venvs", "record", "problems"]],
    [["inventory", "--machine", "other"], 2, ["faults"]],
    [["inventory", "--leftovers"], 0, ["machine", "leftovers"]],
  ] as const)("%j has its exit code and its keys, and is today's", async (args, code, keys) => {
    const earlier = await found(...args, "--file", file);
    expect(earlier.code).toBe(code);
    expect(Object.keys(earlier.document)).toEqual(["version", ...keys]);
    expect(await found(...todaysWords(args), "--file", file)).toEqual(earlier);
  });
});

describe("one question of `serving status` at a time", () => {
  it.each([
    ["--wait --versions", "--wait and --versions are two questions: ask one at a time."],
    ["--against applied --watch", "--watch and --against are two questions: ask one at a time."],
    ["b", "`serving status` takes no server: `serving status --help` says what goes with what."],
    [
      "--leftovers --warm --base-url http://127.0.0.1:1",
      "`serving status --leftovers` takes no --warm, --base-url: `serving status --help` says what goes with what.",
    ],
    [
      "--wait --machine dgx",
      "`serving status --wait` takes no --machine: `serving status --help` says what goes with what.",
    ],
  ])("refuses %s", async (options, message) => {
    const { code, err, document } = await found("status", ...options.split(" "), "--file", file);
    expect([code, err]).toEqual([2, `${message}\n`]);
    expect(document.faults).toMatchObject([{ code: "wrong_use", message }]);
  });
});
