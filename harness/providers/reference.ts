import { DEFAULT_HARNESS } from "../harness";
import type { ReferenceDocument, ReferenceSection } from "../reference/document";
import { jsonSchemaOf } from "../schema/jsonSchema";
import { nextReviewer, reviewersFor, type Turn } from "./fallback";
import { debit } from "./metering";
import { nextRound, parkLoop, remainingSec, resumeLoop, startLoop } from "./reviewLoop";
import { providerSchema, providersProfileSchema } from "./schema";

/** The reference page of the providers profile. */
export function providersReference(): ReferenceDocument {
  return {
    name: "providers-profile",
    title: "Providers profile",
    madeFrom: "harness/providers/schema.ts",
    closed: false,
    schema: providersProfileSchema,
    intro: [
      `TOML, \`${DEFAULT_HARNESS.home}/providers.toml\` by default. It lists the reviewers that are available on the ` +
        "machine and who reviews whom. `serving config check providers FILE` checks it, `--probe` also asks every " +
        "provider, and `serving config init providers` writes a commented one to start from.",
      "A key that is not listed here is a warning. Keys that could only hold a secret, such as `api_key`, are " +
        "refused: `api_key_env` names the variable that holds it.",
    ],
    sections: [providerExample(), dialect(), fallbackExample(), costExample(), loopExample()],
  };
}

/** A provider that both readings take alike; each value but the type is its key's own example. */
export function exampleProvider(): string {
  const keys = [
    "base_url",
    "api_key_env",
    "model",
    "max_tokens",
    "disable_thinking",
    "timeout_sec",
    "healthcheck",
  ];
  const examples = jsonSchemaOf(providerSchema).properties ?? {};
  const lines = keys.map((key) => `${key} = ${JSON.stringify(examples[key]?.examples?.[0])}`);
  return ["[providers.local]", 'type = "openai-compatible"', ...lines].join("\n");
}

function providerExample(): ReferenceSection {
  return {
    heading: "Example: a model server of this machine",
    text: [`\`\`\`toml\n${exampleProvider()}\n\`\`\``],
  };
}

function dialect(): ReferenceSection {
  return {
    heading: "How the harness reads the file",
    text: [
      "Not as TOML does: line by line, each value as the plain text behind the first `=`. Where the two readings part, " +
        "the check says so at the line. To write a profile that reads the same both ways:",
      [
        "- Put comments on lines of their own. A comment behind a value becomes a part of it, behind a header a part of the name.",
        "- Start headers and keys at the very beginning of a line, and put nothing but spaces between a key and `=`.",
        "- Write `peer_for` and `fallback_chain` as dotted keys under `[defaults]`, no key in quotes, no inline table.",
        "- Keep a value on one line, in one pair of double quotes, without backslashes: escapes stay as they are written.",
        "- Write numbers in plain digits (`8192`, not `8_192`), `true` and `false` bare, and leave no space behind a value.",
        "- End lines with LF, and save the file without a byte order mark.",
      ].join("\n"),
    ],
  };
}

function fallbackExample(): ReferenceSection {
  const pairings = { peer_for: { codex: "local" }, fallback_chain: { codex: ["local", "ollama", "codex"] } };
  const order = reviewersFor("codex", pairings);
  const histories: Turn[][] = [
    [],
    [{ provider: "local", outcome: "unhealthy" }],
    [
      { provider: "local", outcome: "no-review" },
      { provider: "ollama", outcome: "verdict" },
    ],
    [
      { provider: "local", outcome: "unhealthy" },
      { provider: "ollama", outcome: "no-review" },
    ],
  ];
  return {
    heading: "Example: who reviews",
    text: [
      '```toml\n[defaults]\npeer_for.codex = "local"\nfallback_chain.codex = ["local", "ollama", "codex"]\n```',
      `The work of \`codex\` is given to ${order.map((name) => `\`${name}\``).join(", then ")}: nobody twice, and never to itself.`,
    ],
    table: {
      head: ["What happened so far", "What comes next"],
      rows: histories.map((turns) => {
        const next = nextReviewer(order, turns);
        return [
          turns.map(({ provider, outcome }) => `\`${provider}\`: ${outcome}`).join("; ") || "nothing",
          next.kind === "ask"
            ? `\`${next.provider}\` is asked`
            : next.kind === "decided"
              ? `the verdict of \`${next.provider}\` stands, nobody else is asked`
              : "there is nobody left to ask",
        ];
      }),
    },
  };
}

function costExample(): ReferenceSection {
  const metered = { price_usd_per_mtok_input: 3, price_usd_per_mtok_output: 15 };
  const usage = { inputTokens: 40_000, outputTokens: 2_000 };
  const estimate = { estimateUnmetered: true, usdPerInvocation: 0.5 };
  const none = { estimateUnmetered: false };
  const cases = [
    { says: "both prices, usage reported", taken: debit(metered, usage, estimate) },
    { says: "both prices, no usage reported", taken: debit(metered, undefined, estimate) },
    { says: "one price or none", taken: debit({}, usage, estimate) },
    { says: "one price or none, and no estimate wanted", taken: debit({}, usage, none) },
  ];
  return {
    heading: "Example: what an invocation costs the ledger",
    text: [
      `Prices of ${metered.price_usd_per_mtok_input} and ${metered.price_usd_per_mtok_output} USD per million tokens, ` +
        `${usage.inputTokens} tokens in, ${usage.outputTokens} out, an estimate of ${estimate.usdPerInvocation} USD ` +
        "per invocation in the automation config.",
    ],
    table: {
      head: ["The provider has", "Debit (USD)", "`estimated`"],
      rows: cases.map(({ says, taken }) => [
        says,
        taken === undefined ? "none: the cost stays unknown" : String(taken.usd),
        taken === undefined ? "" : String(taken.estimated),
      ]),
    },
  };
}

function loopExample(): ReferenceSection {
  const bounds = { maxRounds: 5, loopTimeoutSec: 900 };
  const begun = nextRound(startLoop(bounds, 0), 0);
  const running = begun.kind === "begin" ? begun.loop : startLoop(bounds, 0);
  const resumed = resumeLoop(parkLoop(running), 5000);
  const late = nextRound(running, 900);
  const rows = [
    ["0 s: round 1 begins", running, 0],
    ["600 s: still in round 1", running, 600],
    ["900 s: another round is wanted", running, 900],
    ["parked at 600 s, resumed at 5000 s", resumed, 5000],
  ] as const;
  return {
    heading: "Example: the budget of a review loop",
    text: [
      `With \`review.max_rounds\` ${bounds.maxRounds} and \`review.loop_timeout_sec\` ${bounds.loopTimeoutSec} in the ` +
        "automation config. A provider's `timeout_sec` bounds one invocation, and never beyond what the loop has left. " +
        `At 900 s the loop stops (\`${late.kind === "stop" ? late.reason : ""}\`); a parked run that resumes has its ` +
        "whole time again, but not its rounds.",
    ],
    table: {
      head: ["When", "Rounds begun", "Seconds left"],
      rows: rows.map(([when, loop, now]) => [when, String(loop.rounds), String(remainingSec(loop, now))]),
    },
  };
}
