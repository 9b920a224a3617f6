import { describe, expect, it } from "vitest";
import { clockTime } from "../../../cli/sees/onDemand/swapFigures";
import { ago, event, MadeMachine, RUNNING, STOPPED } from "./madeMachine";
import { KEY, StandInSwap, type SwapSays } from "./standInSwap";

const ID = "f".repeat(64);

async function statusOf(says: SwapSays, states: Record<string, object>, more: object = {}) {
  const { port } = await StandInSwap.start(says);
  return new MadeMachine({ port, states: states as never, ...more });
}

async function shown(machine: MadeMachine) {
  const { out, code } = await machine.serving("status", "--format", "json");
  const [seen] = JSON.parse(out).machines;
  const items = seen.items.map((each: { seconds?: number }) => ({ ...each, seconds: undefined }));
  return { code, items, onDemand: seen.onDemand };
}

describe("serving status of servers that llama-swap starts", () => {
  it("says of those that don't run what starts them", async () => {
    const machine = await statusOf({}, { b: STOPPED, c: { Status: "created" } });
    expect(await shown(machine)).toEqual({
      code: 0,
      items: [
        { key: "b", state: "stopped", well: true, note: "the next request for b starts it" },
        { key: "c", state: "stopped", well: true, note: "the next request for c starts it" },
        { key: "on-demand", state: "ready", well: true },
      ],
      onDemand: {
        ...{ problem: null, running: [], waiting: [], orphans: [] },
        ...{ swapsInLastHour: 0, swapsPerHour: 12 },
      },
    });
    const { out } = await machine.serving("status");
    expect(out).toContain("\n  on demand: nothing runs; 0 starts in the last hour\n");
  });

  it("says who waits for whom, since when, and counts starts", async () => {
    const since = ago(5);
    const machine = await statusOf(
      {
        states: { b: "ready" },
        requests: [
          ["b", since],
          ["c", ago(3)],
          ["c", ago(1)],
        ],
      },
      { b: RUNNING, c: STOPPED },
    );
    machine.wrote(
      "swaps.jsonl",
      `${event(70, "start", "b")}not JSON\n${event(30, "start", "c").repeat(12)}${event(20, "start", "b", { stops: ["c"] })}`,
    );
    const says = `c waits: b has been answering since ${clockTime(since)}`;
    const { items, onDemand } = await shown(machine);
    expect(items[1]).toEqual({ key: "c", state: "waiting", well: true, note: says });
    expect(onDemand).toMatchObject({
      running: ["b"],
      waiting: [{ key: "c", requests: 2, says }],
      swapsInLastHour: 13,
    });
    const { out } = await machine.serving("status");
    expect(out).toContain(
      `\n  on demand: b now; 13 starts in the last hour (more than 12)\n  ${says} (2 requests)\n`,
    );
  });

  it("says that a start failed, and until when it isn't tried again", async () => {
    const machine = await statusOf({}, { b: STOPPED, c: { Status: "exited", ExitCode: 1 } });
    const at = ago(2);
    const sentence =
      "c did not start: its container ended with 1 after 41 s: no room; serving logs c";
    machine.wrote("failed/c.json", JSON.stringify({ container: ID, at, sentence }));
    const until = clockTime(new Date(Date.parse(at) + 600_000).toISOString());
    expect((await shown(machine)).items[1]).toEqual({
      key: "c",
      state: "failed",
      well: false,
      note: `${sentence}. Not tried again before ${until}: \`serving start c --again\` tries at once`,
    });
    machine.wrote("failed/c.json", JSON.stringify({ container: "another", at, sentence }));
    expect((await shown(machine)).items[1]).toMatchObject({ state: "exited", well: false });
    machine.wrote("failed/c.json", JSON.stringify({ container: ID, at: ago(11), sentence }));
    expect((await shown(machine)).items[1]).toMatchObject({ state: "exited", well: false });
  });

  it("names what llama-swap doesn't know, but not what it just let go", async () => {
    const machine = await statusOf({}, { b: RUNNING, c: STOPPED });
    const { items, onDemand, code } = await shown(machine);
    expect([code, items[0].well, items[0].note, onDemand.orphans]).toEqual([
      1,
      false,
      "runs, but llama-swap doesn't know it: `serving stop b` stops it, `serving start b` tells llama-swap",
      ["vllm-b-1"],
    ]);
    machine.wrote("letgo/b", "{}");
    expect((await shown(machine)).onDemand.orphans).toEqual([]);
  });

  it("says why llama-swap tells nothing, without its key", async () => {
    const silent = new MadeMachine({ port: 9, states: { b: STOPPED, c: STOPPED } });
    const { items, onDemand, code } = await shown(silent);
    const problem =
      "llama-swap doesn't answer at http://127.0.0.1:9: nothing listens there (connection refused)";
    expect([code, onDemand.problem, items[2]]).toEqual([
      1,
      problem,
      { key: "on-demand", state: "does not answer", well: false, note: problem },
    ]);
    const keyed = { onDemand: { keyVariable: "SWAP_KEY" } };
    const machine = await statusOf({ key: KEY }, { b: STOPPED, c: STOPPED }, keyed);
    expect((await shown(machine)).onDemand.problem).toBe(
      `llama-swap wants a key, but none is known here: set SWAP_KEY, or run this where ${machine.plan.onDemand.keyPath} can be read`,
    );
    machine.wrote("../../secrets/on-demand-key", "another\n");
    const { out } = await machine.serving("status");
    expect(out).toContain(
      "llama-swap refuses the key of SWAP_KEY: it was started with another one",
    );
    expect(out).not.toContain("another\n");
    machine.wrote("../../secrets/on-demand-key", `${KEY}\n`);
    const all = await machine.serving("status", "--format", "json");
    expect([all.code, JSON.parse(all.out).machines[0].onDemand.problem]).toEqual([0, null]);
    expect(`${all.out}${all.err}`).not.toContain(KEY);
  });
});
