import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { parseStackFile } from "../../components/settings/load";
import { faultLines } from "../fixtures/faults";
import { serverInput, stack } from "../fixtures/machine";
import { ALL_CLIENTS, BRIDGE } from "../fixtures/services";

const evidence = { home: "/home/you" };
const THERE = {
  dockerHost: "ssh://me@spark.local",
  bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" },
};
const BRIDGED = Object.fromEntries(Object.keys(ALL_CLIENTS).map((key) => [key, { via: "bridge" }]));
const machineOf = (machine: Record<string, unknown>) => plan(stack(machine), evidence).machines[0];

const faultsOf = (machine: Record<string, unknown>) =>
  faultLines(() => plan(stack(machine), evidence));

describe("clients.on", () => {
  it("here writes the clients' files of a machine over ssh on this computer, and nothing else", () => {
    const machine = machineOf({ ...THERE, clients: { ...BRIDGED, on: "here" } });
    const files = machine?.files.filter(({ here }) => here);
    expect(files?.map(({ path }) => path.replace("/home/you/", ""))).toEqual(
      machine?.clients.flatMap((client) =>
        client.files.map(({ path }) => path.replace("/home/you/", "")),
      ),
    );
    expect(files?.every(({ path }) => path.startsWith("/home/you/"))).toBe(true);
    expect(files?.length).toBe(14);
    expect(machine?.files.filter(({ here }) => !here).map(({ role }) => role)).toEqual([
      ...["start-gate", "bridge-config", "applied-plan"],
    ]);
    expect(
      machine?.files.filter(({ here }) => !here).every(({ path }) => path.startsWith("/home/me/")),
    ).toBe(true);
    expect(machine?.home).toBe("/home/me");
  });

  it("here names the machine as other computers do, and asks the bridge alone", () => {
    const launcher = (clients: Record<string, unknown>) =>
      machineOf({ ...THERE, clients })?.files.find(({ role }) => role === "launcher-codex")?.text;
    const text = launcher({ codex: { via: "bridge" }, on: "here" });
    expect(text).toContain("check 'the bridge' \\\n  'http://spark.local:8787/v1/models'");
    expect(text).not.toMatch(/127\.0\.0\.1|the inference server/);
    expect(text).toContain("CODEX_HOME='/home/you/.codex'");
    expect(launcher({ codex: { via: "bridge" }, on: "here", host: "10.0.0.7" })).toContain(
      "'http://10.0.0.7:8787/v1",
    );
  });

  it("is machine over ssh, and here for a local engine, where both are the same", () => {
    const clients = { codex: { via: "bridge" } };
    const of = (on: Record<string, unknown>, more: Record<string, unknown>) =>
      machineOf({ ...more, clients: { ...clients, ...on } });
    expect(of({}, THERE)).toEqual(of({ on: "machine" }, THERE));
    expect(of({}, THERE)?.clients[0]?.command).toBe("/home/me/.local/bin/local-codex");
    expect(of({}, { bridge: BRIDGE })).toEqual(of({ on: "here" }, { bridge: BRIDGE }));
    expect(of({}, { bridge: BRIDGE })).toEqual(of({ on: "machine" }, { bridge: BRIDGE }));
  });

  const OR = "Or leave the clients' files on the machine: `clients.on: machine`.";
  const NATIVE =
    "machines.dgx.clients.codex.via: codex talks to `b` directly, which listens only on 127.0.0.1: no other computer can reach it. Write `clients.codex.via: bridge`";
  const BRIDGE_THERE = {
    dockerHost: THERE.dockerHost,
    bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" },
  };

  it("here is refused where this computer reaches nothing, with what to write; that plans", () => {
    expect(
      faultsOf({ ...BRIDGE_THERE, clients: { on: "here", claudeCode: {}, codex: {} } }),
    ).toEqual([
      `${NATIVE}. ${OR}`,
      `machines.dgx.bridge.listen: The bridge listens only on 127.0.0.1: no other computer can reach it. Write \`bridge.listen: 0.0.0.0\`. ${OR}`,
    ]);
    expect(
      faultsOf({ ...THERE, clients: { on: "here", claudeCode: {}, codex: { via: "bridge" } } }),
    ).toEqual([]);
    expect(
      faultsOf({ ...BRIDGE_THERE, clients: { on: "machine", claudeCode: {}, codex: {} } }),
    ).toEqual([]);
  });

  it("here asks for a bridge where there is none, or none with the server behind it", () => {
    const put = ", with `b` behind a `bridge` on the network (guide: on the local network)";
    expect(faultsOf({ dockerHost: THERE.dockerHost, clients: { on: "here", codex: {} } })).toEqual([
      `${NATIVE}${put}. ${OR}`,
    ]);
    const instanceA = { gpuMemoryUtilization: 0.45, servedModelName: "old" };
    const bridge = { ...THERE.bridge, servers: ["instance-a"] };
    expect(faultsOf({ ...THERE, instanceA, bridge, clients: { on: "here", codex: {} } })).toEqual([
      `${NATIVE}${put}. ${OR}`,
    ]);
  });

  it("here asks by which name, where an address of ssh says none", () => {
    const tunnel = { ...THERE, dockerHost: "ssh://me@localhost:2222" };
    expect(faultsOf({ ...tunnel, clients: { on: "here", codex: { via: "bridge" } } })).toEqual([
      `machines.dgx.clients.host: Other computers need a name or address to reach the machine. Write one, such as \`clients.host: dgx.local\`. ${OR}`,
    ]);
    const named = { on: "here", host: "dgx.local", codex: { via: "bridge" } };
    expect(faultsOf({ ...tunnel, clients: named })).toEqual([]);
  });

  it("here reaches a server that listens on the network itself", () => {
    const clients = { on: "here", codex: {} };
    const planned = plan(
      stack({ dockerHost: THERE.dockerHost, clients }, { listen: "0.0.0.0" }),
      evidence,
    );
    expect(planned.machines[0]?.clients[0]?.baseUrl).toBe("http://spark.local:8001/v1");
  });

  it("says the line of the stack file", () => {
    const text = `config:
  local-serving:machines:
    dgx:
      totalGiB: 121.63
      instanceA: none
      dockerHost: ssh://me@spark.local
      inferenceServers:
        b: ${JSON.stringify(serverInput())}
      clients:
        on: here
        codex: { via: native }
`;
    expect(() => plan(parseStackFile("Pulumi.t.yaml", text), evidence)).toThrow(
      "Pulumi.t.yaml:11:23 machines.dgx.clients.codex.via",
    );
  });

  it("here on two machines needs two folders", () => {
    const both = (a: Record<string, unknown>) =>
      faultsOfMachines({ a: { ...THERE, clients: { on: "here", pi: { via: "bridge" }, ...a } } });
    expect(both({})).toEqual([
      "machines.dgx: pi-models of dgx and pi-models of a would both be written to /home/you/.local/share/local-serving/clients/pi/models.json: remove one, or change its folder.",
      "machines.dgx: launcher-pi of dgx and launcher-pi of a would both be written to /home/you/.local/bin/local-pi: remove one, or change its folder.",
    ]);
    expect(both({ folder: "~/a", launcherFolder: "~/a/bin" })).toEqual([]);
  });

  function faultsOfMachines(more: Record<string, Record<string, unknown>>): string[] {
    const one = stack({ clients: { pi: {} } });
    const others = Object.entries(more).map(
      ([name, machine]) => [name, stack(machine).machines.dgx] as const,
    );
    const machines = {
      ...Object.fromEntries(others.flatMap(([name, m]) => (m ? [[name, m]] : []))),
      ...one.machines,
    };
    return faultLines(() => plan({ machines }, evidence));
  }
});
