import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { benchText, figuresOf } from "../../../cli/bench/figures";
import {
  type BenchRun,
  benchArguments,
  runsOf,
  secondsOf,
  shapeFor,
} from "../../../cli/bench/runs";
import { plan } from "../../../components/plan/plan";
import { parseStackFile } from "../../../components/settings/load";
import { DIGEST, serverInput, stack } from "../../fixtures/machine";
import { FakeSsh } from "../../layers/fakeSsh";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { ENDLESS } from "../../stand-in/benchClient";
import type { StandIn } from "../../stand-in/server";
import { markApplied } from "../applied";
import { runServing } from "../runServing";
import { machineOf, planned, startPlanned } from "../verify/environment";
import { asContainer } from "./asContainer";

const ASKED = { prompt: 30_000, new: 2000, answer: 1024, calls: 3 };
const SERVE = { key: "b", maxModelLen: 262_144, maxNumSeqs: 4 } as Parameters<typeof shapeFor>[0];

describe("what a server is asked", () => {
  it("is an agent's prompt, up to four at once, and a long cold one", () => {
    expect(shapeFor(SERVE, ASKED)).toEqual({ ...ASKED, cold: 131_072, agents: 4 });
  });

  it("fits a smaller server by default", () => {
    expect(shapeFor({ ...SERVE, maxModelLen: 65_536, maxNumSeqs: 2 }, ASKED)).toEqual({
      ...ASKED,
      cold: 64_886,
      agents: 2,
    });
  });

  it.each([
    [
      { ...ASKED, prompt: 300_000 },
      "--prompt 300000 is too much",
      "Write --prompt 258534 or less.",
    ],
    [
      { ...ASKED, answer: 200_000 },
      "--answer 200000 is too much",
      "Write --answer 131072 or less.",
    ],
    [{ ...ASKED, cold: 262_144 }, "--cold 262144 is too much", "Write --cold 259547 or less."],
    [{ ...ASKED, new: 30_000 }, "--new 30000 is too much", "Write --new 15000 or less."],
    [{ ...ASKED, agents: 8 }, "--agents 8 is too much", "Write --agents 4 or less."],
  ])(
    "is refused with what to write where the server can't take it: %o",
    (asked, problem, remedy) => {
      expect(() => shapeFor(SERVE, asked)).toThrow(problem);
      expect(() => shapeFor(SERVE, asked)).toThrow(remedy);
    },
  );

  it("takes as long as its prompts, its answers and the starts of the client", () => {
    // 90,000 + 6 calls x 1000 prompt tokens, 2 x 4 answers of 500 tokens, three starts.
    const shape = { prompt: 20_000, new: 1000, answer: 500, cold: 50_000, agents: 2, calls: 3 };
    expect(secondsOf(shape, 1000, 50)).toBe((50_000 + 40_000 + 9000) / 1000 + (8 * 500) / 50 + 60);
  });
});

