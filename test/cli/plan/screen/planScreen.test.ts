import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { forTerminal } from "@local-serving/base/commandLine/output";
import { describe, expect, it } from "vitest";
import type { Downloads } from "../../../../cli/fetch/downloads";
import { type PlanView, planScreen } from "../../../../cli/plan/screen/planScreen";
import { changesOf } from "../../../../components/change/changesOf";
import { plan } from "../../../../components/plan/plan";
import type { Plan } from "../../../../components/plan/types";
import type { ModelEvidence } from "../../../../components/planned/evidence";
import { allNeeds } from "../../../../components/preflight/fetch";
import type { StackSettings } from "../../../../components/settings/stackSettings";
import type { Judged } from "../../../../policies/judge";
import { serverInput, stack } from "../../../fixtures/machine";
import { machine as onDemandMachine } from "../../../fixtures/onDemand";
import { ranks } from "../../../fixtures/ranks";
import { BRIDGE, CHAT_UI, HOME } from "../../../fixtures/services";
import { temporaryFolder } from "../../../layers/temporaryFolder";
import { runServing } from "../../runServing";

const MODEL: ModelEvidence = {
  source: "a test",
  config: JSON.parse(readFileSync("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json", "utf8")),
  speeds: {
    decode: [
      { tokensPerSecond: 42, source: "liart: about 42", date: "2026-05-01" },
      { tokensPerSecond: 97.7, source: "a recipe", date: "2026-11-22", drafts: 3 },
    ],
    settings: {},
    draft: { method: "mtp", numSpeculativeTokens: 3 },
    machines: 1,
  },
};

const model = (name = "model") => ({
  id: `org/${name}`,
  family: "qwen3",
  thinking: true,
  weightsGB: 22,
});
const server = (name: string, port: number, more: object = {}) =>
  serverInput({ model: model(name), servedModelName: name, port, ...more });

const CLIENTS = { claudeCode: {}, codex: {}, opencode: {}, pi: {}, qwenCode: {} };
const OLLAMA = { mode: "host", models: ["a:1"], loadedGiB: { "a:1": 4 } };
/** A machine with everything that the sample has, and five clients. */
const whole = (more: object = {}, ofB: object = {}) =>
  stack(
    { bridge: BRIDGE, chatUi: CHAT_UI, clients: CLIENTS, simpleServer: OLLAMA, ...more },
    { model: model(), ...ofB },
  );

const planned = (settings: StackSettings): Plan =>
  plan(settings, {
    home: HOME,
    models: Object.fromEntries(["model", "small", "c", "d"].map((name) => [`org/${name}`, MODEL])),
  });

/** The same with warnings of a test, whose words nothing else moves. */
const warnedOf = (settings: StackSettings, ...messages: string[]): Plan => {
  const { machines } = planned(settings);
  const machine = machines.at(-1)?.name ?? "";
  return { machines, warnings: messages.map((message) => ({ machine, code: "x", message })) };
};

function screen(of: Plan, judged: readonly Judged[] = [], view: PlanView = {}): string[] {
  const knownGB = () => 22;
  const machines = Object.fromEntries(
    of.machines.map((machine) => [
      machine.name,
      { downloads: { ...allNeeds(machine, { knownGB }), looked: false } },
    ]),
  );
  const text = planScreen(of, judged, { width: 80, machines, ...view });
  return stripVTControlCharacters(forTerminal(text)).split("\n");
}

const refusal = (more: Partial<Judged> = {}): Judged => ({
  name: "memory-sum",
  level: "mandatory",
  verdict: "refused",
  message: "All is 1.5 GiB too much. Set `x: 1`. Much more of it.",
  resource: "dgx",
  ...more,
});

