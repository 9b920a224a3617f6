import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { describeOnDemand } from "./available";
import { ask, readies, unload } from "./client";
import { KEY, type Key, model, type Rig } from "./rig";
import { withRig } from "./withRig";

const within = (seconds: number) => ({ timeout: seconds * 1000, interval: 100 });

describeOnDemand("models on demand: llama-swap, the wrapper and the start gate", () => {
  let rig: Rig;

  withRig((made) => {
    rig = made;
  });

  const answered = async (key: Key, path?: string) => {
    const { status, text } = await ask(rig.address, key, path === undefined ? {} : { path });
    return [status, text];
  };
  const own = (key: Key, path = "/v1/chat/completions") => [
    200,
    JSON.stringify({ model: model(key), path }),
  ];
  const counted = (event: string) => rig.events().filter((each) => each.event === event).length;

  it("starts a server when it is asked for, and stops what has no room beside it", async () => {
    expect(await answered("a")).toEqual(own("a"));
    expect(await answered("b")).toEqual(own("b"));
    expect(await rig.running()).toEqual(["a", "b"]);
    expect(await answered("c")).toEqual(own("c"));
    expect(await rig.running()).toEqual(["c"]);
  });

  it("two that start at once from nothing don't stop each other", async () => {
    expect(await Promise.all([answered("a"), answered("b")])).toEqual([own("a"), own("b")]);
    expect(await rig.running()).toEqual(["a", "b"]);
  });

  it("waits for the end of a stream before it stops its server", async () => {
    await readies(rig.address, "a");
    const streams = ask(rig.address, "a", { stream: true, tenths: 40 });
    await sleep(500);
    const began = Date.now();
    expect(await answered("c")).toEqual(own("c"));
    expect(Date.now() - began).toBeGreaterThan(3000);
    expect(await streams).toMatchObject({ status: 200, whole: true });
  });

  it("more requests at once than llama-swap takes by default are all answered", async () => {
    const many = await Promise.all(Array.from({ length: 30 }, () => answered("a")));
    expect(many).toEqual(Array.from({ length: 30 }, () => own("a")));
  });

  it("a client that leaves while it loads finds it loaded, also where it is unloaded when idle", async () => {
    const left = new AbortController();
    const asked = ask(rig.address, "d", { signal: left.signal });
    await expect.poll(rig.running, within(10)).toEqual(["d"]);
    left.abort();
    await asked;
    const before = counted("ready");
    await expect.poll(() => counted("ready"), within(10)).toBe(before + 1);
    const startedAt = await rig.startedAt("d");
    await sleep(2000);
    expect(await answered("d")).toEqual(own("d"));
    expect(await rig.startedAt("d")).toBe(startedAt);
    // Four seconds without a request, and two that it is left.
    await expect.poll(rig.running, within(15)).toEqual([]);
  });

  it("one that is let go and asked for again is taken back as it runs", async () => {
    await readies(rig.address, "a");
    const startedAt = await rig.startedAt("a");
    await unload(rig.address, "a");
    expect(await answered("a")).toEqual(own("a"));
    expect(await rig.startedAt("a")).toBe(startedAt);
    // llama-swap may find it ready before its start has looked.
    await expect
      .poll(() => rig.events().at(-1), within(10))
      .toMatchObject({ event: "taken", server: "a" });
  });

  it.each([
    ["/v1/chat/completions", { error: { type: "server_error", param: null, code: "not_started" } }],
    ["/v1/messages", { type: "error", error: { type: "api_error" } }],
    ["/v1/responses", { error: { type: "server_error", param: null, code: "not_started" } }],
  ])(
    "a server that did not start says so at once at %s, and nobody is stopped for it",
    async (path, shape) => {
      rig.behave("c", { fails: `RuntimeError: CUDA out of memory, --api-key ${KEY}` });
      const first = await ask(rig.address, "c", { path });
      expect(first.status).toBe(503);
      const sentence =
        /^org\/model-c did not start: its container ended with 3 after \d+ s: RuntimeError: CUDA out of memory, --api-key \*\*\*; serving logs c$/;
      expect(JSON.parse(first.text)).toMatchObject(shape);
      expect(JSON.parse(first.text).error.message).toMatch(sentence);
      expect(await answered("a")).toEqual(own("a"));
      expect(await answered("b")).toEqual(own("b"));
      const before = [await rig.startedAt("a"), await rig.startedAt("b")];
      const refused = await ask(rig.address, "c", { path });
      expect(refused).toMatchObject({
        status: 503,
        text: first.text,
        headers: { "x-should-retry": "false", "content-type": "application/json" },
      });
      // Codex would wait for as long before it shows anything.
      expect(refused.headers).not.toHaveProperty("retry-after");
      expect(refused.seconds).toBeLessThan(3);
      const again = await Promise.all([ask(rig.address, "a"), ask(rig.address, "b")]);
      expect(again.map(({ status }) => status)).toEqual([200, 200]);
      expect([await rig.startedAt("a"), await rig.startedAt("b")]).toEqual(before);
    },
  );
});
