import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Drift, MachineDrift } from "../../cli/drift/drift";
import type { MachineStatus } from "../../cli/status/status";
import { isUnchanged, type MachineChange } from "../../components/change/changesOf";
import { appliedPlanIn } from "../../components/evidence/readAppliedPlan";
import type { MachinePlan } from "../../components/plan/types";
import { FakeSsh } from "../layers/fakeSsh";
import { nothingAnswers } from "../layers/nothingAnswers";
import { temporaryFolder } from "../layers/temporaryFolder";
import { FakeDocker, inspectedAsPlanned } from "./fakeDocker";
import { runServing } from "./runServing";

nothingAnswers();

/** What releases left on machines, whose homes were `/home/me`. */
const RELEASES = join(__dirname, "../fixtures/upgrade");

const STACKS: readonly (readonly [release: string, stack: string, machines: readonly string[]])[] =
  [
    ["0.1.0", "shipped", ["dgx"]],
    ["0.1.0", "everything", ["dgx1", "dgx2"]],
  ];

/**
 * Machines as that release left them: its plans, the files and containers of these, with `home` for
 * a home.
 */
async function leftBy(release: string, stack: string, machines: readonly string[]) {
  const home = temporaryFolder("upgrade-");
  const moved = (name: string) =>
    readFileSync(join(RELEASES, release, name), "utf8").replaceAll("/home/me", home);
  const file = join(home, "Pulumi.dgx.yaml");
  const elsewhere = "dockerHost: ssh://me@dgx2.local\n";
  writeFileSync(
    file,
    moved(`${stack}.yaml`).replace(elsewhere, `${elsewhere}      home: ${home}\n`),
  );
  const plans: MachinePlan[] = [];
  for (const machine of machines) {
    const text = moved(`${stack}.${machine}.json`);
    const read = await appliedPlanIn(text, machine);
    if (!("plan" in read)) throw new Error(read.missing);
    plans.push(read.plan);
    const { files, secretFiles } = read.plan;
    const kept = {
      path: join(home, ".local/share/local-serving", machine, "applied-plan.json"),
      mode: "0600",
      text,
    };
    for (const { path, mode, text } of [
      kept,
      ...files,
      ...secretFiles.map((each) => ({ ...each, text: "x" })),
    ]) {
      if (!path.startsWith(home)) continue;
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { mode: Number.parseInt(mode, 8) });
    }
  }
  const found = plans.flatMap(({ containers }) =>
    containers.map((each) => inspectedAsPlanned(each)),
  );
  // The stand-in takes the first name that begins a question.
  found.sort((a, b) => b.Name.length - a.Name.length);
  const states = found.map((each, index) => ({ ...each, Id: String(index).repeat(64) }));
  const docker = new FakeDocker({
    "ps ": { out: states.map(({ Id }) => `${Id}\n`).join("") },
    ...Object.fromEntries(
      states.map((each) => [
        `inspect --type container ${each.Name.slice(1)}`,
        { out: JSON.stringify([each]) },
      ]),
    ),
    inspect: { out: JSON.stringify(states) },
  });
  const ssh = new FakeSsh();
  const env = {
    PATH: `${ssh.folder}:${docker.env.PATH}`,
    HOME: home,
    XDG_STATE_HOME: join(home, "state"),
  };
  return async (...words: string[]) => {
    const { code, out, err } = await runServing(
      [...words, "--file", file, "--format", "json"],
      env,
    );
    return { code, err, ...JSON.parse(out) };
  };
}

/** The servers of each machine. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  dgx: ["dgx-b"],
  dgx1: ["dgx1-b", "dgx1-search"],
  dgx2: ["dgx2-dgx1.b"],
};

/** What `status` says of what is ours on each machine. */
const SHOWN: Readonly<
  Record<string, { readonly floorGiB: number; readonly states: Readonly<Record<string, string>> }>
