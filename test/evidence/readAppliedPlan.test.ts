import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { describe, expect, it } from "vitest";
import { appliedPlanIn, readAppliedPlan } from "../../components/evidence/readAppliedPlan";
import { plan } from "../../components/plan/plan";
import { serversOn } from "../../components/planned/servers";
import { stack } from "../fixtures/machine";
import { ranks } from "../fixtures/ranks";
import { IS_ROOT, NOBODY } from "../host/hostFileRun";
import { temporaryFolder } from "../layers/temporaryFolder";

const EVERYTHING = {
  bridge: {
    image: `ghcr.io/berriai/litellm:v1@sha256:${"0".repeat(64)}`,
    keyVariable: "BRIDGE_KEY",
  },
  chatUi: { image: `ghcr.io/open-webui/open-webui:v1@sha256:${"0".repeat(64)}` },
  clients: { codex: {}, claudeCode: { via: "bridge" } },
  simpleServer: { mode: "host", models: ["qwen3:4b"] },
  harness: {},
};

/** A machine whose home is an empty folder, and its record. */
function machineAt(home: string, settings = stack()) {
  const [machine] = plan(settings, { home }).machines;
  const record = machine?.files.find(({ role }) => role === "applied-plan");
  if (machine === undefined || record === undefined) throw new Error("no plan");
  return { machine, record };
}