describe("the argv of vLLM's client", () => {
  const server = (overlay: Record<string, unknown> = {}) => {
    const [first] = machineOf(planned(8001, overlay)).inferenceServers;
    if (first === undefined) throw new Error("there is one server");
    return first;
  };
  const [cold, , two] = runsOf({ ...ASKED, cold: 131_072, agents: 2 });
  const argv = (run: BenchRun | undefined, overlay = {}) =>
    benchArguments(server(overlay), run as BenchRun, 7, "/tmp/x").join(" ");
  const COMMON =
    "vllm bench serve --backend openai --host 127.0.0.1 --port 8001 --model model --tokenizer org/model";
  const END =
    "--seed 7 --temperature 0 --ignore-eos --save-result --result-dir /tmp/x --result-filename result.json";

  it("has a cold prompt of random tokens, measured until its first token", () => {
    expect(argv(cold)).toBe(
      `${COMMON} --dataset-name random --random-input-len 131072 --random-output-len 1 --num-prompts 1 --num-warmups 0 --max-concurrency 1 ${END}`,
    );
  });

  it("has agents whose prompts begin alike, after one that fills the cache", () => {
    expect(argv(two)).toBe(
      `${COMMON} --dataset-name prefix_repetition --prefix-repetition-num-prefixes 1 --prefix-repetition-prefix-len 28000 --prefix-repetition-suffix-len 2000 --prefix-repetition-output-len 1024 --num-prompts 6 --num-warmups 1 --max-concurrency 2 ${END}`,
    );
  });

  it("takes the files of a pinned revision, and the tokenizer and the code that the server takes", () => {
    const revision = "a".repeat(40);
    expect(argv(cold, { model: { id: "org/model", revision } })).toContain(
      `--tokenizer /root/.cache/huggingface/hub/models--org--model/snapshots/${revision} `,
    );
    const more = {
      trustRemoteCode: true,
      extraArgs: ["--tokenizer=org/other", "--tokenizer-mode", "slow"],
    };
    expect(argv(cold, more)).toContain(
      " --tokenizer org/other --tokenizer-mode slow --trust-remote-code --dataset",
    );
  });
});

/** In the form in which vLLM 0.30.0 saves it, less what is not read. */
const SAVED = {
  ...{
    completed: 6,
    failed: 0,
    total_input_tokens: 180_000,
    request_goodput: null,
    output_throughput: 81.5,
  },
  ...{ median_ttft_ms: 400, p99_ttft_ms: 912.5, median_tpot_ms: 19.2 },
};
const AGENTS: BenchRun = { title: "2 agents", atOnce: 2, requests: 6, before: 1, dataset: [] };

describe("a run's figures", () => {
  const zero = { queries: 1000, hits: 500 };

  it("are the client's, with the reuse by the server's counters", () => {
    const last = { queries: 211_000, hits: 166_500 };
    expect(figuresOf(AGENTS, JSON.stringify(SAVED), zero, last)).toEqual({
      title: "2 agents",
      requests: 6,
      promptTokens: 30_000,
      firstToken: 0.4,
      firstTokenP99: 0.9125,
      prefill: 75_000,
      decode: 52.1,
      together: 81.5,
      reuse: 166_000 / 180_000,
      disturbed: false,
    });
  });

  it.each([
    [0, null],
    [0.0049, null],
    [0.1, 10_000],
  ])(
    "have no rate of an answer whose tokens came all at once: %d ms apart, %s tokens/s",
    (median_tpot_ms, decode) => {
      const last = { queries: 211_000, hits: 166_500 };
      expect(
        figuresOf(AGENTS, JSON.stringify({ ...SAVED, median_tpot_ms }), zero, last).decode,
      ).toBe(decode);
    },
  );

  it("say that somebody else asked meanwhile", () => {
    const last = { queries: 241_000, hits: 166_500 };
    expect(figuresOf(AGENTS, JSON.stringify(SAVED), zero, last).disturbed).toBe(true);
  });

  it.each([
    [
      "a failed request",
      { ...SAVED, completed: 4 },
      "2 agents: 2 of 6 requests failed. See: serving doctor",
    ],
    [
      "another form",
      { ...SAVED, median_ttft_ms: "400" },
      "The benchmark results of this vLLM can't be read: ",
    ],
    ["no JSON", "", "The benchmark results of this vLLM can't be read: "],
  ])("are refused for %s", (_, text, message) => {
    expect(() => figuresOf(AGENTS, JSON.stringify(text), zero, zero)).toThrow(message);
  });

  it("are shown beside what was published", () => {
    const cold = { ...AGENTS, title: "131072 cold", requests: 1, before: 0 };
    const saved = {
      completed: 1,
      total_input_tokens: 131_072,
      median_ttft_ms: 32_768,
      p99_ttft_ms: 32_768,
    };
    const runs = [
      figuresOf(cold, JSON.stringify({ ...SAVED, ...saved, median_tpot_ms: 0 }), zero, zero),
      figuresOf(AGENTS, JSON.stringify(SAVED), zero, { queries: 211_000, hits: 166_500 }),
    ];
    const from = { basis: "published", source: "somebody", date: "2026-11-01" } as const;
    const published = [
      { what: "decode", tokensPerSecond: 97.7, ...from },
      { what: "decode", tokensPerSecond: 120, with: "vLLM 0.28", drafts: 3, ...from },
    ] as const;
    expect(benchText(runs, [...published])).toEqual([
      "             first token      p99  tokens/s each  together  reused",
      "131072 cold      32.77 s  32.77 s              -         -  off",
      "2 agents          0.40 s   0.91 s           52.1      81.5  92 %",
      "",
      "prefill 4000 tokens/s for a cold prompt; published: not known",
      "decode 52.1 tokens/s for one agent; published: 97.7 (somebody), 120 with vLLM 0.28, 3 drafts (somebody)",
    ]);
  });
});

