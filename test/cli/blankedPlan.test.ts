import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { indented, UNBOUNDED } from "@local-serving/base/commandLine/layout";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { dockerRun } from "../../cli/plan/dockerRun";
import { partText, planText } from "../../cli/plan/planText";
import { planScreen } from "../../cli/plan/screen/planScreen";
import { namedOn } from "../../cli/stack/named";
import * as planning from "../../components/plan/plan";
import type { MachinePlan, Plan } from "../../components/plan/types";
import type { PlannedContainer } from "../../components/planned/container";
import * as declared from "../../components/program/machine/declaredResources";
import { loadStackFile } from "../../components/settings/load";
import { BLANK, blankedPlan } from "../fixtures/blankedPlan";
import { serverInput } from "../fixtures/machine";
import { ALL_CLIENTS, BRIDGE, CHAT_UI } from "../fixtures/services";
import { nothingAnswers } from "../layers/nothingAnswers";
import { temporaryFolder } from "../layers/temporaryFolder";
import { FakeDocker, inspectedAsPlanned } from "./fakeDocker";
import { runServing } from "./runServing";

nothingAnswers();

const { plan } = planning;
const { declaredResources } = declared;

const home = temporaryFolder("blanked-plan-");
const file = join(home, "Pulumi.dgx.yaml");
const dgx = {
  totalGiB: 121.63,
  memoryFloorGiB: 2.5,
  instanceA: { port: 1, gpuMemoryUtilization: 0.02 },
  inferenceServers: {
    b: serverInput({ gpuMemoryUtilization: 0.02, huggingFaceTokenVariable: "HF_TOKEN" }),
  },
  bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" },
  chatUi: {
    ...CHAT_UI,
    administrator: { emailVariable: "CHAT_EMAIL", passwordVariable: "CHAT_PASSWORD" },
  },
  clients: ALL_CLIENTS,
  monitoring: "scrape",
  harness: {},
  simpleServer: { mode: "host", port: 2, systemdDirectory: join(home, "systemd"), keepAlive: "5m" },
};
writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));

/** Policies read containers' arguments: they get those of the plan that was blanked. */
const originals = new WeakMap<Plan, Plan>();
function blank(original: Plan): Plan {
  const made = blankedPlan(original);
  originals.set(made, original);
  return made;
}

/** A line that doctor knows, and the last that Docker has of any container. */
const LOG =
  "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.\n";

/**
 * Lays out a machine as this plan has it, and then spoils it: every file edited, containers
 * changed, stopped and gone.
 */
function laidOut(machine: MachinePlan): Record<string, string> {
  for (const { path, mode, text } of [
    ...machine.files,
    ...machine.secretFiles.map((each) => ({ ...each, text: "x" })),
  ]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, Number.parseInt(mode, 8));
    if (!path.endsWith("applied-plan.json")) appendFileSync(path, "# edited\n");
    writeFileSync(`${path}.edited`, "");
  }
  const [b, ...services] = machine.containers;
  const found = [
    ...(b === undefined ? [] : [inspectedAsPlanned({ ...b, env: { ...b.env, MAX_JOBS: "64" } })]),
    ...services.map((each) =>
      inspectedAsPlanned(each, each.role === "chat-ui" ? { Status: "exited" } : {}),
    ),
  ].map((each, index) => ({ ...each, Id: String(index).repeat(64) }));
  const docker = new FakeDocker({
    "ps ": { out: found.map(({ Id }) => `${Id}\n`).join("") },
    ...Object.fromEntries(
      found.map((each) => [
        `inspect --type container ${each.Name.slice(1)}`,
        { out: JSON.stringify([each]) },
      ]),
    ),
    inspect: { out: JSON.stringify(found) },
    logs: { out: LOG },
    "volume ls": { out: `${machine.network}-old\n` },
    images: {},
    "network ls": {},
  });
  const unit =
    "ActiveState=active\nNeedDaemonReload=no\nMainPID=0\nEnvironment=OLLAMA_KEEP_ALIVE=1h\n";
  const programs = { systemctl: `printf '%s' '${unit}'`, journalctl: "echo what Ollama says" };
  for (const [name, does] of Object.entries(programs))
    writeFileSync(join(docker.folder, name), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  return { ...docker.env, HOME: home, XDG_STATE_HOME: join(home, "state") };
}

const COMMANDS = [
  ["status"],
  ["drift"],
  ["inventory", "--leftovers"],
  ["doctor"],
  ["logs", "b"],
  ["logs", "bridge"],
  ["logs", "chat-ui"],
  ["logs", "simple-server"],
];

