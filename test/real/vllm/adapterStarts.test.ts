import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type Engine, engineVariables, installEngine } from "./engine";
import { told } from "./told";

const run = promisify(execFile);

/** One import of vLLM, and a few seconds for each start. */
const LIMIT_MS = 1_200_000;

/** Rank of the adapters; slots have room for just that. */
const RANK = 8;

interface AdapterStart {
  /** A form of adapters.py; `missing` has no folder at all. */
  readonly form: string;
  readonly rank?: number;
  /** What doctor says of the start, where it fails. */
  readonly fails?: string;
  /** Whether it serves and answers as the sound one does. */
  readonly serves?: "as the sound one" | "otherwise";
}

/**
 * What the real vLLM makes of adapters that the plan refuses before it starts, and of those that
 * only it can tell. What serves without a word and answers otherwise is why the plan looks at all.
 */
const STARTS: readonly AdapterStart[] = [
  { form: "sound", serves: "as the sound one" },
  { form: "pickle", serves: "as the sound one" },
  { form: "other-kind", serves: "as the sound one" },
  { form: "no-kind", serves: "as the sound one" },
  { form: "no-base", serves: "as the sound one" },
  { form: "own-smaller-rank", serves: "otherwise" },
  { form: "narrower-base", serves: "otherwise" },
  { form: "deeper-base", serves: "as the sound one" },
  { form: "sound", rank: 16, fails: "adapter-rank" },
  { form: "missing", fails: "adapter-missing" },
  { form: "no-config", fails: "adapter-missing" },
  { form: "dora", fails: "adapter-unsupported" },
  { form: "dora-tensors", fails: "adapter-unsupported" },
  { form: "bias", fails: "adapter-unsupported" },
  { form: "lora-bias", fails: "adapter-unsupported" },
  { form: "modules-to-save", fails: "adapter-unsupported" },
  { form: "whole-layer", fails: "adapter-unsupported" },
  { form: "tokens", fails: "adapter-unsupported" },
  { form: "no-rank", fails: "adapter-files-damaged" },
  { form: "rank-0", fails: "adapter-files-damaged" },
  { form: "no-alpha", fails: "adapter-files-damaged" },
  { form: "alpha-text", fails: "adapter-files-damaged" },
  { form: "no-targets", fails: "adapter-files-damaged" },
  { form: "own-larger-rank", fails: "adapter-of-another-model" },
  { form: "wider-base", fails: "adapter-of-another-model" },
  { form: "other-layers", fails: "adapter-of-another-model" },
  { form: "no-json", fails: "adapter-files-damaged" },
  { form: "no-weights", fails: "adapter-files-damaged" },
  { form: "cut", fails: "adapter-files-damaged" },
  { form: "pickled-code", fails: "adapter-files-damaged" },
];

const nameOf = ({ form, rank = RANK }: AdapterStart) => (rank === RANK ? form : `${form}-${rank}`);

/** How a start went, as forkedStarts.py says it. */
interface Started {
  readonly name: string;
  readonly code?: number | null;
  /** What it makes of a text, by the name that is asked for: log-probabilities of its tokens. */
  readonly answers?: Readonly<Record<string, readonly number[]>>;
  readonly log: string;
}

describe("the real vLLM 0.30.0 with an adapter", () => {
  let engine: Engine;
  let started: readonly Started[];
  const startOf = (name: string) => started.find((each) => each.name === name);

  beforeAll(async () => {
    engine = await installEngine("0.30.0");
    const python = join(engine.path, "../python");
    const folder = temporaryFolder("adapters-");
    const starts = STARTS.map((start) => {
      const [name, path] = [nameOf(start), join(folder, nameOf(start))];
      const { form, rank = RANK } = start;
      const args = [
        ...["rig/dense", "--enforce-eager", "--max-model-len", "4096"],
        ...["--enable-lora", "--lora-modules", `mine=${path}`],
        ...["--max-lora-rank", String(RANK), "--max-loras", "1"],
      ];
      return { name, args, ...(form === "missing" ? {} : { adapter: [path, rank, 1, form] }) };
    });
    const { stdout } = await run(
      python,
      [join(__dirname, "forkedStarts.py"), JSON.stringify(starts)],
      { env: { ...process.env, ...engineVariables(engine.home) }, maxBuffer: 2 ** 28 },
    );
    started = stdout
      .split("\n")
      .filter((line) => line.startsWith("STARTED "))
      .map((line) => JSON.parse(line.slice("STARTED ".length)) as Started);
  }, LIMIT_MS);
  afterAll(() => engine?.remove());

  it.each(
    STARTS.flatMap((start) =>
      start.fails === undefined ? [] : ([[nameOf(start), start]] as const),
    ),
  )("%s ends, and doctor tells why", async (name, { fails = "" }) => {
    const { code, log = "" } = startOf(name) ?? {};
    expect(code, log.slice(-2000)).toBe(1);
    expect(await told(log)).toEqual([fails]);
  });

  it.each(
    STARTS.flatMap((start) =>
      start.serves === undefined ? [] : ([[nameOf(start), start]] as const),
    ),
  )("%s serves without a word", (name, { serves }) => {
    const { answers, log } = startOf(name) ?? {};
    expect(Object.keys(answers ?? {}), log?.slice(-2000)).toEqual(["rig/dense", "mine"]);
    const sound = startOf("sound")?.answers;
    expect(answers?.["rig/dense"]).toEqual(sound?.["rig/dense"]);
    const isAlike = JSON.stringify(answers?.mine) === JSON.stringify(sound?.mine);
    expect(isAlike).toBe(serves === "as the sound one");
  });

  it("answers otherwise by an adapter than by its model", () => {
    const sound = startOf("sound")?.answers;
    expect(sound?.mine).toHaveLength(sound?.["rig/dense"]?.length ?? 0);
    expect(sound?.mine).not.toEqual(sound?.["rig/dense"]);
  });
});
