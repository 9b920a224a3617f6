import { containersOf } from "@local-serving/machines/docker/containers";
import { describe, expect, it } from "vitest";
import { onDemandDifferences } from "../../../cli/drift/onDemand";
import type { Host } from "../../../cli/sees/host";
import { inspectedAsPlanned } from "../fakeDocker";
import { emptyHost } from "../verify/environment";
import { MadeMachine, RUNNING, SHA, STOPPED, type State } from "./madeMachine";
import { StandInSwap, type SwapSays } from "./standInSwap";

const UNIT = "ActiveState=active\nUnitFileState=enabled\nLinger=yes\n";
const NAME = "local-serving-dgx-on-demand.service";

/** What differs of a machine on which these things are found. */
async function drift(
  {
    says = {},
    states = {},
    unit = UNIT,
    version = "version: 250 (60226b6), built at 2026",
    subnet = "172.31.241.0/28",
  }: {
    says?: SwapSays;
    states?: Record<string, State>;
    unit?: string;
    version?: string;
    subnet?: string | undefined;
  } = {},
  more: object = {},
) {
  const { port } = await StandInSwap.start(says);
  const made = new MadeMachine({ port, states, onDemand: more });
  const network = { name: "net-on-demand", subnet: "172.31.241.0/28", gateway: "172.31.241.1" };
  const machine = { ...made.plan, onDemand: { ...made.plan.onDemand, network } };
  const containers = containersOf(
    machine.inferenceServers.map(({ key, container }) =>
      inspectedAsPlanned(container, states[key] ?? STOPPED),
    ),
  );
  const host: Host = emptyHost({
    containers: async () => containers,
    docker: async ([, word]) => {
      if (word === "ls") return subnet === "" ? "" : "4711\n";
      return JSON.stringify([{ IPAM: { Config: [{ Subnet: subnet }] } }]);
    },
    ask: async ([program]) => ({
      ...{ code: version === "" && program !== "sh" ? 127 : 0, err: "" },
      out: program === "sh" ? unit : version,
    }),
  });
  const found = await onDemandDifferences(machine, host);
  return found.map(({ where, says: said, after, up }) => [where, said, after ?? (up && "up")]);
}

describe("drift of what llama-swap starts", () => {
  it.each([[STOPPED], [{ Status: "created" }], [{ Status: "exited", ExitCode: 143 }]])(
    "is nothing where one is %o",
    async (state) => {
      expect(await drift({ states: { b: state } })).toEqual([]);
    },
  );

  it("is nothing where it runs and llama-swap knows it", async () => {
    expect(await drift({ states: { b: RUNNING }, says: { states: { b: "ready" } } })).toEqual([]);
  });

  it("is an orphan, and an end that nobody asked for", async () => {
    expect(await drift({ states: { b: RUNNING, c: { Status: "exited", ExitCode: 1 } } })).toEqual([
      ["vllm-b-1", "runs, but llama-swap doesn't know it", "serving stop b"],
      ["vllm-c-2", "ended with exit code 1", "serving start c --again"],
    ]);
    const killed = { Status: "exited", ExitCode: 137, OOMKilled: true };
    expect(await drift({ states: { c: killed } })).toEqual([
      ["vllm-c-2", "was killed for memory", "serving start c --again"],
    ]);
  });

  it("is a unit that doesn't run, doesn't start, or ends at a logout", async () => {
    const unit = "ActiveState=failed\nUnitFileState=disabled\nLinger=no\n";
    expect(await drift({ unit })).toEqual([
      [NAME, "is failed", `systemctl --user start ${NAME}`],
      [NAME, "is disabled: it doesn't start with the machine", `systemctl --user enable ${NAME}`],
      [
        NAME,
        "ends when its user logs out, and doesn't start with the machine: linger is off",
        "loginctl enable-linger",
      ],
    ]);
    await expect(drift({ unit: "" })).rejects.toThrow(
      `The user's systemd on dgx doesn't report the state of ${NAME}.`,
    );
  });

  it("is another program, and one that isn't there", async () => {
    expect(await drift({ version: "version: 249 (abc), built at 2026" })).toMatchObject([
      [
        expect.stringMatching(/on-demand\/llama-swap$/),
        "has version v249, but v250 is planned",
        "up",
      ],
    ]);
    expect(await drift({ version: "" })).toMatchObject([[expect.any(String), "is missing", "up"]]);
    const own = { program: { version: "v250", sha256: SHA, from: "/opt/llama-swap" } };
    expect(await drift({ version: `${SHA}  /x` }, own)).toEqual([]);
    const other = "ab".repeat(32);
    expect(await drift({ version: `${other}  /x` }, own)).toMatchObject([
      [expect.any(String), `has sum ${other}, but ${SHA} is planned`, "up"],
    ]);
  });

  it("is a network with another subnet, and one that isn't there", async () => {
    expect(await drift({ subnet: "10.9.0.0/16" })).toEqual([
      ["net-on-demand", "has subnet 10.9.0.0/16, but 172.31.241.0/28 is planned", "up"],
    ]);
    expect(await drift({ subnet: "" })).toEqual([["net-on-demand", "is missing", "up"]]);
  });
});