describe("a plan's screen", () => {
  it("of a machine with everything has 16 lines, one for each warning", () => {
    const of = warnedOf(
      whole(),
      "One is 0.5 (see e.g. v1.2). And more.",
      "A warning that is longer than a line of eighty columns ends at a word, and says the rest elsewhere.",
    );
    expect(screen(of, [], { next: "Next: up" })).toEqual([
      "Nothing is refused. 2 warnings, 0 notes.",
      "  1 A       instance A, which isn't ours, 55.67 GiB, http://127.0.0.1:8000/v1",
      "  2 b       model, share 0.45, 55.67 GiB, window 262,144, 4 agents at once,",
      "            decode 42 tokens/s (liart), 97.7 with drafts: `serving models use",
      "            org/model --drafts`",
      "  memory    [111111111111111111111111111222222222222222222222222222233566]",
      "            120.96 of dgx's 121.63 GiB, 0.67 left: 3 Ollama's loaded models",
      "            4.00, 4 bridge 0.42, 5 chat UI 1.20, 6 operating system 4.00",
      "  first up  downloads 22.0 GB of models, about 20.0 GB for 1 image, 2 images of",
      "            unknown size; b answers in 14 to 24 min, later in 4 to 9 min",
      "  use       local-claude, local-codex, local-opencode, local-pi, local-qwen;",
      "            Ollama http://127.0.0.1:11434, LiteLLM http://127.0.0.1:8787, Open",
      "            WebUI http://127.0.0.1:8080; API http://127.0.0.1:8001/v1",
      "  ! One is 0.5 (see e.g. v1.2).",
      "  ! A warning that is longer than a line of eighty columns ends at a word, and …",
      "Next: up",
    ]);
  });

  it("says in one line what to type before `up`, and nothing where the shell has all", () => {
    const exports = ["export KEY=$(openssl rand -hex 32)", "export MAIL=..."];
    const shown = screen(planned(whole()), [], { machines: { dgx: { exports } } });
    expect(shown.filter((line) => /needs|export/.test(line))).toEqual([
      "  needs     export KEY=$(openssl rand -hex 32); export MAIL=...",
    ]);
    expect(screen(planned(whole()), [], { machines: { dgx: { exports: [] } } }).join()).not.toMatch(
      /needs|export/,
    );
  });

  it("begins with each refusal: what is wrong, what to write, and in which line", () => {
    const path = "machines.dgx.inferenceServers.b.gpuMemoryUtilization";
    const found = [
      refusal({ path, line: 40, value: 0.3 }),
      refusal({ name: "other", message: "B asks too much.", path, line: 40, value: 0.3 }),
      refusal({ name: "third", path: "machines.dgx.a", line: 7 }),
      refusal({ name: "preflight" }),
    ];
    expect(screen(warnedOf(whole()), found).slice(0, 11)).toEqual([
      "REFUSED by memory-sum, other, third, preflight: `up` would stop before the",
      "  first change. 0 warnings, 0 notes.",
      "  x All is 1.5 GiB too much.",
      "  x B asks too much.",
      "    Write `gpuMemoryUtilization: 0.3` in line 40",
      "    (`machines.dgx.inferenceServers.b.gpuMemoryUtilization`).",
      "  x All is 1.5 GiB too much.",
      "    Set `x: 1`. It stands in line 7 (`machines.dgx.a`).",
      "  x All is 1.5 GiB too much.",
      "    Set `x: 1`.",
      "  1 A       instance A, which isn't ours, 55.67 GiB, http://127.0.0.1:8000/v1",
    ]);
  });

  it("names a server that may not start in its head and first in its row, and one that nobody can judge", () => {
    const small = server("small", 8002, { gpuMemoryUtilization: 0.25 });
    const unknown = serverInput({ model: { ...model("none"), weightsGB: undefined }, port: 8003 });
    const of = stack({
      instanceA: "none",
      inferenceServers: {
        b: server("model", 8001),
        small,
        c: { ...unknown, gpuMemoryUtilization: 0.1 },
      },
    });
    expect(screen(warnedOf(of)).slice(0, 9)).toEqual([
      "Nothing is refused. But small may not start. Whether c can start is not",
      "  judged. 0 warnings, 0 notes.",
      "  1 b       model, share 0.45, 55.67 GiB, window 262,144, 4 agents at once,",
      "            decode 42 tokens/s (liart), 97.7 with drafts: `serving models use",
      "            org/model --drafts --server b`",
      "  2 small   small, MAY NOT START, share 0.25, 44.13 GiB, window 262,144, decode",
      "            42 tokens/s (liart), 97.7 with drafts: `serving models use org/small",
      "            --drafts --server small`",
      "  3 c       model, start not judged, share 0.1, 13.10 GiB, window 262,144,",
    ]);
  });

  it("says what the harness points at, by its file, and what instance A is declared to serve", () => {
    const harness = { judge: "ollama", peerFor: { pi: "ollama" }, embeddingModel: "e" };
    const instanceA = { port: 8000, gpuMemoryUtilization: 0.45, servedModelName: "a-model" };
    const lines = screen(warnedOf(whole({ harness, instanceA }), "It is warm."), [], {
      machines: { dgx: { home: HOME } },
    });
    expect(lines.filter((line) => line.includes("instance A"))).toEqual([
      "  1 A       instance A, which isn't ours, a-model, 55.67 GiB,",
    ]);
    expect(lines.slice(lines.findIndex((line) => line.startsWith("  harness")))).toEqual([
      "  harness   ~/.hx/providers.toml: local-b (reviews claude, codex), ollama",
      "            (reviews pi; judges), key in HX_LOCAL_KEY",
      "  ! It is warm.",
    ]);
  });

  it("of several machines has a few lines for each, and names the machine of a warning", () => {
    const judged = refusal({ verdict: "warned", message: "It is cold.", resource: "dgx1-b" });
    expect(screen(warnedOf(ranks({ model: model() }), "It is warm."), [judged])).toEqual([
      "Nothing is refused. 2 warnings, 0 notes.",
      "59.67 of dgx1's 121.63 GiB, 61.96 left",
      "  1 b       model, share 0.45, 55.67 GiB, rank 0 of 2, window 262,144, 4 agents",
      "            at once, decode not known",
      "  memory    [111111111111112...............] 2 operating system 4.00",
      "  first up  downloads 22.0 GB of models, about 20.0 GB for 1 image; b answers in",
      "            13 to 23 min, later in 3 to 8 min",
      "  use       API http://192.168.100.1:8001/v1",
      "59.67 of dgx2's 121.63 GiB, 61.96 left",
      "  1 dgx1.b  model, 55.67 GiB, rank 1 of 2",
      "  memory    [111111111111112...............] 2 operating system 4.00",
      "  first up  downloads 22.0 GB of models, about 20.0 GB for 1 image",
      "  ! dgx2: It is warm.",
      "  ! dgx1: It is cold.",
    ]);
  });

  it("says which servers start on request, and which never run together", () => {
    const onRequest = { gpuMemoryUtilization: 0.4, start: "onRequest" };
    const inferenceServers = {
      b: server("model", 8001, { gpuMemoryUtilization: 0.4 }),
      c: server("c", 8002, onRequest),
      d: server("d", 8003, onRequest),
    };
    const of = warnedOf(stack(onDemandMachine({ inferenceServers })));
    expect(screen(of).slice(1, 11)).toEqual([
      "  1 b       model, MAY NOT START, share 0.4, 49.59 GiB, window 262,144, decode",
      "            42 tokens/s (liart), 97.7 with drafts: `serving models use org/model",
      "            --drafts --server b`",
      "  2 c       c, MAY NOT START, share 0.4, 49.59 GiB, window 262,144, started by",
      "            requests, not beside d, decode 42 tokens/s (liart), 97.7 with",
      "            drafts: `serving models use org/c --drafts --server c`",
      "  - d       d, MAY NOT START, share 0.4, 49.59 GiB, window 262,144, started by",
      "            requests, not beside c, decode 42 tokens/s (liart), 97.7 with",
      "            drafts: `serving models use org/d --drafts --server d`",
      "  memory    [111111111111111111111111222222222222222222222222244.........]",
    ]);
  });

  it("says of what is applied what changes, each loss in a line", () => {
    const of = warnedOf(whole({}, { maxModelLen: 131_072 }));
    const before = planned(whole()).machines;
    const [change] = changesOf(before, of.machines);
    if (change === undefined) throw new Error("no change");
    const up = (machines: PlanView["machines"]) => {
      const lines = screen(of, [], { machines: machines ?? {} });
      const at = lines.findIndex((line) => line.startsWith("  up "));
      return lines.slice(
        at,
        lines.findIndex((line) => line.startsWith("  use")),
      );
    };
    expect(up({ dgx: { applied: { change, engine: [] } } })).toEqual([
      "  up      replaces b; changes 5 files",
      "          b is gone for 4 to 25 min.",
      "          The window of b shrinks from 262144 to 131072 tokens: longer prompts …",
    ]);
    const [same] = changesOf(of.machines, of.machines);
    expect(same && up({ dgx: { applied: { change: same, engine: [] } } })).toEqual([
      "  up      changes nothing",
    ]);
    expect(up({ dgx: { applied: { unread: "the record is none" } } })).toEqual([
      "  up      the record is none",
    ]);
  });

  it("warns of a disk that may be too small, and says what is free", () => {
    const downloads: Downloads = {
      ...{
        looked: true,
        images: [],
        disks: [{ paths: ["/c"], freeBytes: 20e9, neededBytes: 22e9 }],
      },
      models: [{ kind: "model", name: "org/model", bytes: 22e9, cache: "/c", image: "i" }],
    };
    const lines = screen(warnedOf(whole()), [], { machines: { dgx: { downloads } } });
    expect(lines[0]).toBe("Nothing is refused. 1 warning, 0 notes.");
    expect(lines).toContain("  ! 20.0 GB of disk are free, 22.0 GB are needed (/c).");
    expect(lines.find((line) => line.includes("first up"))).toBe(
      "  first up  downloads 22.0 GB of models; 20.0 GB free; b answers in 14 to 24",
    );
  });
});

