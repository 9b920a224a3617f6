import { describe, expect, it } from "vitest";
import {
  type OnDemandBlocks,
  onDemandListener,
} from "../../components/services/on-demand/listener";
import { stack } from "../fixtures/machine";
import { machine, ON_DEMAND, onRequest, RESIDENT } from "../fixtures/onDemand";
import { BRIDGE, CHAT_UI } from "../fixtures/services";

const of = (more: Record<string, unknown>): OnDemandBlocks => {
  const { dgx } = stack(machine(more)).machines;
  if (dgx === undefined) throw new Error("a stack of one machine has one");
  return dgx;
};

const LOOPBACK = { address: "127.0.0.1", port: 8010, keyVariable: ON_DEMAND.keyVariable };
const GATEWAY = {
  address: "172.31.241.1",
  port: 8010,
  onLink: true,
  network: {
    name: "local-serving-on-demand",
    subnet: "172.31.241.0/28",
    gateway: "172.31.241.1",
  },
  keyVariable: ON_DEMAND.keyVariable,
};

const embed = onRequest("embed", 8004, { model: { id: "org/embed", kind: "embedding" } });

describe("where llama-swap listens", () => {
  it.each([
    ["no container", {}, LOOPBACK],
    ["a bridge", { bridge: BRIDGE }, GATEWAY],
    ["a bridge before another server", { bridge: { ...BRIDGE, servers: ["b"] } }, LOOPBACK],
    ["a bridge that names one", { bridge: { ...BRIDGE, servers: ["b", "c"] } }, GATEWAY],
    ["a chat UI", { chatUi: CHAT_UI }, GATEWAY],
    ["a chat UI of another server", { chatUi: { ...CHAT_UI, connections: ["b"] } }, LOOPBACK],
    [
      "a chat UI that searches documents with one",
      {
        chatUi: { ...CHAT_UI, connections: ["b"] },
        inferenceServers: { b: RESIDENT, e: embed },
      },
      GATEWAY,
    ],
  ])("with %s", (_, more, expected) => {
    expect(onDemandListener(of(more))).toEqual(expected);
  });

  it("takes the first address of the subnet, its own port and network's name", () => {
    const onDemand = { ...ON_DEMAND, subnet: "10.9.8.240/28", port: 9000 };
    expect(onDemandListener(of({ bridge: BRIDGE, onDemand, network: "other" }))).toMatchObject({
      address: "10.9.8.241",
      port: 9000,
      network: { name: "other-on-demand", subnet: "10.9.8.240/28", gateway: "10.9.8.241" },
    });
  });

  it("has no key that isn't declared, and nothing without the setting", () => {
    const { program } = ON_DEMAND;
    expect(onDemandListener(of({ onDemand: { program } }))).toEqual({
      address: "127.0.0.1",
      port: 8010,
    });
    expect(onDemandListener(of({ onDemand: undefined }))).toBeUndefined();
  });
});
