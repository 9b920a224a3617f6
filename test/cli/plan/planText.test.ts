import { stripVTControlCharacters } from "node:util";
import { UNBOUNDED } from "@local-serving/base/commandLine/layout";
import { describe, expect, it } from "vitest";
import { partText, planText } from "../../../cli/plan/planText";
import { namedOn } from "../../../cli/stack/named";
import { readModels } from "../../../components/evidence/readModels";
import { START_GATE } from "../../../components/inference-server/startGate";
import { plan } from "../../../components/plan/plan";
import { kvFigures, machineOutputs } from "../../../components/program/machine/machineOutputs";
import { loadStackFile } from "../../../components/settings/load";

const CONTAINER = "vllm-qwen3.6-35b-a3b-8001";
const settings = loadStackFile("Pulumi.dgx.yaml");
const models = readModels(settings, process.cwd(), "/home/me");
const planned = plan(settings, { home: "/home/me", models });
const text = (of = planned) => stripVTControlCharacters(planText(of, []));

describe("the memory in a plan's text", () => {
  it("has the room, the windows, the agents and the cold prompts of each KV cache", () => {
    const lines = text().split("\n");
    const at = lines.indexOf(`  KV cache of ${CONTAINER}`);
    expect(lines.slice(at + 1, at + 11)).toEqual([
      "    weights         22 GB, comfortable (up to 45 GB)",
      "    room            4.30 to 31.82 GiB, an estimate before its first start",
      "    outside it      22.91 to 50.43 GiB (20.49 GiB of weights, and beside them what models on such a device took (starts: 4, published by: 3), widened by 6 of this model under other conditions)",
      "    full windows    1.63 to 12.05 of 262,144 tokens at once, 4 sequences",
      "    longest window  435,968 tokens",
      "    a request       32,768: 0.44 GiB, 65,536: 0.76 GiB, 131,072: 1.38 GiB, 262,144: 2.64 GiB",
      "    agents at once  4 of 30,000 + 32,000 tokens, 4 of 40,000 + 32,000 tokens",
      "    cold prompt     30,000: 5 s, 131,072: 21 s, 262,144: 42 s at best (6,265 tokens a second: vllm-project/recipes, PR #918)",
      "    block           2,096 tokens, 21,463,040 bytes",
      "    prefix reuse    in steps of 2,096 tokens; an agent's turn reuses 97 %, at worst 94 % of its last prompt",
    ]);
  });

  it("says that nothing is known of a model without a config", () => {
    expect(text(plan(settings, { home: "/home/me" }))).toContain(
      `  KV cache of ${CONTAINER}\n    not known, see the warnings\n`,
    );
  });

  const changed = (server: Record<string, unknown>) => {
    const { dgx } = settings.machines;
    const b = { ...dgx?.inferenceServers.b, ...server };
    const machines = { dgx: { ...dgx, inferenceServers: { b } } };
    return text(plan({ machines } as typeof settings, { home: "/home/me", models }));
  };

  it("has the adapters of a server with where they are from, and their slots", () => {
    const trained = { path: "~/runs/tone", rank: 8, trainedOn: "Qwen/Qwen3.6-35B-A3B" };
    const hub = {
      id: "org/legal",
      revision: "0123456789abcdef".repeat(2).padEnd(40, "0"),
      rank: 16,
    };
    const adapters = [
      { name: "tone", ...trained },
      { name: "legal", ...hub },
    ];
    expect(changed({ adapters })).toContain(
      [
        `  Adapters of ${CONTAINER}`,
        "    tone   /home/me/runs/tone",
        "    legal  org/legal at 0123456789ab",
        "           2 slots of rank 16, the most in use at once",
        "",
      ].join("\n"),
    );
    expect(text()).not.toContain("Adapters of");
  });

  it.each([
    [0.45, "4 sequences"],
    [0.433, "4 sequences: MAY NOT START"],
    [0.4, "4 sequences: MAY NOT START"],
    [0.18, "4 sequences: WOULD NOT START"],
  ])("at %f it ends with: %s", (gpuMemoryUtilization, end) => {
    const row = changed({ gpuMemoryUtilization })
      .split("\n")
      .find((line) => line.includes("full windows"));
    expect(row?.endsWith(end)).toBe(true);
  });

  it.each([
    [4, 4],
    [8, 5],
  ])("with maxNumSeqs %i it has room for %i agents, as the guide says", (maxNumSeqs, agents) => {
    const each = `${agents} of 30,000 + 32,000 tokens, ${agents} of 40,000 + 32,000 tokens`;
    expect(changed({ maxNumSeqs })).toContain(`    agents at once  ${each}\n`);
  });

  it("says which agents a window has no room for", () => {
    expect(changed({ maxModelLen: 65_536 })).toContain(
      "    agents at once  4 of 30,000 + 32,000 tokens, 0 of 40,000 + 32,000 tokens (over the context window: HTTP 400)\n",
    );
  });

  it("says with the largest utilizations what the memory floor leaves of them", () => {
    const [[name, machine] = ["", undefined]] = Object.entries(settings.machines);
    if (machine === undefined) throw new Error("no machine");
    const largest = (memoryFloorGiB: number) => {
      const machines = { [name]: { ...machine, memoryFloorGiB } };
      const lines = text(plan({ ...settings, machines }, { home: "/home/me", models })).split("\n");
      return lines
        .filter((line) => line.includes("largest utilization"))
        .map((line) => line.trim());
    };
    const of = `largest utilization that fits for ${CONTAINER}:`;
    expect(largest(2)).toEqual([`${of} 0.45 (0.48 by the sum, 0.45 by the limit)`]);
    expect(largest(10)).toEqual([
      `${of} 0.40 (0.48 by the sum, 0.45 by the limit, 0.40 with the memory floor)`,
    ]);
    expect(largest(64)).toEqual([
      `${of} 0.45 (0.48 by the sum, 0.45 by the limit, none with the memory floor)`,
    ]);
  });

  it("says that a largest utilization leaves out what is compiled at the first start", () => {
    const of = changed({ compileJobs: 8 }).split("\n");
    expect(of.find((line) => line.includes("missing"))).toContain("does not fit");
    expect(of).toContain(
      `  largest utilization that fits for ${CONTAINER}, without \`compiling\`: 0.45 (0.48 by the sum, 0.45 by the limit, none with the memory floor)`,
    );
  });

  it("names both largest utilizations", () => {
    expect(text()).toContain(
      `largest utilization that fits for ${CONTAINER}: 0.45 (0.48 by the sum, 0.45 by the limit)`,
    );
  });

  it("says that a container starts behind its gate, and leaves the script out", () => {
    expect(text()).toContain(
      "    starts behind a gate: waits until MemAvailable covers what it takes, plus instance A's share while A doesn't answer\n",
    );
    expect(text()).toContain("--entrypoint vllm");
    expect(text()).not.toContain(START_GATE.split("\n")[0]);
  });

  it("leaves the gate of a container out, too, that makes its chat template first", () => {
    const { dgx } = settings.machines;
    const b = { ...dgx?.inferenceServers.b, chatTemplate: "tolerant" };
    const machines = { dgx: { ...dgx, inferenceServers: { b } } };
    const [machine] = plan({ machines } as typeof settings, { home: "/home/me", models }).machines;
    const [named] = machine === undefined ? [] : namedOn(machine).filter(({ key }) => key === "b");
    const part = stripVTControlCharacters(named === undefined ? "" : partText(named, UNBOUNDED));
    expect(part).toContain(
      "    starts behind a gate: waits until MemAvailable covers what it takes, plus instance A's",
    );
    expect(part).toContain("--entrypoint vllm \\\n");
    expect(part).toContain("--chat-template /tmp/tolerant.jinja");
    for (const script of [START_GATE, "python3 -c"])
      expect(part).not.toContain(script.split("\n")[0]);
    expect(part.split("\n").length).toBeLessThan(110);
  });

  it("says by a meminfo whether vLLM would start", () => {
    const meminfo = { dgx: { totalGiB: 121.63, availableGiB: 48.5 } };
    expect(text(plan(settings, { home: "/home/me", models, meminfo }))).toContain(
      `  ${CONTAINER} would not start: 54.73 GiB wanted, 48.50 GiB available by this meminfo`,
    );
  });
});