describe("serving bench", () => {
  let standIn: StandIn;
  let container: ReturnType<typeof asContainer>;
  let file: string;
  const SMALL = [
    "--prompt",
    "640",
    "--new",
    "64",
    "--answer",
    "8",
    "--cold",
    "1000",
    "--agents",
    "2",
    "--calls",
    "2",
  ];
  const bench = (...args: string[]) =>
    runServing(["bench", "--file", file, ...args], { ...container.env, HOME: dirname(file) });
  const left = () => readdirSync("/tmp").filter((name) => name.startsWith("local-serving-bench-"));

  beforeAll(async () => {
    standIn = await startPlanned();
    container = asContainer();
    file = join(temporaryFolder("bench-"), "Pulumi.test.yaml");
    markApplied(dirname(file), "dgx");
    const inferenceServers = { b: serverInput({ port: standIn.port }), e: embedding() };
    const machines = { dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers } };
    writeFileSync(
      file,
      `# Mine.\n${stringify({ config: { "local-serving:machines": machines } })}`,
    );
  });
  afterAll(() => standIn.close());

  const embedding = () => ({
    ...serverInput({
      model: { id: "org/embedding", kind: "embedding" },
      servedModelName: "embedding",
    }),
    ...{ port: 8002, gpuMemoryUtilization: 0.05, maxModelLen: 8192 },
  });

  it("prints every run and leaves nothing behind", async () => {
    const before = left();
    const { code, out, err } = await bench(...SMALL, "--format", "json");
    expect(code).toBe(0);
    const { runs, server, published } = JSON.parse(out);
    expect({ server, published }).toEqual({ server: "b", published: [] });
    expect(
      runs.map(({ title, requests, reuse, disturbed }: Record<string, unknown>) => [
        title,
        requests,
        reuse,
        disturbed,
      ]),
    ).toEqual([
      ["1000 cold", 1, 0, false],
      ["1 agent", 2, expect.closeTo(0.95, 1), false],
      ["2 agents", 4, expect.closeTo(0.92, 1), false],
    ]);
    expect(runs[0]).toMatchObject({ firstToken: 0.5, prefill: 2000, decode: null });
    expect(runs[1]).toMatchObject({
      firstToken: 0.5,
      firstTokenP99: 0.7505,
      decode: 50,
      together: 90.25,
    });
    expect(err).toMatch(
      /^Clients of vllm-model-\d+ will notice this for about 2 to 4 minutes\. Ctrl-C ends it\.\nRun 1 of 3: 1000 cold\n/,
    );
    expect(left()).toEqual(before);
  });

  it("measures a machine over ssh, in its own container", async () => {
    const before = left();
    const ssh = new FakeSsh();
    const there = `${file}.there`;
    const at = `dgx:\n      dockerHost: ssh://me@dgx\n      home: ${realpathSync(dirname(file))}`;
    writeFileSync(there, readFileSync(file, "utf8").replace("dgx:", at));
    const PATH = `${ssh.folder}${delimiter}${container.env.PATH}`;
    const { code, out, err } = await runServing(
      ["bench", "--file", there, ...SMALL, "--format", "json"],
      { PATH, HOME: realpathSync(dirname(file)) },
    );
    expect(code, err).toBe(0);
    expect(JSON.parse(out).runs[1]).toMatchObject({
      title: "1 agent",
      firstToken: 0.5,
      decode: 50,
    });
    expect(ssh.asked().filter((each) => each.includes("vllm bench serve"))).toHaveLength(3);
    expect(left()).toEqual(before);
  });

  it("records the rates in the stack file, which keeps its comments, and the plan takes them", async () => {
    const { code, out } = await bench("b", ...SMALL, "--record");
    expect(code).toBe(0);
    expect(out).toContain("decode 50 tokens/s for one agent; published: not known");
    expect(out).toMatch(/^\+ {12}at: "\d{4}-\d\d-\d\d"$/m);
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(/^# Mine\.\n/);
    const recorded = parseStackFile(file, text).machines.dgx?.inferenceServers.b?.measuredSpeeds;
    expect(recorded).toEqual({ prefill: 2000, decode: 50, at: expect.any(String), image: DIGEST });
    expect(readFileSync(`${file}.bak`, "utf8")).not.toContain("measuredSpeeds");
    const again = await bench("b", ...SMALL, "--record");
    expect([again.code, readFileSync(file, "utf8")]).toEqual([0, text]);
  });

  it.each([
    [["nobody"], "Which server? These write text: b."],
    [["e"], "Which server? These write text: b."],
    [["--agents", "5"], "Write --agents 4 or less."],
    [["--answer", "1"], "Expected a whole number of at least 2"],
  ])("refuses wrong use: %o", async (args, said) => {
    const { code, err } = await bench(...args);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });

  describe("where two machines have the server", () => {
    let two: string;
    const onTwo = (...args: string[]) =>
      runServing(["bench", "--file", two, ...args], { ...container.env, HOME: dirname(two) });

    beforeAll(() => {
      two = join(temporaryFolder("bench-two-"), "Pulumi.test.yaml");
      markApplied(dirname(two), "dgx1", "dgx2");
      const home = dirname(two);
      const of = (port: number, more: object = {}) => ({
        ...{ totalGiB: 121.63, instanceA: "none", home },
        inferenceServers: { b: serverInput({ port }), ...more },
      });
      const dgx2 = {
        ...of(standIn.port, { c: serverInput({ port: 2 }) }),
        dockerHost: "ssh://me@dgx2",
      };
      const machines = { dgx1: of(1), dgx2 };
      writeFileSync(two, stringify({ config: { "local-serving:machines": machines } }));
    });

    it("names the command for each", async () => {
      const { code, err } = await onTwo("b", "--agents", "2");
      expect(code).toBe(2);
      const commands = ["dgx1.b", "dgx2.b"].map(
        (name) => `  serving bench --file ${two} ${name} --agents 2\n`,
      );
      expect(err).toBe(`b is on several machines. Type one of these:\n${commands.join("")}`);
    });

    it.each([[["dgx1.b"]], [["b", "--machine", "dgx1"]], [[]]])(
      "measures the one that is meant: %o",
      async (args) => {
        const { code, err } = await onTwo(...args);
        expect(code).toBe(1);
        expect(err).toMatch(/^vllm-model-1 does not answer: /);
      },
    );

    it("says which there are", async () => {
      const { code, err } = await onTwo("x");
      expect([code, err]).toEqual([2, "Which server? These write text: dgx1.b, dgx2.b, dgx2.c.\n"]);
    });
  });

  it("says that a server doesn't answer, and why the client failed", async () => {
    const text = readFileSync(file, "utf8");
    const down = join(temporaryFolder("bench-down-"), "Pulumi.test.yaml");
    writeFileSync(down, text.replace(`port: ${standIn.port}`, "port: 1"));
    markApplied(dirname(down), "dgx");
    const env = { ...container.env, HOME: dirname(down) };
    const silent = await runServing(["bench", "--file", down], env);
    expect([silent.code, silent.err]).toEqual([
      1,
      expect.stringMatching(/^vllm-model-1 does not answer: /),
    ]);
    const before = left();
    writeFileSync(join(container.folder, "vllm"), "#!/bin/sh\nexit 3\n");
    const failed = await bench(...SMALL);
    expect(failed.err).toContain(
      `\`vllm bench serve\` failed in vllm-model-${standIn.port} (exit code 3)`,
    );
    expect([failed.code, left()]).toEqual([1, before]);
  });

  it("ends the client in the container when interrupted, and leaves nothing", async () => {
    const { folder, env } = asContainer();
    const before = left();
    const script = join(__dirname, "../../../cli/serving.ts");
    const child = spawn(
      process.execPath,
      [
        "--import",
        "tsx",
        script,
        "bench",
        "--file",
        file,
        ...SMALL,
        "--answer",
        String(ENDLESS),
        "--cold",
        "16",
      ],
      { env: { ...process.env, ...env, HOME: dirname(file) }, stdio: ["ignore", "ignore", "pipe"] },
    );
    const over = new Promise<NodeJS.Signals | null>((resolve) =>
      child.on("close", (_, signal) => resolve(signal)),
    );
    await new Promise<void>((resolve) => {
      let said = "";
      child.stderr.on("data", (chunk) => {
        said += String(chunk);
        if (said.includes("waiting")) resolve();
      });
    });
    const [own = ""] = left().filter((name) => !before.includes(name));
    const pid = Number(readFileSync(`/tmp/${own}/pid`, "utf8"));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    child.kill("SIGTERM");
    expect(await over).toBe("SIGTERM");
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(left()).toEqual(before);
    expect(readFileSync(join(folder, "asked"), "utf8")).toMatch(/rm -rf/);
  });
});

