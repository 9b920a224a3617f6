import * as z from "zod";
import { strictObject } from "zod";
import { block, key, matching } from "../../schema/key";

type Words = [description: string, notes?: z.GlobalMeta];

const word = (fallback: string, ...words: Words) => key(z.string().default(fallback), ...words);

/** Text in which empty means that nothing is set. */
const text = (...words: Words) => word("", ...words);

/** An absolute http or https URL, or empty where nothing is set. */
const url = (fallback: string, ...words: Words) => key(urlOrEmpty().default(fallback), ...words);

const urlOrEmpty = () =>
  matching(
    /^(?:https?:\/\/[^\s/?#]+[^\s]*)?$/,
    "Expected an absolute http or https URL, or empty text",
  );

/** A whole number of at least `least`. */
const count = (least: number, fallback: number, ...words: Words) =>
  key(z.int().min(least).default(fallback), ...words);

/** A part of a whole, from 0 to 1. */
const share = (fallback: number, ...words: Words) =>
  key(z.number().min(0).max(1).default(fallback), ...words);

const list = (fallback: string[], ...words: Words) =>
  key(z.array(z.string()).default(fallback), ...words);

/** A block whose keys have environment variables: a prefix and the key's name in capitals. */
function variableBlock<Shape extends Record<string, z.ZodType>>(
  prefix: string,
  description: string,
  shape: Shape,
) {
  const named = Object.entries(shape).map(([name, schema]) => {
    return [name, schema.meta({ variable: `${prefix}${name.toUpperCase()}` })];
  });
  // Every schema keeps its type.
  return block(description, Object.fromEntries(named) as Shape);
}

const backend = () =>
  word(
    "ollama",
    "Program that judges: `ollama`, `openai` for any server that speaks chat completions (vLLM does), or a coding tool by its id.",
    { examples: ["openai"] },
  );
const model = () =>
  text("Model that judges; empty takes the backend's own default.", {
    examples: ["qwen3-coder-next"],
  });

const embeddingSchema = () =>
  block("How session texts become vectors for the search of similar sessions.", {
    backend: word(
      "ollama",
      "Program that makes the embeddings: `ollama`, or `openai` for any server with /v1/embeddings (vLLM has it).",
      { variable: "SA_EMBED_BACKEND", examples: ["openai"] },
    ),
    input_cap_chars: count(1, 8000, "Longest text that is embedded; the rest is cut off.", {
      unit: "characters",
    }),
    model: text(
      "Embedding model; while it is empty nothing is embedded, since Ollama has no default.",
      {
        variable: "SA_EMBED_MODEL",
        examples: ["nomic-embed-text"],
      },
    ),
    ollama_url: url(
      "http://localhost:11434",
      "Address of the server that makes the embeddings: Ollama's, or for `openai` one that ends in `/v1`.",
    ),
    workers: count(1, 1, "Embedding requests under way at once.", { variable: "SA_EMBED_WORKERS" }),
  });

const judgeSchema = () =>
  block("Which model judges sessions, and where it runs.", {
    default: block(
      "The judge for sessions of every tool that has no judge of its own. If its backend comes from a variable, the file's model is ignored: the model comes from its variable too, or is empty.",
      {
        backend: backend().meta({ variable: "SA_JUDGE_BACKEND" }),
        model: model().meta({ variable: "SA_JUDGE_MODEL" }),
      },
    ),
    by_copilot: z
      .record(
        z.string(),
        strictObject({ backend: backend(), model: model() }).describe(
          "The judge for sessions of this coding tool.",
        ),
      )
      .default({
        aider: { backend: "ollama", model: "" },
        "claude-code": { backend: "ollama", model: "" },
      })
      .describe("Judges by coding tool, under the tool's id.")
      .meta({ placeholder: "tool" }),
    workers: count(1, 2, "Sessions judged at once.", { variable: "SA_JUDGE_WORKERS" }),
    ollama_url: url("http://localhost:11434", "Address of the Ollama server that judges."),
    base_url: url(
      "",
      "Base URL of the server that judges when the backend speaks chat completions.",
      {
        variable: "SA_JUDGE_BASE_URL",
        examples: ["http://127.0.0.1:8001/v1"],
      },
    ),
    api_key: text("Key for the judge's server. It comes from its variable, never from the file.", {
      variable: "SA_JUDGE_API_KEY",
      secret: true,
    }),
  });

const rate = (what: string) =>
  key(z.number().min(0).optional(), `Price of ${what}.`, { unit: "USD per million tokens" });

const PRICES_FROM = "2026-05-01";

const modelPrice = () =>
  strictObject({
    currency: key(
      matching(/^[A-Z]{3}$/, "Expected a currency's three capital letters, such as USD").default(
        "USD",
      ),
      "Currency of the prices, by its three letters.",
    ),
    effective_date: key(
      z.iso
        .date({ error: "Expected a day of the calendar as ISO 8601 writes it, such as 2026-05-01" })
        .default(PRICES_FROM),
      "Day from which the prices hold. Sessions read before a change keep the price they were given.",
    ),
    input: rate("input tokens that no cache held"),
    output: rate("output tokens"),
    cache_read: rate("input tokens read from the cache"),
    cache_write: rate("input tokens written to the cache"),
  }).describe("Prices of one model, under the id that sessions record.");

/**
 * List prices of the specification's three tiers; the ids are those that sessions of these tiers
 * record.
 */
const TIERS = {
  "claude-haiku-4-8": { input: 0.8, output: 4.0, cache_read: 0.08, cache_write: 1.0 },
  "claude-sonnet-4-8": { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 },
  "claude-opus-4-8": { input: 15.0, output: 75.0, cache_read: 1.5, cache_write: 18.75 },
};

const pricingSchema = () =>
  block("What tokens cost, for the cost of sessions.", {
    models: z
      .record(z.string(), modelPrice())
      .default(
        Object.fromEntries(
          Object.entries(TIERS).map(([id, rates]) => [
            id,
            { currency: "USD", effective_date: PRICES_FROM, ...rates },
          ]),
        ),
      )
      .describe(
        "Prices by model id. By default there are three: a small, a medium and a large tier.",
      )
      .meta({ placeholder: "model_id" }),
  });

const calibrationSchema = () =>
  variableBlock(
    "SA_CALIBRATION_",
    "How sure the evidence of past sessions must be before a task is routed to a cheaper model. These descriptions are inferred from the keys' names alone.",
    {
      distance_metric: word("l2_v1", "Measure of how far two tasks are apart, with its version."),
      k: count(1, 5, "Nearest past tasks that vote on a new one."),
      k_min: count(
        1,
        3,
        "Fewest neighbours with which a vote counts; with fewer the task is not moved to a cheaper model.",
      ),
      max_false_downgrade_rate: share(
        0.05,
        "Largest share of tasks that may be moved to a model which then fails them, from 0 to 1.",
      ),
      min_coverage: share(
        0.8,
        "Smallest share of tasks for which the calibration must reach a decision, from 0 to 1.",
      ),
      min_sets: count(1, 3, "Fewest separate sets of tasks that the evidence must come from."),
      min_sufficiency: share(
        0.95,
        "Smallest share of trials in which a model must have sufficed for a task to count as within its reach.",
      ),
      min_tasks: count(1, 10, "Fewest tasks that the evidence must hold."),
      min_trials: count(1, 3, "Fewest trials of each task."),
      policy_source: text("File that holds the user's routing policy; empty for none."),
      repo_policy_source: text(
        "File that holds the repository's routing policy, which can only narrow the user's; empty for none.",
      ),
      root: text("Folder in which calibrations are kept; empty takes the harness's own."),
      tier_floor: word("tier1", "Cheapest tier that the routing may choose."),
      vote_epsilon: key(
        z.number().min(0).default(1e-6),
        "Added to every distance before votes are weighted by it, so that an identical task causes no division by zero.",
      ),
    },
  );

const budget = (whose: string, variable: string) =>
  key(
    z.union([z.literal(""), z.number().min(0)]).default(""),
    `Budget of ${whose}; empty sets no limit.`,
    {
      variable: `SA_BUDGET_${variable}`,
      unit: "USD",
      examples: [50],
    },
  );

const teamSchema = () =>
  block("The team's page: who is active, what was spent, what has run away.", {
    active_window_seconds: count(
      0,
      300,
      "A developer whose session changed within this time is shown as active.",
      {
        variable: "SA_TEAM_ACTIVE_WINDOW",
        unit: "seconds",
      },
    ),
    budgets: block("What may be spent before the team's page warns.", {
      team_daily_usd: budget("the whole team for a day", "TEAM_DAILY_USD"),
      team_monthly_usd: budget("the whole team for a month", "TEAM_MONTHLY_USD"),
      developer_daily_usd: budget("each developer for a day", "DEVELOPER_DAILY_USD"),
      project_daily_usd: budget("each project for a day", "PROJECT_DAILY_USD"),
    }),
    runaway: variableBlock("SA_RUNAWAY_", "When a session counts as having run away.", {
      recent_minutes: count(1, 60, "How far back to look for signs that a session has run away.", {
        unit: "minutes",
      }),
      max_turns_recent: count(
        0,
        300,
        "With more turns than this in that time, a session has run away.",
        {
          unit: "turns",
        },
      ),
      recent_turns: count(1, 50, "How many of the last turns the share of errors is taken over.", {
        unit: "turns",
      }),
      max_error_share: share(
        0.5,
        "With a larger share of errors than this, from 0 to 1, a session has run away.",
      ),
      min_turns_for_error_share: count(
        0,
        20,
        "Fewest turns before the share of errors is judged at all.",
        {
          unit: "turns",
        },
      ),
      max_cost_recent_usd: key(
        z.number().min(0).default(20),
        "With a higher cost than this in that time, a session has run away.",
        { unit: "USD" },
      ),
    }),
  });

const sessionsSchema = () =>
  block("Which sessions count.", {
    noise: variableBlock("SA_NOISE_", "Sessions that are left out of every figure.", {
      min_turns: count(0, 3, "A session with fewer turns is noise.", { unit: "turns" }),
      min_duration_seconds: key(
        z.number().min(0).default(60),
        "A session that took less time is noise.",
        {
          unit: "seconds",
        },
      ),
      path_patterns: list(
        ["/cct-probe", "/private/var/folders/", "/tmp/"],
        "A session in a folder whose path holds one of these texts is noise. The first one marks the harness's own probes.",
      ),
    }),
  });

const autoBuildSchema = () =>
  block("Where the ledgers of automatic builds are, and when a build counts as active.", {
    ledger_root: word(
      ".cct",
      "Folder, within a project, in which the harness keeps the ledgers of its runs.",
    ),
    active_window_seconds: count(
      0,
      900,
      "A run whose ledger changed within this time is shown as active.",
      {
        unit: "seconds",
      },
    ),
  });

const similaritySchema = () =>
  variableBlock("SA_SIMILARITY_", "When sessions count as similar.", {
    threshold: share(0.55, "Sessions less alike than this, from 0 to 1, are not shown as similar."),
    top_k: count(1, 5, "Most similar sessions that are shown.", { unit: "sessions" }),
  });

const sourcesSchema = () =>
  z
    .record(
      z.string(),
      text("Folder in which this tool keeps its sessions; `~` is the user's home."),
    )
    .default({ aider: "~", "claude-code": "~/.claude/projects" })
    .describe(
      "Where the sessions of each coding tool are, by the tool's id. A tool's variable is `SA_SOURCE_` and its id in capitals, with underscores for dashes.",
    )
    .meta({ placeholder: "tool", variable: "SA_SOURCE_<KEY>" });

/** The harness's modes. Empty text, as any key of text may be, leaves it to the harness. */
const REDACTION_MODES = ["code", "metadata-only", "none", ""] as const;

/** The only home of the keys' defaults; order is the order in which they are shown. */
const sessionAnalytics = () =>
  strictObject({
    $schema: key(z.string().optional(), "JSON Schema of this file, for editors. It sets nothing."),
    _comment: key(
      z.union([z.string(), z.array(z.string())]).optional(),
      "A remark for people, since JSON has no comments. It sets nothing.",
    ),
    dsn: text(
      "Database in which sessions are kept; empty takes the harness's own. An address with a password comes from the variable, never from the file.",
      { variable: "SA_DSN", examples: ["sqlite:////var/lib/hx/sessions.db"] },
    ),
    kuzu_path: text("Folder of the knowledge graph; empty takes the harness's own.", {
      variable: "SA_KUZU_PATH",
    }),
    benchmark_runs_root: text("Folder in which the runs of benchmarks are; empty for none.", {
      variable: "SA_BENCHMARK_RUNS_ROOT",
    }),
    redaction_mode: key(
      z.enum(REDACTION_MODES).default("code"),
      "What is taken out of sessions before they are kept or judged: `code` takes out code and secrets, `metadata-only` all text, `none` nothing.",
      { variable: "SA_REDACTION" },
    ),
    embedding: embeddingSchema(),
    judge: judgeSchema(),
    sources: sourcesSchema(),
    sessions: sessionsSchema(),
    similarity: similaritySchema(),
    team: teamSchema(),
    auto_build: autoBuildSchema(),
    project_ids: z
      .array(
        z.union([
          z.string(),
          z.looseObject({
            match: key(z.string().min(1), "Text that a session's folder holds."),
            id: key(z.string().min(1), "Project that such a session belongs to."),
          }),
        ]),
      )
      .default([])
      .describe(
        "Rules that tell which project a session belongs to when its folder is in no repository.",
      )
      .meta({ examples: [[{ match: "/home/me/shop", id: "shop" }]] }),
    pricing: pricingSchema(),
    routing_evidence_roots: list([], "Folders with the evidence that routing decisions rest on.", {
      variable: "SA_ROUTING_EVIDENCE_ROOTS",
    }),
    routing_calibration: calibrationSchema(),
  }).describe(
    "What the harness learns from sessions: where they are, who judges them, what they cost.",
  );

let made: ReturnType<typeof sessionAnalytics> | undefined;

/**
 * The session-analytics file. Its schema is made when it is first asked for, which a plan without
 * `harness` never does.
 */
export const analyticsSchema = () => (made ??= sessionAnalytics());

/**
 * Variables that the harness reads directly and that belong to no key, without the harness's
 * prefix.
 */
export const KEYLESS_VARIABLES = {
  SA_DB: "Database file that takes the place of the configured one.",
  SA_TEAM_ALIASES: "Other names under which the team's developers commit.",
  DEVELOPER_ID: "Who the sessions of this machine belong to.",
} as const;
