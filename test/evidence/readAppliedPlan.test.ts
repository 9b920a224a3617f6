import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { appliedPlanIn, readAppliedPlan } from "../../components/evidence/readAppliedPlan";
import { filesOf } from "../../components/host/files";
import { plan } from "../../components/plan/plan";
import { HERE } from "../../components/planned/reach";
import { stack } from "../fixtures/machine";
import { ranks } from "../fixtures/ranks";
import { IS_ROOT, NOBODY } from "../host/hostFileRun";
import { temporaryFolder } from "../layers/temporaryFolder";

const EVERYTHING = {
  bridge: { image: `ghcr.io/berriai/litellm:v1@sha256:${"0".repeat(64)}`, keyVariable: "BRIDGE_KEY" },
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
    ["an Ollama inside the chat UI", stack({ chatUi: EVERYTHING.chatUi, simpleServer: { mode: "integrated" } })],
    ["nothing at all", stack({ inferenceServers: {}, instanceA: "none" })],
  ])("is read as it was written: %s", async (_, settings) => {
    const { machine, record } = machineAt(temporaryFolder("applied-plan-"), settings);
    mkdirSync(dirname(record.path), { recursive: true });
    writeFileSync(record.path, record.text);
    const { files, ...planned } = machine;
    const found = await read(machine);
    expect(found).toEqual({
      // The record doesn't hold itself, and JSON has no key without a value.
      plan: JSON.parse(JSON.stringify({ ...planned, files: files.filter(({ role }) => role !== "applied-plan") })),
    });
  });

  it("is read of a worker, too", () => {
    const [, worker] = plan(ranks(), { home: "/home/me" }).machines;
    const text = worker?.files.find(({ role }) => role === "applied-plan")?.text ?? "";
    expect(appliedPlanIn(text, "/x")).toMatchObject({ plan: { name: "dgx2", ranks: [{ key: "dgx1.b" }] } });
  });

  it("is missing before the first update, with its path", async () => {
    const { machine, record } = machineAt(temporaryFolder("applied-plan-"));
    expect(await read(machine)).toEqual({
      missing: `${record.path} is not there: nothing is applied, or by another user or with another \`stateDirectory\``,
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

  it.each([
    ["", "it is no such record"],
    ["[]", "it is no such record"],
    ['{"machine": {"inferenceServers": "b"}}', "see machine.name"],
  ])("is not known where another program or version wrote %j", (text, where) => {
    expect(appliedPlanIn(text, "/state/applied-plan.json")).toEqual({
      missing: `/state/applied-plan.json was not written by this version of local-serving (${where}): \`npm run up\` writes it anew`,
    });
  });

  it("may hold more than this version knows, and not less", () => {
    const { record } = machineAt("/home/me");
    const { machine, ...about } = JSON.parse(record.text);
    const more = { ...about, machine: { ...machine, monitoring: {} } };
    expect(appliedPlanIn(JSON.stringify(more), "/x")).toMatchObject({ plan: { name: "dgx", monitoring: {} } });
    const { kv: _, ...less } = machine;
    expect(appliedPlanIn(JSON.stringify({ machine: less }), "/x")).toMatchObject({
      missing: expect.stringContaining("(see machine.kv)"),
    });
  });

  it.each([
    ["reach", undefined, "reach"],
    ["reach", { key: "b", name: "b", address: "127.0.0.1", path: "/v1" }, "reach.port"],
    ["reach", { key: "b", name: "b", address: "127.0.0.1", port: 0, path: "/v1" }, "reach.port"],
    ["reach", { key: "b", name: "b", port: 8001, path: "/v1" }, "reach.address"],
    ["rank", { index: 0 }, "rank.nodes"],
    ["hubModels", [{}], "hubModels.0.id"],
  ])("is named where a server has no usable %s: %j", (key, value, where) => {
    const { record } = machineAt("/home/me");
    const { machine, ...about } = JSON.parse(record.text);
    const inferenceServers = [{ ...machine.inferenceServers[0], [key]: value }];
    expect(appliedPlanIn(JSON.stringify({ ...about, machine: { ...machine, inferenceServers } }), "/x")).toEqual({
      missing: `/x was not written by this version of local-serving (see machine.inferenceServers.0.${where}): \`npm run up\` writes it anew`,
    });
  });
});