describe("what a plan's text leaves to --out", () => {
  it("has the text of a configuration, and of a launcher what it is for and how long it is", () => {
    const launcher = planned.machines[0]?.files.find((file) => file.role === "launcher-codex");
    const lines = launcher?.text.trimEnd().split("\n") ?? [];
    expect(text()).toContain('    wire_api = "responses"\n');
    expect(text()).toContain(
      `    ${lines[1]}\n    # ${lines.length} lines of sh: \`--out DIR\` writes them.\n`,
    );
    expect(text()).not.toContain("set -u");
  });
});

describe("the findings in a plan's text", () => {
  const finding = (name: string, verdict: "pass" | "warned" | "refused") => ({
    name,
    verdict,
    level: "mandatory" as const,
    message: `${name} says why`,
    resource: "dgx-b",
  });
  const judged = (...findings: ReturnType<typeof finding>[]) =>
    stripVTControlCharacters(planText({ ...planned, warnings: [] }, findings)).split("\n");

  it("names what passed in one line, and the reason of everything else", () => {
    const lines = judged(
      finding("one", "pass"),
      finding("two", "warned"),
      finding("three", "pass"),
    );
    expect(lines.slice(lines.indexOf("Policies"))).toEqual([
      "Policies",
      "  pass    one, three",
      "  warned  two (dgx-b)",
      "          two says why",
      "",
      "Nothing is refused. 1 warning, 0 notes.",
    ]);
  });

  it("ends with who refuses it, each named once", () => {
    const refused = judged(
      finding("one", "refused"),
      finding("one", "refused"),
      finding("two", "refused"),
    );
    expect(refused.at(-1)).toBe(
      "REFUSED by one, two: `up` would stop before the first change. 0 warnings, 0 notes.",
    );
    expect(judged(finding("one", "pass")).at(-1)).toBe("Nothing is refused. 0 warnings, 0 notes.");
  });
});