/** Of everything with a name on the machine. */
const STATES = [
  { key: "b", state: "starting" },
  { key: "bridge", state: "ready" },
  { key: "chat-ui", state: "exited" },
  { key: "simple-server", state: "does not answer" },
  { key: "instance-a", state: "does not answer" },
];

/** What each command answers, but for how much memory is free in this moment. */
async function answers(env: Record<string, string>): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {};
  for (const words of COMMANDS) {
    const { code, out, err } = await runServing(
      [...words, "--file", file, "--format", "json"],
      env,
    );
    said[words.join(" ")] = {
      code,
      err,
      answer: JSON.parse(out.replace(/"availableGiB": [\d.]+/, '"availableGiB": 0')),
    };
  }
  return said;
}

let whole: Record<string, unknown>;
let blankOnes: Record<string, unknown>;
beforeAll(async () => {
  const [machine] = plan(loadStackFile(file), { home }).machines;
  if (machine === undefined) throw new Error("no machine");
  whole = await answers(laidOut(machine));
  const plans = vi.spyOn(planning, "plan").mockImplementation((...given) => blank(plan(...given)));
  vi.spyOn(declared, "declaredResources").mockImplementation((made) =>
    declaredResources(originals.get(made) ?? made),
  );
  const [blanked] = planning.plan(loadStackFile(file), { home }).machines;
  if (blanked === undefined) throw new Error("no machine");
  blankOnes = await answers(laidOut(blanked));
  expect(plans.mock.calls.length).toBeGreaterThan(COMMANDS.length);
});
afterAll(() => vi.restoreAllMocks());

describe("a plan whose rendered texts are all blanked", () => {
  it.each(COMMANDS.map((words) => words.join(" ")))("gives the same answers: %s", (command) => {
    expect(blankOnes[command]).toEqual(whole[command]);
  });

  it("was asked what tells something: each kind of drift, states, leftovers, a diagnosis, logs", () => {
    const drifts = Object(whole.drift).answer.machines[0].drifts as { kind: string }[];
    const kinds = ["client", "container", "file", "simple-server"];
    expect(drifts.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
    expect(whole).toMatchObject({
      status: { answer: { machines: [{ memory: { floorGiB: 2.5 }, items: STATES }] } },
      doctor: { code: 1, answer: { diagnoses: expect.arrayContaining([expect.anything()]) } },
      "logs b": { answer: { logs: [{ lines: [LOG.trim()] }] } },
      "logs simple-server": { answer: { logs: [{ lines: ["what Ollama says"] }] } },
    });
    expect(Object(whole["inventory --leftovers"]).answer.leftovers.length).toBeGreaterThan(10);
  });

  it.each([file, "test/fixtures/upgrade/0.1.0/everything.yaml", "Pulumi.dgx.yaml"])(
    "is told in the same words: %s",
    (stack) => {
      const original = plan(loadStackFile(stack), { home });
      const made = blankedPlan(original);
      expect(planScreen(made, [])).toBe(planScreen(original, []));
      const shown = (each: Plan) => [
        planText(each, [], UNBOUNDED),
        ...each.machines.flatMap(namedOn).map((part) => partText(part, UNBOUNDED)),
      ];
      expect(shown(made)).toEqual(shown(original).map((text) => withBlanks(text, original, made)));
    },
  );

  it("holds none of them", () => {
    const text = JSON.stringify(blankedPlan(plan(loadStackFile(file), { home })));
    for (const rendered of ["#!/bin/sh", "exec ", "model_list", "urllib"])
      expect(text).not.toContain(rendered);
  });
});

/** A text with each rendered text in it blanked. */
function withBlanks(text: string, { machines }: Plan, made: Plan): string {
  const pairs = machines.flatMap((machine, at) => {
    const other = made.machines[at];
    return [
      ...machine.files.map((each) => [indented(each.text), indented(BLANK)] as const),
      ...machine.containers.map((each, index) => {
        const shown = ({ gate, entrypoint, ...rest }: PlannedContainer) =>
          indented(dockerRun({ ...rest, entrypoint: gate?.starts ?? entrypoint }));
        return [shown(each), shown(other?.containers[index] ?? each)] as const;
      }),
    ];
  });
  const lines = / \d+ lines of sh:/g;
  return pairs
    .reduce((done, [from, to]) => done.replaceAll(from, () => to), text)
    .replaceAll(lines, " 1 lines of sh:");
}