> = {
  dgx: { floorGiB: 2, states: { b: "starting", bridge: "ready", "chat-ui": "ready" } },
  dgx1: {
    floorGiB: 2.5,
    states: { b: "starting", search: "starting", bridge: "ready", "chat-ui": "ready" },
  },
  dgx2: { floorGiB: 2, states: { "dgx1.b": "ready" } },
};

const SCRAPED = [["bridge", "label local-serving.config"]];

describe.each(STACKS)("what %s left of the stack %s", (release, stack, machines) => {
  let serving: Awaited<ReturnType<typeof leftBy>>;
  beforeAll(async () => {
    serving = await leftBy(release, stack, machines);
  });

  it("is compared by `plan --against applied`, and nothing of it changes but what is replaced on purpose", async () => {
    const { err, change } = await serving("plan", "--against", "applied");
    expect(err).toBe("");
    const all: MachineChange[] = change.machines;
    expect(all.map(({ machine }) => machine)).toEqual(machines);
    expect(all.filter((each) => !isUnchanged(each)).map(({ machine }) => machine)).toEqual(
      machines,
    );
    for (const { containers, files, machine } of all) {
      const servers = containers.filter(({ resource }) => SERVERS[machine]?.includes(resource));
      expect(servers.map(({ resource }) => resource)).toEqual(SERVERS[machine]);
      // The start gate is another: its text is their entrypoint, and its file names their models.
      // Memory segments grow now, which ranks tell each other.
      for (const { kind, changes } of servers) {
        expect(kind).toBe("replaced");
        const told = ["worker", "env LOCAL_SERVING_RANKS"];
        const others = changes.filter(({ argument }) => !told.includes(argument));
        expect(others.map(({ argument }) => argument)).toEqual([
          "entrypoint",
          "env PYTORCH_CUDA_ALLOC_CONF",
        ]);
      }
      const rest = containers.filter((each) => !servers.includes(each));
      const isScraped = stack === "everything" && machine === "dgx1";
      // Where figures are scraped, the bridge counts tokens by client now.
      const others = rest.filter(({ kind }) => kind !== "unchanged");
      expect(
        others.flatMap(({ key, changes }) => changes.map(({ argument }) => [key, argument])),
      ).toEqual(isScraped ? SCRAPED : []);
      // Claude Code's file has a variable more, the dashboard shows the GPU, and launchers name the
      // command that starts what was stopped.
      const more = /^(claude-code-settings|grafana-dashboard|launcher-.*)$/;
      expect(
        files.filter(({ role }) => !more.test(role)).map(({ role, kind }) => [role, kind]),
      ).toEqual([
        ["start-gate", "rewritten"],
        ...(isScraped ? [["bridge-config", "rewritten"]] : []),
      ]);
    }
    expect(all.flatMap(({ containers }) => containers).length).toBeGreaterThanOrEqual(3);
  });

  it("is what `drift` compares with, and the stack file is ahead by these", async () => {
    const found: MachineDrift[] = (await serving("drift")).machines;
    expect(found.map(({ machine, ahead, missing }) => ({ machine, ahead, missing }))).toEqual(
      machines.map((machine) => ({ machine, ahead: true, missing: undefined })),
    );
    // The memory, instance A, Ollama and /etc are those of this computer.
    const ours = ({ kind, where }: Drift) =>
      kind === "container" || kind === "client" || where.includes("/upgrade-");
    expect(found.flatMap(({ drifts }) => drifts.filter(ours))).toEqual([]);
  });

  it("is what `status` knows of each machine", async () => {
    const found: (MachineStatus & { drift: string })[] = (await serving("status")).machines;
    const shown = found.map(({ machine, memory, items, problem }) => {
      const ours = items.filter(({ key }) => key !== "simple-server" && key !== "instance-a");
      const states = Object.fromEntries(ours.map(({ key, state }) => [key, state]));
      return { machine, floorGiB: memory?.floorGiB, states, problem };
    });
    expect(shown).toEqual(
      machines.map((machine) => ({ machine, ...SHOWN[machine], problem: undefined })),
    );
    for (const { drift } of found)
      expect(drift).toMatch(/^(as it was applied|\d+ things? differs? from what was applied)/);
  });
});