/** Root may read everything: as root this is done as nobody. */
async function withoutRoot<T>(work: () => Promise<T>): Promise<T> {
  if (!IS_ROOT) return await work();
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

const read = (machine: Parameters<typeof readAppliedPlan>[0]) =>
  readAppliedPlan(machine, filesOf({ dockerHost: HERE }));

describe("the plan that was applied to a machine", () => {
  it.each([
    ["a server alone", stack()],
    ["everything that there is", stack(EVERYTHING)],
    [
      "an Ollama inside the chat UI",
      stack({ chatUi: EVERYTHING.chatUi, simpleServer: { mode: "integrated" } }),
    ],
    ["nothing at all", stack({ inferenceServers: {}, instanceA: "none" })],
  ])("is read as it was written: %s", async (_, settings) => {
    const { machine, record } = machineAt(temporaryFolder("applied-plan-"), settings);
    mkdirSync(dirname(record.path), { recursive: true });
    writeFileSync(record.path, record.text);
    const { files, ...planned } = machine;
    const found = await read(machine);
    expect(found).toEqual({
      // The record doesn't hold itself, and JSON has no key without a value.
      plan: JSON.parse(
        JSON.stringify({ ...planned, files: files.filter(({ role }) => role !== "applied-plan") }),
      ),
    });
  });

  it("is read of a worker, too", async () => {
    const [, worker] = plan(ranks(), { home: "/home/me" }).machines;
    const text = worker?.files.find(({ role }) => role === "applied-plan")?.text ?? "";
    expect(await appliedPlanIn(text, "/x")).toMatchObject({
      plan: { name: "dgx2", ranks: [{ key: "dgx1.b" }] },
    });
  });

  it("is missing before the first update, with its path", async () => {
    const { machine, record } = machineAt(temporaryFolder("applied-plan-"));
    expect(await read(machine)).toEqual({
      missing: `${record.path} is not there: nothing was applied, or it was applied by another user or with another \`stateDirectory\``,
    });
  });

  it("is not called missing where it may not be read", async () => {
    const home = temporaryFolder("applied-plan-");
    const { machine, record } = machineAt(home);
    mkdirSync(dirname(record.path), { recursive: true });
    writeFileSync(record.path, record.text);
    chmodSync(record.path, 0);
    chmodSync(home, 0o755);
    expect(await withoutRoot(() => read(machine))).toMatchObject({
      missing: expect.stringContaining(`${record.path} can't be read`),
    });
  });

  it("has the version of its form", () => {
    expect(JSON.parse(machineAt("/home/me").record.text)).toMatchObject({ version: 1 });
  });

  it("may hold more than this version knows, which is passed over, and not less", async () => {
    const { record } = machineAt("/home/me");
    const { machine, ...about } = JSON.parse(record.text);
    const more = { ...about, later: 1, machine: { ...machine, later: {} } };
    expect(await appliedPlanIn(JSON.stringify(more), "/x")).toEqual(
      await appliedPlanIn(record.text, "/x"),
    );
    const { kv: _, ...less } = machine;
    expect(await appliedPlanIn(JSON.stringify({ ...about, machine: less }), "/x")).toMatchObject({
      missing: expect.stringMatching(/^\/x holds no plan that can be read\. machine\.kv: /),
    });
  });

  it.each([
    ["reach", undefined, "reach"],
    ["reach", { key: "b", name: "b", address: "127.0.0.1", path: "/v1" }, "reach.port"],
    ["reach", { key: "b", name: "b", address: "127.0.0.1", port: 0, path: "/v1" }, "reach.port"],
    ["reach", { key: "b", name: "b", port: 8001, path: "/v1" }, "reach.address"],
    ["rank", { index: 0 }, "rank.nodes"],
    ["hubModels", [{}], "hubModels.0.id"],
  ])("is named where a server has no usable %s: %j", async (key, value, where) => {
    const { record } = machineAt("/home/me");
    const { machine, ...about } = JSON.parse(record.text);
    const inferenceServers = [{ ...machine.inferenceServers[0], [key]: value }];
    const text = JSON.stringify({ ...about, machine: { ...machine, inferenceServers } });
    expect(await appliedPlanIn(text, "/x")).toMatchObject({
      missing: expect.stringContaining(
        `/x holds no plan that can be read. machine.inferenceServers.0.${where}: `,
      ),
    });
  });
});

const PATH = "/state/applied-plan.json";
const missing = async (text: string) => {
  const read = await appliedPlanIn(text, PATH);
  if ("plan" in read) throw new Error("it was read");
  expect(read.isThere).toBe(true);
  return read.missing;
};

describe("a file that is no plan", () => {
  const { text } = machineAt("/home/me").record;
  const document = JSON.parse(text);
  const inMachine = (change: Record<string, unknown>) =>
    JSON.stringify({ ...document, machine: { ...document.machine, ...change } });

  it.each([
    ["empty", "", /^PATH:1:1: the file is empty/],
    ["another document", "[]", /^PATH holds no plan that can be read\. machine: /],
    ["`null`", "null", /^PATH holds no plan that can be read\. machine: /],
    [
      "another program's",
      '{"machine": {"inferenceServers": "b"}}',
      /^PATH holds no plan .* machine\.name: /,
    ],
    ["without its machine", '{"version": 1}', /^PATH holds no plan .* machine: /],
    [
      "nested too deep",
      `${"[".repeat(5000)}${"]".repeat(5000)}`,
      /^PATH:1:101: is nested more than 100 levels deep/,
    ],
    ["too large", `{"a": "${"x".repeat(16_000_000)}"}`, /^PATH is larger than any plan/],
    [
      "of a version in words",
      '{"version": "1"}',
      /^PATH has a `version` that isn.t a whole number/,
    ],
    ["of a version below 0", '{"version": -1}', /^PATH has a `version` that isn.t a whole number/],
    ["of half a version", '{"version": 0.5}', /^PATH has a `version` that isn.t a whole number/],
    ["of no number", '{"version": null}', /^PATH has a `version` that isn.t a whole number/],
    [
      "with a server that is a list",
      inMachine({ inferenceServers: [[]] }),
      / machine\.inferenceServers\.0: /,
    ],
    ["with files of text", inMachine({ files: "gate" }), / machine\.files: /],
    [
      "with a server without `reach`",
      inMachine({ inferenceServers: [withoutReach()] }),
      / machine\.inferenceServers\.0\.reach: /,
    ],
    [
      "with `__proto__` for a machine",
      '{"version": 1, "__proto__": {"machine": {}}}',
      / machine: /,
    ],
  ])("is named with its path and what is wrong: %s", async (_, given, words) => {
    const said = await missing(given);
    expect(said).toMatch(new RegExp(words.source.replace("PATH", PATH)));
    expect(said).toMatch(/`serving up` writes it again$/);
  });

  function withoutReach() {
    const { reach: _, ...server } = document.machine.inferenceServers[0];
    return server;
  }

  it("is named wherever it was cut off", async () => {
    for (let end = 1; end < text.length - 2; end += Math.ceil(text.length / 40))
      expect(await missing(text.slice(0, end))).toMatch(/^\/state\/applied-plan\.json:\d+:\d+: /);
  });

  it("changes no object of ours by its keys", async () => {
    const key = '"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}';
    const hostile = text
      .replace('"env": {', `${key}, "env": {${key},`)
      .replace('"kv": {', `"kv": {${key},`);
    await appliedPlanIn(hostile, PATH);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

describe("the version of an applied plan", () => {
  it("is refused above this one, by its number and with what to do", async () => {
    expect(await missing('{"version": 7, "anything": []}')).toBe(
      "/state/applied-plan.json was written by a newer local-serving (plan version 7); this one reads up to version 1: update local-serving, or run `serving up`, which goes back to this version and writes the plan again",
    );
  });
});

/** What earlier versions left on machines, whose homes were `/home/me`. */
const LEFT = join(__dirname, "../fixtures/upgrade/0.1.0");

describe("a plan that 0.1.0 applied", () => {
  it.each([
    ["shipped.dgx.json", "dgx", ["b"]],
    ["everything.dgx1.json", "dgx1", ["b", "search"]],
    ["everything.dgx2.json", "dgx2", ["dgx1.b"]],
    ["applied-plan.json", "dgx", ["b"]],
  ])("is made a plan of today: %s", async (file, name, servers) => {
    const read = await appliedPlanIn(readFileSync(join(LEFT, file), "utf8"), PATH);
    if (!("plan" in read)) throw new Error(read.missing);
    expect(read.plan.name).toBe(name);
    expect(serversOn(read.plan).map(({ key }) => key)).toEqual(servers);
  });
});
