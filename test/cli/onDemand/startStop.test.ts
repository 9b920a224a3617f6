import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { clockTime } from "../../../cli/sees/onDemand/swapFigures";
import { ago, event, MadeMachine, RUNNING, STOPPED } from "./madeMachine";
import { StandInSwap, type SwapSays } from "./standInSwap";

const ID = "f".repeat(64);

/** A server that answers /health. */
async function healthy(): Promise<number> {
  const server = createServer((_, response) => response.end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function made(says: SwapSays, states: Record<string, object>) {
  const swap = await StandInSwap.start(says);
  const machine = new MadeMachine({
    ...{ port: swap.port, states: states as never },
    ports: { c: await healthy() },
  });
  return { swap, machine };
}

describe("serving start of a server that llama-swap starts", () => {
  it("asks llama-swap and nobody else, and waits until it is ready", async () => {
    const { swap, machine } = await made({}, { b: RUNNING, c: STOPPED });
    swap.says.onAsked = () => machine.now({ b: STOPPED, c: RUNNING });
    const { code, out, err, did } = await machine.serving("start", "c");
    expect([code, err]).toEqual([0, expect.not.stringMatching(/\?|--yes|stop/)]);
    expect(out).toMatch(/^vllm-c-\d+ is ready \(\d s\)\.\n$/);
    // Nothing of it is done behind llama-swap's back.
    expect(did).toEqual([]);
    expect(swap.asked).toContain("GET /upstream/c/health");
  });

  it("says who is waited for", async () => {
    const since = ago(4);
    const { swap, machine } = await made(
      { states: { b: "ready" }, requests: [["b", since]] },
      { b: RUNNING, c: STOPPED },
    );
    // Its answer stays away until b has no request any more.
    swap.says.upstream = "never";
    const run = machine.serving("start", "c");
    await expect.poll(() => swap.asked).toContain("GET /upstream/c/health");
    // The second look comes after the first one's words.
    const looks = () => swap.asked.filter((each) => each === "GET /api/events").length;
    await expect.poll(looks, { timeout: 5000 }).toBeGreaterThan(1);
    machine.now({ c: RUNNING });
    const { code, err } = await run;
    expect([code, err.split("\n")[0]]).toEqual([
      0,
      `c waits: b has been answering since ${clockTime(since)}.`,
    ]);
  });

  it("gives the wrapper's reason, and when it is tried again", async () => {
    const { swap, machine } = await made({}, { c: STOPPED });
    const at = new Date(Date.now() + 1000).toISOString();
    const sentence = "c did not start: its container ended with 1 after 4 s: boom; serving logs c";
    swap.says.onAsked = () => {
      machine.wrote("failed/c.json", JSON.stringify({ container: ID, at, sentence }));
      machine.wrote("swaps.jsonl", event(-0.02, "refused", "c", { reason: sentence }));
    };
    const until = clockTime(new Date(Date.parse(at) + 600_000).toISOString());
    const { code, out, err } = await machine.serving("start", "c");
    expect([code, out, err]).toEqual([
      1,
      "",
      `${sentence}. It isn't tried again before ${until}: \`serving start c --again\` tries at once.\n`,
    ]);
  });

  it.each([
    '{"error":"unspecific error: upstream command exited prematurely","src":"llama-swap"}',
    '{"error":{"message":"unspecific error: upstream command exited prematurely"}}',
  ])("says what llama-swap said where nobody knows more: %s", async (body) => {
    const { swap, machine } = await made({ upstream: { status: 500, body } }, { c: STOPPED });
    const { code, err } = await machine.serving("start", "c");
    expect([code, swap.asked.length > 0]).toEqual([1, true]);
    expect(err.split("\n").at(-2)).toBe(
      "llama-swap did not start c: unspecific error: upstream command exited prematurely. See: serving logs c",
    );
  });

  it("forgets failed starts with --again: the wrapper's and the gate's", async () => {
    const { swap, machine } = await made({}, { c: STOPPED });
    machine.wrote("failed/c.json", JSON.stringify({ container: ID, at: ago(1), sentence: "s" }));
    swap.says.onAsked = () => machine.now({ c: RUNNING });
    const { code, did } = await machine.serving("start", "c", "--again");
    const { folder } = machine.plan.onDemand;
    expect([code, existsSync(join(folder, "state/failed/c.json")), did[0]]).toEqual([
      0,
      false,
      expect.stringMatching(/^run --rm --volumes-from vllm-c-\d+ --entrypoint rm /),
    ]);
  });

  it("says how llama-swap is started where it doesn't answer, and starts nothing itself", async () => {
    const machine = new MadeMachine({ port: 9, states: { c: STOPPED } });
    const says =
      "llama-swap doesn't answer at http://127.0.0.1:9: nothing listens there (connection refused). `systemctl --user start local-serving-dgx-on-demand.service` starts it; `serving logs on-demand` says why it ended.\n";
    for (const word of ["start", "stop"]) {
      const { code, err, did } = await machine.serving(word, "c");
      expect([code, err, did]).toEqual([1, says, []]);
    }
  });
});

describe("serving stop of a server that llama-swap starts", () => {
  it("lets llama-swap let go of it, and waits until it has stopped", async () => {
    const { swap, machine } = await made({ states: { c: "ready" } }, { c: RUNNING });
    swap.says.onAsked = () => machine.now({ c: STOPPED });
    const { code, out, did } = await machine.serving("stop", "c");
    expect([code, did]).toEqual([0, []]);
    expect(out).toMatch(
      /^vllm-c-\d+ is stopped\. MemAvailable is [\d.]+ GiB\.\nThe next request for c starts it again, and so does `serving start c`\.\n$/,
    );
    expect(swap.asked).toContain("POST /api/models/unload/c");
  });

  it("stops one that llama-swap doesn't know by Docker", async () => {
    const { machine, swap } = await made({}, { c: RUNNING });
    const run = machine.serving("stop", "c");
    await expect.poll(() => readFileSync(machine.docker.asked, "utf8")).toContain(" stop vllm-c-");
    machine.now({ c: STOPPED });
    expect([(await run).code, swap.asked]).toEqual([0, ["GET /running"]]);
  });

  it("leaves llama-swap itself to systemd", async () => {
    const { machine } = await made({}, { c: STOPPED });
    const { code, err } = await machine.serving("stop", "on-demand");
    expect([code, err]).toEqual([
      1,
      "llama-swap is the operator's unit, and stopping it stops every server that it starts: run `systemctl --user stop local-serving-dgx-on-demand.service`.\n",
    ]);
    expect((await machine.serving("logs", "on-demand")).out).toBe(
      "--no-pager --user --unit local-serving-dgx-on-demand.service --lines 200\n",
    );
  });
});

describe("serving status --wait where llama-swap starts servers", () => {
  it("takes one that doesn't run for done, and starts one that is named", async () => {
    const { swap, machine } = await made({}, { b: STOPPED, c: STOPPED });
    const all = await machine.serving("wait");
    expect([all.code, all.out]).toEqual([
      0,
      "b is not running, as planned: the next request for b starts it, and so does `serving start b`.\nc is not running, as planned: the next request for c starts it, and so does `serving start c`.\n",
    ]);
    expect(swap.asked).toEqual([]);
    swap.says.onAsked = () => machine.now({ c: RUNNING });
    const one = await machine.serving("wait", "c");
    expect([one.code, one.out]).toEqual([
      0,
      expect.stringMatching(/^vllm-c-\d+ is ready \(\d s\)\.\n$/),
    ]);
    expect(swap.asked).toContain("GET /upstream/c/health");
  });
});
