import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changeOf, changesOf, isUnchanged } from "../../components/change/changesOf";
import { totalOf } from "../../components/change/downtime";
import { lossText } from "../../components/change/losses";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { stackSettings } from "../../components/settings/stackSettings";
import { DIGEST, serverInput } from "../fixtures/machine";
import { ranks } from "../fixtures/ranks";
import { BRIDGE, HOME, planned } from "../fixtures/services";

const before = planned();
const changed = (machine: Record<string, unknown>, server: Record<string, unknown> = {}) =>
  changeOf(before, planned(machine, server));
const kinds = ({ containers }: ReturnType<typeof changeOf>) =>
  Object.fromEntries(containers.map(({ key, kind }) => [key, kind]));
const ofB = (change: ReturnType<typeof changeOf>) => {
  const found = change.containers.find(({ key }) => key === "b");
  if (found === undefined) throw new Error("no container of b");
  return found;
};
const SAME = { b: "unchanged", bridge: "unchanged", "chat-ui": "unchanged" };
const OTHER = `vllm/vllm-openai:v0.31.0@${DIGEST}`;

describe("two plans", () => {
  it("that are the same change nothing, also once one was kept as JSON", () => {
    const kept = JSON.parse(JSON.stringify(before)) as MachinePlan;
    for (const change of [changeOf(before, before), changeOf(kept, before)]) {
      expect(kinds(change)).toEqual(SAME);
      expect(change).toMatchObject({ machine: "dgx", files: [], ollama: null, losses: [] });
      expect(isUnchanged(change)).toBe(true);
    }
  });

  it("of which there is no first are created, and nobody loses anything", () => {
    const change = changeOf(undefined, before);
    expect(kinds(change)).toEqual({ b: "created", bridge: "created", "chat-ui": "created" });
    expect(change.losses).toEqual([]);
    expect(change.memory).toMatchObject({ before: null, after: { totalGiB: 121.63 } });
    expect(new Set(change.files.map(({ kind }) => kind))).toEqual(new Set(["written"]));
  });

  it("of which there is no second are removed for good", () => {
    const change = changeOf(before, undefined);
    expect(kinds(change)).toEqual({ b: "removed", bridge: "removed", "chat-ui": "removed" });
    expect(change.losses.map(({ key, what }) => `${key} ${what}`)).toEqual(
      expect.arrayContaining(["b removed", "bridge removed", "chat-ui removed"]),
    );
    expect(change.files.every(({ kind }) => kind === "removed")).toBe(true);
  });

  it("mirror each other: what one way creates, the other removes", () => {
    const machines = fc.record({
      bridge: fc.constantFrom({}, { bridge: BRIDGE }),
      floor: fc.constantFrom(1, 2, 3),
      share: fc.constantFrom(0.4, 0.45),
      window: fc.constantFrom(65536, 262144),
      image: fc.constantFrom(OTHER, serverInput().image),
    });
    const made = ({
      bridge,
      floor,
      share,
      window,
      image,
    }: typeof machines extends fc.Arbitrary<infer V> ? V : never) =>
      plan(
        stackSettings.parse({
          machines: {
            dgx: {
              totalGiB: 121.63,
              instanceA: { gpuMemoryUtilization: 0.45 },
              memoryFloorGiB: floor,
              inferenceServers: {
                b: serverInput({ gpuMemoryUtilization: share, maxModelLen: window, image }),
              },
              ...bridge,
            },
          },
        }),
        { home: HOME },
      ).machines;
    const mirror = {
      created: "removed",
      removed: "created",
      replaced: "replaced",
      unchanged: "unchanged",
    };
    fc.assert(
      fc.property(machines, machines, (first, second) => {
        const [there] = changesOf(made(first), made(second));
        const [back] = changesOf(made(second), made(first));
        if (there === undefined || back === undefined)
          throw new Error("one machine has one change");
        const sorted = (change: typeof there) => Object.entries(kinds(change)).sort();
        expect(sorted(back)).toEqual(
          sorted(there).map(([key, kind]) => [key, mirror[kind as keyof typeof mirror]]),
        );
        expect(there.memory.before).toEqual(back.memory.after);
        for (const { kind, steps, changes } of there.containers) {
          const { least, most } = totalOf(steps);
          expect(0 <= least && least <= most).toBe(true);
          expect(steps.length > 0).toBe(kind === "created" || kind === "replaced");
          expect(changes.length > 0).toBe(kind === "replaced");
        }
        expect(isUnchanged(there)).toBe(JSON.stringify(first) === JSON.stringify(second));
      }),
      { numRuns: 60 },
    );
  });
});