describe("recorded rates", () => {
  const speeds = { prefill: 4000, decode: 52.1, at: "2026-11-22", image: DIGEST };
  const model = { id: "nvidia/Qwen3.6-35B-A3B-NVFP4", family: "qwen3" as const, thinking: true };
  const prefill = (measuredSpeeds: unknown) => {
    const config = JSON.parse(
      readFileSync("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json", "utf8"),
    );
    const published = { tokensPerSecond: 6265, source: "somebody" };
    const evidence = { source: "config.json", config, weightsGB: 22, prefill: published };
    const { machines } = plan(stack({}, { model, measuredSpeeds }), {
      home: "/home/me",
      models: { [model.id]: evidence },
    });
    return Object.values(machines[0]?.kv ?? {})[0]?.prefill;
  };

  it("come before published ones in the plan, for the image that they are of", () => {
    expect(prefill(speeds)).toMatchObject({
      source: "4,000 tokens a second: measured on 2026-11-22",
      prompts: [{ tokens: 30_000, seconds: 8 }, {}, {}],
    });
    const other = { ...speeds, image: `sha256:${"9".repeat(64)}` };
    for (const none of [undefined, other]) {
      expect(prefill(none)?.source).toBe("6,265 tokens a second: somebody");
    }
  });

  it("come before published ones in the list of models, and above them in `models show`", async () => {
    const file = join(temporaryFolder("bench-models-"), "Pulumi.test.yaml");
    const inferenceServers = {
      b: serverInput({ model, servedModelName: "qwen3.6-35b-a3b", measuredSpeeds: speeds }),
    };
    const machines = { dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers } };
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    const list = await runServing(["models", "--file", file]);
    expect(list.out).toMatch(/^qwen3\.6-35b-a3b .* 52\.1 +97\.7 +vLLM 0\.24\.0, 22 GB of disk$/m);
    const { out } = await runServing(["models", "show", model.id, "--file", file]);
    expect(out).toMatch(
      /^ {2}speed here: 52\.1 tokens\/s \(this machine.*: serving bench\); 97\.7 /m,
    );
  });
});