describe("the screen of a stack file at 80 columns", () => {
  const shown = async (file: string) => {
    const env = { COLUMNS: "80", NO_COLOR: "1", HOME: temporaryFolder("screen-") };
    const { out } = await runServing(["plan", "--file", file], env);
    return out.trimEnd().split("\n");
  };

  it.each(["Pulumi.dgx.yaml", ...examples()])("is a few lines: %s", async (file) => {
    const text = readFileSync(file, "utf8");
    const machines = text.match(/^ {6}totalGiB:/gm)?.length ?? 0;
    const servers = text.match(/^ {10}servedModelName:/gm)?.length ?? 0;
    const most = 16 + 8 * (machines - 1) + 2 * Math.max(0, servers - 1);
    const lines = await shown(file);
    const warnings = lines.filter((line) => line.startsWith("  ! ")).length;
    // Three warnings are within the sixteen lines; further ones are one line each.
    expect(lines.length).toBeLessThanOrEqual(most + Math.max(0, warnings - 3));
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it("has the lines of a refusal on top", async () => {
    const file = join(temporaryFolder("refused-"), "Pulumi.dgx.yaml");
    const text = readFileSync("Pulumi.dgx.yaml", "utf8");
    writeFileSync(
      file,
      text.replaceAll("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.55"),
    );
    const lines = await shown(file);
    expect(lines[0]).toMatch(/^REFUSED by aggregate-utilization/);
    const first = lines.findIndex((line) => line.startsWith("  1 A "));
    expect(lines.slice(0, first).join(" ")).toContain("Write `gpuMemoryUtilization: ");
    expect(lines.length - first).toBeLessThanOrEqual(15);
  });
});

function examples(): string[] {
  return readdirSync("docs/examples")
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => join("docs/examples", name));
}
