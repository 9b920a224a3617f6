import { describe, expect, it } from "vitest";
import { LlamaSwap } from "../../../cli/sees/onDemand/llamaSwap";
import { SwapApi } from "../../../cli/sees/onDemand/swapApi";
import { MadeMachine, RUNNING, STOPPED } from "./madeMachine";
import { KEY, StandInSwap } from "./standInSwap";

interface Probe {
  readonly name: string;
  readonly target: string;
  readonly status: string;
  readonly detail: string;
}

const probesIn = (out: string) => (JSON.parse(out) as { probes: Probe[] }).probes;

describe("serving verify where llama-swap starts servers", () => {
  it("asks that all are listed, and skips what doesn't run without starting it", async () => {
    const swap = await StandInSwap.start({ names: ["b", "org/model", "c"] });
    const machine = new MadeMachine({ port: swap.port, states: { b: STOPPED, c: STOPPED } });
    const { out } = await machine.serving("verify", "--format", "json", "--timeout", "2");
    const probes = probesIn(out);
    expect(probes.find(({ name }) => name === "on-demand-models")).toMatchObject({
      ...{ target: "llama-swap", status: "pass", detail: "it lists b, c" },
    });
    const ofC = probes.filter(({ target }) => target === "vllm-c-2");
    expect([...new Set(ofC.map(({ status, detail }) => `${status}: ${detail}`))]).toEqual([
      "skip: c is not running, as planned: the next request for c starts it, and so does `serving start c`",
    ]);
    expect(swap.asked.filter((each) => /upstream|unload|completions/.test(each))).toEqual([]);
    swap.says.names = ["b"];
    const one = await machine.serving("verify", "on-demand", "--format", "json");
    expect([one.code, probesIn(one.out).map(({ detail }) => detail)]).toEqual([
      1,
      ["it does not list c"],
    ]);
  });

  it("asks one that runs through llama-swap's port, its own pages below its name", async () => {
    const swap = await StandInSwap.start({ key: KEY });
    const onDemand = { keyVariable: "SWAP_KEY" };
    const machine = new MadeMachine({ port: swap.port, states: {}, onDemand });
    const url = `http://127.0.0.1:${swap.port}`;
    const api = new SwapApi(new LlamaSwap(machine.plan.onDemand, url, KEY), "c", 1);
    expect((await api.get("/v1/models")).status).toBe(200);
    expect((await api.post("/v1/chat/completions", { model: "c" })).status).toBe(200);
    expect((await api.post("/v1/messages?beta=true", { model: "c" })).status).toBe(200);
    await expect(api.post("/tokenize", { model: "c" })).rejects.toThrow(
      "no whole answer within 1 s",
    );
    expect(swap.asked).toEqual([
      "GET /upstream/c/v1/models",
      "POST /v1/chat/completions",
      "POST /v1/messages?beta=true",
      "POST /upstream/c/tokenize",
    ]);
  });

  it("with --each starts each once, and what ran before again at the end", async () => {
    const swap = await StandInSwap.start({ names: ["b", "org/model", "c"] });
    const machine = new MadeMachine({ port: swap.port, states: { b: RUNNING, c: STOPPED } });
    const refused = await machine.serving("verify", "--each");
    expect([refused.code, refused.err]).toEqual([
      2,
      "Each is started once and asked: b (how long it takes is not known), c (how long it takes is not known). Other servers stop for it once they have no requests. What runs now is started again at the end.\nWithout a terminal nobody can say yes: add --yes.\n",
    ]);
    expect(swap.asked).toEqual([]);
    swap.says.upstream = { status: 500, body: '{"error":"boom","src":"llama-swap"}' };
    const { code, out } = await machine.serving(
      ...["verify", "c", "--each", "--yes", "--format", "json"],
    );
    const [start, ...more] = probesIn(out);
    expect([code, more, start]).toEqual([
      1,
      [],
      expect.objectContaining({
        ...{ name: "on-demand-start", target: "vllm-c-2", status: "fail" },
        detail: "llama-swap did not start c: boom. See: serving logs c",
      }),
    ]);
    const none = await new MadeMachine({ port: swap.port, states: {} }).serving(
      ...["verify", "on-demand", "--each"],
    );
    expect([none.code, none.err]).toEqual([
      2,
      "--each: llama-swap starts none of these servers (`onDemand`, `start: onRequest`).\n",
    ]);
  });
});

describe("serving bench of a server that llama-swap starts", () => {
  it("holds it in use, and lets it go at the end", async () => {
    const swap = await StandInSwap.start({});
    const machine = new MadeMachine({ port: swap.port, states: {} });
    const url = `http://127.0.0.1:${swap.port}`;
    const release = new LlamaSwap(machine.plan.onDemand, url, undefined).hold("c");
    await expect.poll(() => swap.held).toBe(1);
    expect(swap.asked).toEqual(["POST /upstream/c/v1/chat/completions"]);
    release();
    await expect.poll(() => swap.held).toBe(0);
  });

  it("refuses one that doesn't run, with what starts it", async () => {
    const swap = await StandInSwap.start({});
    const machine = new MadeMachine({ port: swap.port, states: { b: STOPPED, c: STOPPED } });
    const { code, err } = await machine.serving("bench", "c");
    expect([code, err.split("\n").at(-2)]).toEqual([
      1,
      "c doesn't run, or llama-swap doesn't know it: `serving start c` first.",
    ]);
  });
});
