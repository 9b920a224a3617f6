import { afterEach, describe, expect, it, vi } from "vitest";
import { fromMachine } from "../../../cli/doctor/read/fromMachine";
import { type Picture, type Stack, serverOf } from "../../../cli/rules/picture";
import { reportsOf } from "../../../cli/rules/report";
import { plan } from "../../../components/plan/plan";
import { ranks } from "../../fixtures/ranks";
import { FakeDocker, inspected } from "../fakeDocker";
import { hideThisMachine } from "../runServing";
import { container } from "./cases";

const HEAD = "vllm-model-8001";
const WORKER = `${HEAD}-rank1`;

function stacks() {
  const settings = ranks(
    {},
    { dockerHost: "unix:///run/one.sock" },
    { dockerHost: "unix:///run/two.sock" },
  );
  const { machines } = plan(settings, { home: "/home/me" });
  return machines.map((machine) => {
    const own = settings.machines[machine.name];
    if (own === undefined) throw new Error("a planned machine has settings");
    const stack: Stack = {
      file: "Pulumi.dgx.yaml",
      text: "",
      machine: machine.name,
      refusals: [],
      warnings: [],
      settings: own,
      plan: machine,
      machines,
      planned: () => stack,
    };
    return stack;
  });
}

const log = (container: string): Picture["logs"][number] => ({
  name: container,
  kind: "container",
  container,
  hits: new Map(),
  lines: 0,
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe("doctor, for a server over two machines", () => {
  it("takes a worker's log for its server's, and names the setting below the head, from either machine", () => {
    for (const stack of stacks()) {
      const { key, container, set } = serverOf({ logs: [], stack }, log(WORKER));
      expect([key, container]).toEqual(["b", WORKER]);
      expect(set(["maxNumSeqs"], 2)).toEqual({
        path: ["machines", "dgx1", "inferenceServers", "b", "maxNumSeqs"],
        value: 2,
      });
    }
  });

  it("knows the settings of the server on the machine of its head", () => {
    const known = stacks().map(
      (stack) => serverOf({ logs: [], stack }, log(HEAD)).settings?.maxModelLen,
    );
    expect(known).toEqual([262144, undefined]);
  });

  it("judges the containers of all ranks, from either machine", () => {
    const killed = { ...container({ name: WORKER }), status: "exited", exitCode: 137 };
    for (const stack of stacks()) {
      const facts = {
        logs: [],
        stack: { ...stack, refusals: [] },
        containers: [container({ name: HEAD }), killed],
      };
      expect(reportsOf(facts).map(({ id, evidence }) => `${id}: ${evidence}`)).toEqual([
        `killed: container ${WORKER}: exited, exit code 137, 0 restarts`,
      ]);
    }
  });

  it("reads containers and logs of all ranks, and says which could not be read", async () => {
    const all = [HEAD, WORKER].map((name) => inspected({ name }));
    const docker = new FakeDocker({
      ps: { out: "4711\n4712\n" },
      "inspect 4711": { out: JSON.stringify(all) },
      "logs --tail 50000": { out: "Application startup complete.\n" },
    });
    vi.stubEnv("PATH", docker.env.PATH ?? "");
    hideThisMachine();
    const [stack] = stacks();
    if (stack === undefined) throw new Error("nothing planned");
    const { facts } = await fromMachine(stack);
    expect(facts.logs.map(({ container }) => container)).toEqual([HEAD, WORKER]);
    const machines = stack.machines.map((each) =>
      each.name === "dgx2" ? { ...each, dockerHost: "ssh://nobody@nowhere.invalid" } : each,
    );
    vi.stubEnv("PATH", docker.folder);
    const { notes } = await fromMachine({ ...stack, machines });
    expect(notes.some((note) => note.startsWith(`${WORKER} on dgx2 could not be read: `))).toBe(
      true,
    );
  });
});
