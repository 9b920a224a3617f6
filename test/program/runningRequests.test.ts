import { HERE } from "@local-serving/machines/address";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { changesOf } from "../../components/change/changesOf";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { requestsEnd, takenAway } from "../../components/program/runningRequests";
import { ranks } from "../fixtures/ranks";
import { BRIDGE, CHAT_UI, planned } from "../fixtures/services";
import { FakeSsh } from "../layers/fakeSsh";
import { httpServer } from "../layers/httpServer";
import { lookSooner } from "../layers/lookSooner";

lookSooner();

/** A server's /metrics, whose requests these are at one look after the other; the last for ever. */
async function metrics(...counts: (readonly [running: number, waiting: number])[]) {
  const asked: string[] = [];
  const { port } = await httpServer(({ url = "" }, response) => {
    const [running, waiting] = counts[Math.min(asked.push(url), counts.length) - 1] ?? [0, 0];
    const sample = (name: string, value: number) =>
      `vllm:num_requests_${name}{engine="0",model_name="m"} ${value}.0\n`;
    response.end(sample("running", running) + sample("waiting", waiting));
  });
  return { port, asked };
}

/** What waits for the requests of these machines, and what it says. */
function waiting(before: readonly MachinePlan[], after: readonly MachinePlan[]) {
  const said: string[] = [];
  const ended = requestsEnd(
    takenAway(changesOf(before, after), before),
    after,
    (sentence, kind) => {
      if (kind !== "passing") said.push(`${kind}: ${sentence}`);
    },
  );
  return { ended, said };
}

const nameOf = ({ containers }: MachinePlan, role: string) =>
  containers.find((each) => each.role === role)?.name ?? "none";

describe("an update that lets requests end", () => {
  const other = { gpuMemoryUtilization: 0.4 };

  it("waits for those that run and those in the queue, and says so", async () => {
    const { port, asked } = await metrics([1, 1], [0, 1], [0, 0]);
    const [before, after] = [planned({}, { port }), planned({}, { port, ...other })];
    const { ended, said } = waiting([before], [after]);
    await ended(nameOf(after, "inference-server"), "dgx");
    expect(said).toEqual([
      expect.stringMatching(
        /^note: dgx\.b: waiting for 2 of its requests to end, at most (600|599) s more \(`waitForRequestsMinutes`\)\.$/,
      ),
      "note: dgx.b: its requests have ended.",
    ]);
    expect(asked).toEqual(["/metrics", "/metrics", "/metrics"]);
  });

  it("says nothing where none run, and where the server doesn't answer", async () => {
    const { port, asked } = await metrics([0, 0]);
    for (const at of [port, 1]) {
      const [before, after] = [planned({}, { port: at }), planned({}, { port: at, ...other })];
      const { ended, said } = waiting([before], [after]);
      await ended(nameOf(after, "inference-server"), "dgx");
      expect(said).toEqual([]);
    }
    expect(asked).toEqual(["/metrics"]);
  });

  it("goes on where a server's requests can't be counted, and says why", async () => {
    const [before, after] = [planned({}, { port: 1 }), planned({}, { port: 1, ...other })];
    // As a record without this part was read once.
    const inferenceServers = before.inferenceServers.map((server) => ({
      ...server,
      reach: undefined as never,
    }));
    const { ended, said } = waiting([{ ...before, inferenceServers }], [after]);
    await ended(nameOf(after, "inference-server"), "dgx");
    expect(said).toEqual([
      expect.stringMatching(
        /^warning: dgx\.b: its requests can't be counted, so nothing waits for them \(.+\)\.$/,
      ),
    ]);
  });

  it("asks a machine over ssh there", async () => {
    const { port, asked } = await metrics([1, 0], [0, 0]);
    const ssh = new FakeSsh();
    vi.stubEnv("PATH", ssh.path);
    onTestFinished(() => void vi.unstubAllEnvs());
    const there = { dockerHost: "ssh://me@dgx" };
    const [before, after] = [planned(there, { port }), planned(there, { port, ...other })];
    const { ended, said } = waiting([before], [after]);
    await ended(nameOf(after, "inference-server"), "dgx");
    expect([said.length, asked.length]).toEqual([2, 2]);
    expect(ssh.asked()[0]).toMatch(
      new RegExp(`^ssh://me@dgx .*curl.* http://127\\.0\\.0\\.1:${port}/metrics`),
    );
  });

  it("asks the server as it was applied, where its port changes, too", async () => {
    const { port, asked } = await metrics([0, 0]);
    const [before, after] = [planned({}, { port }), planned({}, { port: 9 })];
    await waiting([before], [after]).ended(nameOf(after, "inference-server"), "dgx");
    expect(asked).toHaveLength(1);
  });

  it("gives up after its time, with a warning; with 0 it doesn't even ask", async () => {
    const { port, asked } = await metrics([3, 0]);
    const before = planned({}, { port });
    for (const minutes of [0.05, 0]) {
      const after = planned({ waitForRequestsMinutes: minutes }, { port, ...other });
      const { ended, said } = waiting([before], [after]);
      asked.length = 0;
      await ended(nameOf(after, "inference-server"), "dgx");
      const warning =
        "warning: dgx.b: after 0.05 min, 3 of its requests are still running and are cut off.";
      expect(said.slice(1)).toEqual(minutes === 0 ? [] : [warning]);
      expect(asked.length > 0).toBe(minutes > 0);
    }
  });

  it("waits for the servers behind a bridge that is replaced, and for none behind a chat UI", async () => {
    const { port, asked } = await metrics([0, 0]);
    const before = planned({ bridge: BRIDGE, chatUi: CHAT_UI }, { port });
    const of = async (machine: object, role: string) => {
      const after = planned({ bridge: BRIDGE, chatUi: CHAT_UI, ...machine }, { port });
      asked.length = 0;
      await waiting([before], [after]).ended(nameOf(after, role), "dgx");
      return asked.length;
    };
    expect(await of({ bridge: { ...BRIDGE, port: 8788 } }, "bridge")).toBe(1);
    expect(await of({ chatUi: { ...CHAT_UI, port: 8090 } }, "chat-ui")).toBe(0);
    // What isn't replaced isn't waited for.
    expect(await of({ chatUi: { ...CHAT_UI, port: 8090 } }, "inference-server")).toBe(0);
  });

  it("asks the head where a worker of its model goes, and tells two that wait once", async () => {
    const { port, asked } = await metrics([1, 0], [0, 0]);
    const machinesOf = (share: number) =>
      plan(ranks({ gpuMemoryUtilization: share, port }), { home: "/home/me" }).machines.map(
        (machine) => ({
          ...machine,
          dockerHost: HERE,
          inferenceServers: machine.inferenceServers.map((server) => ({
            ...server,
            reach: { ...server.reach, address: "127.0.0.1" },
          })),
        }),
      );
    const [before, after] = [machinesOf(0.7), machinesOf(0.72)];
    const { ended, said } = waiting(before, after);
    const [head, worker] = [
      after.find(({ ranks: own }) => own.length === 0),
      after.find(({ ranks: own }) => own.length > 0),
    ];
    if (head === undefined || worker === undefined) throw new Error("no two ranks planned");
    await Promise.all([
      ended(nameOf(worker, "inference-server"), worker.name),
      ended(nameOf(head, "inference-server"), head.name),
    ]);
    expect(asked).toHaveLength(2);
    expect(said).toHaveLength(2);
    expect(said[1]).toBe(
      `note: ${head.name}.${head.inferenceServers[0]?.key}: its requests have ended.`,
    );
  });
});