describe("a changed setting", () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>, string[]]>([
    ["share", {}, { gpuMemoryUtilization: 0.4 }, ["--gpu-memory-utilization"]],
    ["variable", {}, { environment: { NCCL_DEBUG: "INFO" } }, ["env NCCL_DEBUG"]],
    ["health check", {}, { healthcheck: { intervalSeconds: 2 } }, ["healthcheck"]],
    ["grace", {}, { stopGraceSeconds: 30 }, ["destroyGraceSeconds"]],
    ["folder of models", { modelCache: "~/models" }, {}, ["mount /root/.cache/huggingface"]],
  ])(
    "of a server (%s) replaces its container alone, and says by what",
    (_, machine, server, names) => {
      const change = changed(machine, server);
      expect(kinds(change)).toEqual({ ...SAME, b: "replaced" });
      expect(ofB(change).changes.map(({ argument }) => argument)).toEqual(names);
    },
  );

  it("has its value before and after", () => {
    expect(ofB(changed({}, { gpuMemoryUtilization: 0.4 })).changes).toEqual([
      { argument: "--gpu-memory-utilization", before: "0.45", after: "0.4" },
    ]);
    expect(ofB(changed({}, { environment: { NCCL_DEBUG: "INFO" } })).changes).toEqual([
      { argument: "env NCCL_DEBUG", before: null, after: "INFO" },
    ]);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "versions",
      {},
      {
        versions: {
          vllm: "0.30.0",
          transformers: "5.11.0",
          evidence: "read",
          digest: DIGEST,
          source: "test",
        },
      },
    ],
    ["the operating system's memory", { operatingSystemGiB: 6 }, {}],
  ])("that is a record (%s) touches nothing", (_, machine, server) => {
    expect(isUnchanged(changed(machine, server))).toBe(true);
  });

  it("of the gate, or of instance A, rewrites the gate's file and restarts nothing", () => {
    for (const machine of [{ memoryFloorGiB: 1 }, { instanceA: { gpuMemoryUtilization: 0.4 } }]) {
      const change = changed(machine);
      expect(kinds(change)).toEqual(SAME);
      expect(change.files.map(({ role, kind }) => `${role} ${kind}`)).toEqual([
        "start-gate rewritten",
      ]);
      expect(change.losses).toEqual([]);
    }
  });

  it("of Ollama restarts it where we may, and else leaves it to the operator", () => {
    const simpleServer = { mode: "host", keepAlive: "10m" };
    const [first] = [planned({ simpleServer: { mode: "host" }, elevate: ["sudo", "-n"] })];
    const restarted = changeOf(first, planned({ simpleServer, elevate: ["sudo", "-n"] }));
    expect(restarted).toMatchObject({
      ollama: "restarted",
      files: [{ role: "simple-server-dropin", kind: "rewritten" }],
    });
    expect(restarted.losses.map(lossText)).toEqual([
      "simple-server is gone for 1 to 20 s. Running requests are cut off.",
    ]);
    const byHand = changeOf(planned({ simpleServer: { mode: "host" } }), planned({ simpleServer }));
    expect(byHand).toMatchObject({ ollama: "by-hand", files: [], losses: [] });
  });
});

describe("how long a server is gone", () => {
  const parts = (server: Record<string, unknown>) =>
    ofB(changed({}, server)).steps.map(({ what, least, most, keptIn }) => [
      what,
      least,
      most,
      keptIn,
    ]);
  const LOAD = "loading at most 59 GB of weights";

  it.each([
    ["another parser", { tools: { parser: "qwen3_xml" } }],
    ["no prefix caching, a flag with `--no-`", { prefixCaching: false }],
  ])("is its end and its weights where no kernel depends on the change: %s", (_, server) => {
    expect(parts(server)).toEqual([
      ["stopping the old one", 0, 60, undefined],
      [LOAD, 165, 783, undefined],
    ]);
  });

  it.each([
    ["another image", { image: OTHER }, 600],
    ["another model", { model: { id: "org/other", family: "qwen3", thinking: true } }, 600],
    ["a longer window", { maxModelLen: 300_000 }, 600],
    ["a shorter window", { maxModelLen: 65_536 }, 0],
    ["more sequences", { maxNumSeqs: 8 }, 0],
    ["an unknown variable", { environment: { SOME: "1" } }, 0],
  ])(
    "has up to 15 minutes of compiling for %s, unless its kernels are kept",
    (_, server, least) => {
      expect(parts(server).at(-1)).toEqual([
        "compiling kernels",
        least,
        900,
        "local-serving-b-jit",
      ]);
    },
  );

  it("compiles in any case where the volume of its kernels is another", () => {
    const steps = ofB(changed({ network: "other" })).steps;
    expect(steps.at(-1)).toMatchObject({ what: "compiling kernels", least: 600, most: 900 });
    expect(steps.at(-1)).not.toHaveProperty("keptIn");
  });

  it("begins after the image was pulled, and may have a download in it", () => {
    expect(ofB(changed({}, { image: OTHER }))).toMatchObject({ pulls: OTHER, downloads: [] });
    const other = { model: { id: "org/other", family: "qwen3", thinking: true } };
    expect(ofB(changed({}, other))).toMatchObject({ pulls: null, downloads: ["org/other"] });
    expect(ofB(changed({ modelCache: "~/models" }))).toMatchObject({ downloads: ["org/model"] });
  });
});