describe("the last line of a plan that is only warned of", () => {
  const last = (machine: Record<string, unknown>, server: Record<string, unknown> = {}) => {
    const { dgx } = settings.machines;
    const b = { ...dgx?.inferenceServers.b, ...server };
    const machines = {
      dgx: { ...dgx, ...machine, inferenceServers: { b } },
    } as typeof settings.machines;
    return text(plan({ machines }, { home: "/home/me", models }))
      .split("\n")
      .at(-1);
  };

  it("says what should still not be started", () => {
    expect(last({})).toBe("Nothing is refused. 2 warnings, 4 notes.");
    // 95 GB of weights, compiled beside each other: a default line of 56.45 GiB.
    const heavy = { ...settings.machines.dgx?.inferenceServers.b?.model, weightsGB: 95 };
    expect(last({}, { model: heavy })).toContain(
      `Nothing is refused, BUT the memory of dgx is 51.78 GiB short, defaults included, and ${CONTAINER} would not start.`,
    );
    const reason = { startAnyway: "it starts on our other machine" };
    expect(last({}, { gpuMemoryUtilization: 0.18, ...reason })).toContain(
      `Nothing is refused, BUT ${CONTAINER} would not start.`,
    );
  });
});

describe("the memory on a terminal", () => {
  const memory = (width: number) => {
    const lines = stripVTControlCharacters(planText(planned, [], width)).split("\n");
    return lines.slice(lines.indexOf("  Memory"), lines.indexOf(`  KV cache of ${CONTAINER}`));
  };

  it("of 120 columns has a line for each consumer, what belongs to a server below it", () => {
    expect(memory(120).slice(0, 11)).toEqual([
      "  Memory",
      "  [1111111111111111111111111113333333333333333333333333334677..]",
      "    1 instance A                    54.73 GiB  setting: gpuMemoryUtilization 0.45 of 121.63 GiB",
      "    2   overshoot                    0.94 GiB  default: 55.67 GiB were seen against a budget of 54.73",
      "    3 vllm-qwen3.6-35b-a3b-8001     54.73 GiB  setting: gpuMemoryUtilization 0.45 of 121.63 GiB",
      "    4   overshoot                    0.94 GiB  default: 55.67 GiB were seen against a budget of 54.73",
      "    5 bridge                         0.42 GiB  default: LiteLLM's peak with one worker, measured on another machine",
      "    6 chat UI                        1.20 GiB  default: Open WebUI with one user, measured on another machine",
      "    7 operating system               4.00 GiB  default: operatingSystemGiB, unmeasured (17 to 20 GiB have been seen)",
      "      sum                          116.96 GiB  of 121.63 GiB",
      "      left                           4.67 GiB",
    ]);
  });

  it.each([48, 60, 79, 80, 100, 120])(
    "of %i columns is nowhere wider, and keeps every word",
    (width) => {
      const words = ([title, , ...rows]: readonly string[]) =>
        [title, ...rows].join(" ").split(/\s+/);
      expect(Math.max(...memory(width).map((line) => line.length))).toBeLessThanOrEqual(width);
      expect(words(memory(width))).toEqual(words(memory(Number.POSITIVE_INFINITY)));
    },
  );

  it("keeps its columns where a source takes several lines", () => {
    expect(memory(80).slice(2, 6)).toEqual([
      "    1 instance A                    54.73 GiB  setting: gpuMemoryUtilization",
      "                                               0.45 of 121.63 GiB",
      "    2   overshoot                    0.94 GiB  default: 55.67 GiB were seen",
      "                                               against a budget of 54.73",
    ]);
  });
});

