import { describe, expect, it } from "vitest";
import { hostOf } from "../../../cli/sees/host";
import { probesFor } from "../../../cli/verify/run/catalog";
import { targetsOf } from "../../../cli/verify/targetsOf";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI, planned } from "../../fixtures/services";

const WHY = (key: string) =>
  `${key} is not running, as planned: \`serving start ${key}\` starts it`;

/** A machine with b and c, both started on request, of which these run, behind a bridge. */
async function targetsWith(...running: string[]) {
  const on = (key: string, port: number) =>
    serverInput({
      ...{ servedModelName: key, aliases: [], port },
      ...{ start: "onRequest", gpuMemoryUtilization: 0.2 },
    });
  const machine = planned({
    ...{ instanceA: "none", bridge: BRIDGE, chatUi: CHAT_UI, harness: {} },
    inferenceServers: { b: on("b", 8001), c: on("c", 8002) },
    clients: { claudeCode: { server: "b" } },
  });
  const states = machine.inferenceServers.map(({ key, container: { name } }) => ({
    name,
    status: running.includes(key) ? "running" : "exited",
  }));
  const host = { ...hostOf(machine.dockerHost), containers: async () => states as never };
  const targets = await targetsOf(machine, host, { timeoutSeconds: 1, host: () => host });
  const [bridge] = targets.flatMap((each) => (each.kind === "bridge" ? [each] : []));
  const [chatUi] = targets.flatMap((each) => (each.kind === "chat-ui" ? [each] : []));
  if (bridge === undefined || chatUi === undefined) throw new Error("both are planned");
  const skips = (name: string) =>
    probesFor(bridge)
      .find((each) => each.name === name)
      ?.skip?.(bridge);
  return { targets, bridge, chatUi, skips };
}

describe("what verify asks where a server starts on request", () => {
  it("is the bridge's first server, as ever, where that runs", async () => {
    const { bridge, chatUi, skips } = await targetsWith("b");
    expect([bridge.model, bridge.server?.server.key, bridge.unreachable]).toEqual([
      "b",
      "b",
      undefined,
    ]);
    expect([bridge.tiers.length > 0, skips("bridge-tiers")]).toEqual([true, undefined]);
    expect(chatUi.stopped).toEqual(["vllm-c-8002"]);
  });

  it("is the next server behind the bridge that runs, and no tier of the first", async () => {
    const { bridge, skips } = await targetsWith("c");
    expect([bridge.model, bridge.server?.server.key, bridge.unreachable]).toEqual([
      "c",
      "c",
      undefined,
    ]);
    expect([bridge.tiers, skips("bridge-tiers")]).toEqual([[], WHY("b")]);
  });

  it("is nothing behind the bridge where none runs, with the reason", async () => {
    const { targets, bridge } = await targetsWith();
    expect([bridge.server, bridge.unreachable]).toEqual([undefined, WHY("b")]);
    const servers = targets.filter(({ kind }) => kind === "inference-server");
    expect(servers.map(({ unreachable }) => unreachable)).toEqual([WHY("b"), WHY("c")]);
  });
});
