import { overlap, subnetOf } from "@local-serving/machines/subnet";
import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { judgeOnDemand } from "../../components/preflight/judgeOnDemand";
import { factsIn } from "../../components/preflight/readOnDemand";
import type { MachineFacts, OnDemandFacts } from "../../components/preflight/types";
import { stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";

const OWN = "/home/me/.local/share/local-serving/dgx/on-demand/llama-swap";
const ready: OnDemandFacts = {
  user: "me",
  python: "3.12",
  lacks: [],
  lingers: true,
  networks: [],
  routes: [],
};

function judged(facts: Partial<OnDemandFacts> = {}, more: Partial<MachineFacts> = {}) {
  const onDemand = {
    program: { version: "v250", sha256: "0".repeat(64) },
    keyVariable: "ON_DEMAND_KEY",
  };
  const settings = stack(
    { onDemand, bridge: { ...BRIDGE, servers: ["b"] } },
    { start: "onRequest" },
  );
  const [machine] = plan(settings, { home: "/home/me" }).machines;
  if (machine === undefined) throw new Error("no machine planned");
  return judgeOnDemand(machine, {
    docker: { reachable: true, gpuRuntime: true, containers: [] },
    listeners: [],
    directories: [],
    fileFolders: [],
    faultyVariables: [],
    kernel: { kernel: "", kernelArguments: [] },
    onDemand: { ...ready, ...facts },
    ...more,
  });
}

const refused = (message: string, setting?: string) => [
  { verdict: "refused", message, ...(setting === undefined ? {} : { setting }) },
];

describe("the preflight of models on demand", () => {
  it("has nothing to say of a machine that is ready, or whose llama-swap runs", () => {
    expect(judged()).toEqual([]);
    const argv = [OWN, "-config", "config.yaml"];
    expect(judged({}, { listeners: [{ port: 8010, pid: 1, argv }] })).toEqual([]);
  });

  it.each<[string, Partial<OnDemandFacts>, string]>([
    [
      "no Python",
      { python: "" },
      "llama-swap needs Python 3.8 or later, with which it starts and stops containers: install `python3` on this machine.",
    ],
    [
      "an old Python",
      { python: "3.6" },
      "python3 on this machine is 3.6, but llama-swap needs Python 3.8 or later, with which it starts and stops containers.",
    ],
    [
      "no Docker client",
      { lacks: ["docker"] },
      "There is no `docker` on this machine to start and stop containers: install Docker's command line (`docker-ce-cli`).",
    ],
    [
      "no systemd",
      { lacks: ["systemctl"], noManager: "sh: systemctl: not found" },
      "There is no `systemctl` on this machine to run llama-swap: without systemd, delete `onDemand` and use `serving start NAME`.",
    ],
    [
      "no user manager",
      { lingers: false, noManager: "Failed to connect to bus: No medium found" },
      "systemd runs no user manager for me (Failed to connect to bus: No medium found), and llama-swap runs as one of its units. `sudo loginctl enable-linger me` starts one now and at each boot.",
    ],
    [
      "a user manager that doesn't answer",
      { noManager: "Connection refused" },
      "systemd's user manager of me doesn't answer (Connection refused), and llama-swap runs as one of its units: check `systemctl status user@$(id -u)`.",
    ],
  ])("refuses %s", (_, facts, message) => {
    expect(judged(facts)).toEqual(refused(message));
  });

  it("says that `up` switches linger on", () => {
    expect(judged({ lingers: false })).toEqual([
      {
        verdict: "warned",
        message:
          "Units of me end at logout (linger is off): `up` switches it on (`loginctl enable-linger`), so that llama-swap keeps running and starts at boot.",
      },
    ]);
  });

  it("refuses a port that somebody else has", () => {
    const message =
      "Port 8010 of llama-swap is in use by something that isn't ours. Check with `ss -lntp 'sport = :8010'`, then stop it or choose another `onDemand.port`.";
    for (const argv of [["nginx"], undefined])
      expect(judged({}, { listeners: [{ port: 8010, ...(argv && { argv }) }] })).toEqual(
        refused(message, "onDemand.port"),
      );
  });

  it("refuses a program that can't come", () => {
    const problem = "http://x is not there (404): is v250 a release?";
    const needs = { images: [], models: [], disks: [], rootless: false };
    const program = { kind: "program", name: "llama-swap v250", problem } as const;
    expect(judged({}, { needs: { ...needs, program } })).toEqual(
      refused(problem, "onDemand.program"),
    );
    const missing = { kind: "program", name: "llama-swap v250", bytes: 9 } as const;
    expect(judged({}, { needs: { ...needs, program: missing } })).toEqual([]);
  });

  it("refuses a subnet that something else has, its own network and interface excepted", () => {
    const own = {
      id: "0123456789abcdef",
      name: "local-serving-on-demand",
      subnets: ["172.31.241.0/28"],
    };
    const route = (name: string, text: string) => ({
      name,
      subnet: subnetOf(text) ?? { first: 0, prefix: 0 },
    });
    const fine = [route("br-0123456789ab", "172.31.241.0/28"), route("eth0", "192.168.1.0/24")];
    expect(judged({ networks: [own], routes: fine })).toEqual([]);
    const other = { id: "f".repeat(16), name: "theirs", subnets: ["fd00::/64", "172.31.0.0/16"] };
    const message = (what: string) =>
      `The subnet 172.31.241.0/28 between llama-swap and the containers that ask it overlaps ${what}: write another private one as \`onDemand.subnet\`, such as 10.213.7.0/28.`;
    expect(
      judged({
        networks: [own, other],
        routes: [
          ...fine,
          route(`br-${"f".repeat(12)}`, "172.31.0.0/16"),
          route("wg0", "172.16.0.0/12"),
        ],
      }),
    ).toEqual([
      ...refused(message("the Docker network theirs (172.31.0.0/16)"), "onDemand.subnet"),
      ...refused(message("a route of this machine (`ip route show dev wg0`)"), "onDemand.subnet"),
    ]);
  });

  it("reads routes as the kernel writes them", () => {
    const said = [
      "user me",
      "python 3.11",
      "lacks flock",
      "manager Failed to connect to bus",
      "route eth0 00000000 00000000",
      "route wg0 0000A8C0 00FFFFFF",
      "",
    ].join("\n");
    expect(factsIn(said)).toEqual({
      user: "me",
      python: "3.11",
      lacks: ["flock"],
      noManager: "Failed to connect to bus",
      lingers: false,
      routes: [{ name: "wg0", subnet: subnetOf("192.168.0.0/24") }],
    });
  });

  it.each([
    ["10.0.0.0/8", "10.213.7.0/28", true],
    ["172.31.241.0/28", "172.31.241.16/28", false],
    ["172.31.241.16/28", "172.31.241.0/24", true],
  ])("takes %s and %s for overlapping: %s", (one, other, expected) => {
    const [a, b] = [subnetOf(one), subnetOf(other)];
    expect(a && b && [overlap(a, b), overlap(b, a)]).toEqual([expected, expected]);
    expect(subnetOf("fd00::/64")).toBeUndefined();
  });
});