describe("the memory on a narrow terminal", () => {
  const memory = stripVTControlCharacters(planText(planned, [], 60))
    .split("\n")
    .slice(5, 8);

  it("has a shorter bar, and what finds no room beside its row below it", () => {
    expect(memory).toEqual([
      "  [111111111111111111111111123333333333333333333333333677..]",
      "    1 instance A                    54.73 GiB",
      "        setting: gpuMemoryUtilization 0.45 of 121.63 GiB",
    ]);
  });
});

describe("warnings and refusals on a terminal", () => {
  it("are set in, and wrapped by words", () => {
    const verdicts = [
      {
        name: "memory-sum",
        level: "mandatory",
        verdict: "refused",
        resource: "dgx",
        message: "word ".repeat(40).trim(),
      },
    ] as const;
    const lines = stripVTControlCharacters(planText(planned, verdicts, 80)).split("\n");
    const said = lines.slice(lines.indexOf("Policies"));
    expect(Math.max(...said.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(said.filter((line) => line.startsWith("          word"))).toHaveLength(3);
    const warnings = said.slice(said.indexOf("Warnings") + 1, said.indexOf("Notes") - 1);
    expect(warnings.every((line) => /^( {2}! | {4}\S)/.test(line))).toBe(true);
    const notes = said.slice(said.indexOf("Notes") + 1, said.lastIndexOf(""));
    expect(notes.every((line) => /^( {2}- | {4}\S)/.test(line))).toBe(true);
  });
});

describe("what is known of declared machines", () => {
  it("is the memory as figures: what is left, each consumer with its basis, and what would fit", () => {
    const { memory } = machineOutputs(planned);
    expect(memory.dgx).toMatchObject({
      totalGiB: 121.63,
      sumGiB: 116.96,
      leftGiB: 4.67,
      aggregateUtilization: 0.9,
      aggregateLimit: 0.9,
      lines: {
        "instance A": {
          gib: 54.73,
          basis: "setting",
          source: "gpuMemoryUtilization 0.45 of 121.63 GiB",
        },
        "operating system": { gib: 4, basis: "default" },
      },
      largestUtilization: { [CONTAINER]: { bySum: 0.48, byAggregate: 0.45 } },
    });
    const { dgx } = settings.machines;
    const crowded = { machines: { dgx: { ...dgx, operatingSystemGiB: 20 } } } as typeof settings;
    expect(machineOutputs(plan(crowded, { home: "/home/me", models })).memory.dgx?.leftGiB).toBe(
      -11.33,
    );
  });

  it("is the KV cache as figures in a review, and null where the model is not known", () => {
    const agent = { maxTokens: 32_000, atOnce: 4, admitted: true };
    expect(kvFigures(planned.machines[0]?.kv[CONTAINER] ?? null)).toEqual({
      room: {
        basis: "estimated",
        source: expect.stringContaining("20.49 GiB of weights"),
        lowGiB: 4.3,
        highGiB: 31.82,
      },
      outside: { lowGiB: 22.91, highGiB: 50.43 },
      maxModelLen: 262_144,
      largestMaxModelLen: 435_968,
      fits: { least: true, most: true },
      fullWindows: { least: 1.63, most: 12.05 },
      requests: [
        { tokens: 32_768, gib: 0.44 },
        { tokens: 65_536, gib: 0.76 },
        { tokens: 131_072, gib: 1.38 },
        { tokens: 262_144, gib: 2.64 },
      ],
      agents: [
        { promptTokens: 30_000, ...agent },
        { promptTokens: 40_000, ...agent },
      ],
      blockTokens: 2_096,
      prefixReuse: { usual: 0.97, least: 0.94 },
    });
    expect(kvFigures(null)).toBeNull();
  });

  it("is each endpoint by its key", () => {
    expect(machineOutputs(planned).endpoints.dgx).toMatchObject({
      "instance-a": "http://127.0.0.1:8000/v1",
      b: "http://127.0.0.1:8001/v1",
    });
  });
});