describe("what clients lose", () => {
  const said = (machine: Record<string, unknown>, server: Record<string, unknown> = {}) =>
    changed(machine, server).losses.map(lossText);
  const USERS =
    "Used by claude-code, codex, client-env, opencode, pi, qwen-code, crush, bridge, chat-ui.";

  it("is a server with its names, who uses it, and for how long", () => {
    expect(said({}, { gpuMemoryUtilization: 0.4 })).toEqual([
      `b (model, org/model) is gone for 2 to 14 min. \`serving up\` lets its requests end first; those that outlast 10 min (\`waitForRequestsMinutes\`) are cut off. ${USERS}`,
    ]);
    expect(said({}, { image: OTHER })).toEqual([
      `b (model, org/model) is gone for 12 to 30 min, or 2 to 15 min if its kernels are already in the volume local-serving-b-jit. \`serving up\` lets its requests end first; those that outlast 10 min (\`waitForRequestsMinutes\`) are cut off. ${USERS}`,
    ]);
  });

  it("is also a name, a window and an address", () => {
    const sentences = said({}, { servedModelName: "other", maxModelLen: 65_536, port: 8005 });
    expect(sentences).toContain(
      `b no longer answers to model: who asks for that gets an error. ${USERS.replace("Used by", "`up` rewrites what it set up itself:")}`,
    );
    expect(sentences).toContain(
      `The window of b shrinks from 262144 to 65536 tokens: longer prompts are refused. ${USERS}`,
    );
    expect(sentences).toContain(
      `b moves from http://127.0.0.1:8001/v1 to http://127.0.0.1:8005/v1. ${USERS}`,
    );
  });

  it("is also a client, or the server that answers it", () => {
    const sentences = said({ clients: { pi: { server: "instance-a" } } });
    expect(sentences).toContain(
      "codex is no longer set up: the files that `up` wrote for it are removed.",
    );
    expect(sentences).toContain("The requests of pi go to instance-a instead of b.");
    expect(said({}, { gpuMemoryUtilization: 0.4 }).join()).not.toMatch(/set up|requests of/);
  });

  it("is nothing of a window that grows", () => {
    expect(said({}, { maxModelLen: 300_000 }).join()).not.toContain("shrinks");
  });
});

describe("the ranks of one server", () => {
  it("all go with one of them, and clients lose the head once", () => {
    const [old, now] = [ranks(), ranks({}, {}, { stateDirectory: "~/elsewhere" })].map(
      (settings) => plan(settings, { home: HOME }).machines,
    );
    const changes = changesOf(old ?? [], now ?? []);
    expect(
      changes.map(({ machine, ...change }) => [machine, kinds(change as (typeof changes)[number])]),
    ).toEqual([
      ["dgx1", { b: "replaced" }],
      ["dgx2", { "dgx1.b": "replaced" }],
    ]);
    expect(changes[0]?.containers[0]?.changes).toEqual([
      {
        argument: "worker",
        before: "vllm-model-8001-rank1",
        after: "vllm-model-8001-rank1, which restarts",
      },
    ]);
    expect(changes.map(({ losses }) => losses.map(({ key, what }) => `${key} ${what}`))).toEqual([
      ["b gone"],
      [],
    ]);
  });
});

describe("monitoring", () => {
  it("replaces the bridge, which counts from then on, and writes two files", () => {
    const change = changed({ monitoring: "scrape" });
    expect(kinds(change)).toEqual({ ...SAME, bridge: "replaced" });
    expect(change.files.filter(({ kind }) => kind === "written").map(({ role }) => role)).toEqual([
      "scrape-targets",
      "grafana-dashboard",
    ]);
    expect(change.losses).toMatchObject([{ key: "bridge", what: "gone" }]);
  });
});
