import { DEFAULT_HARNESS } from "../harness";
import type { ReferenceDocument, ReferenceSection } from "../reference/markdown";
import { jsonSchemaOf } from "../schema/jsonSchema";
import { measuredUsd } from "./cost";
import { reviewersFor } from "./reviewers";
import { providerSchema, providersProfileSchema } from "./schema";

const DIALECT: ReferenceSection = {
  heading: "How the harness reads the file",
  text: [
    "Not as TOML does: line by line, each value as the plain text behind the first `=`. Where the two readings part, the check says so at the line. To write a profile that reads the same both ways:",
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

export function providersReference(): ReferenceDocument {
  return {
    name: "providers-profile",
    title: "Providers profile",
    madeFrom: "harness/providers/schema.ts",
    closed: false,
    schema: providersProfileSchema,
    intro: [
      `TOML, \`${DEFAULT_HARNESS.home}/providers.toml\` by default. It lists the reviewers that are available on the machine and who reviews whom. \`serving config check providers FILE\` checks it, \`--probe\` also asks every provider, and \`serving config init providers\` writes a commented one to start from.`,
      "A key that is not listed here is a warning. Keys that could only hold a secret, such as `api_key`, are refused: `api_key_env` names the variable that holds it.",
    ],
    sections: [
      { heading: "Example: a model server of this machine", text: [`\`\`\`toml\n${exampleProvider()}\n\`\`\``] },
      DIALECT,
      reviewersExample(),
      costExample(),
    ],
  };
}

/** A provider that both readings take alike; each value but the type is its key's own example. */
export function exampleProvider(): string {
  const keys = ["base_url", "api_key_env", "model", "max_tokens", "disable_thinking", "timeout_sec", "healthcheck"];
  const examples = jsonSchemaOf(providerSchema).properties ?? {};
  const lines = keys.map((key) => `${key} = ${JSON.stringify(examples[key]?.examples?.[0])}`);
  return ["[providers.local]", 'type = "openai-compatible"', ...lines].join("\n");
}

function reviewersExample(): ReferenceSection {
  const pairings = { peer_for: { codex: "local" }, fallback_chain: { codex: ["local", "ollama", "codex"] } };
  const order = reviewersFor("codex", pairings).map((name) => `\`${name}\``);
  return {
    heading: "Example: who reviews",
    text: [
      '```toml\n[defaults]\npeer_for.codex = "local"\nfallback_chain.codex = ["local", "ollama", "codex"]\n```',
      `The work of \`codex\` goes to ${order.join(", then ")}: nobody twice, and never to itself. The harness tries the next provider when one fails its healthcheck, or ran and produced no review. After a verdict it tries nobody else.`,
      "`serving config check providers FILE --probe` shows for every subject who was tried, in order, and who is chosen.",
    ],
  };
}

function costExample(): ReferenceSection {
  const prices = { price_usd_per_mtok_input: 3, price_usd_per_mtok_output: 15 };
  const usage = { inputTokens: 40_000, outputTokens: 2_000 };
  return {
    heading: "Example: what an invocation costs",
    text: [
      `With both prices, ${prices.price_usd_per_mtok_input} and ${prices.price_usd_per_mtok_output} USD per million tokens, a request of ${usage.inputTokens} tokens with an answer of ${usage.outputTokens} costs ${measuredUsd(prices, usage)} USD: the provider is metered, and the ledger takes what was measured.`,
      "With one price or none, or when a server reports no usage, the ledger takes `unattended.budget.estimate_usd_per_invocation` of the automation config and marks it `estimated`. If `estimate_unmetered` is off, the cost stays unknown.",
      "`serving config check providers FILE --probe` shows for every provider whether it is metered or estimated, and what the probe's own request cost.",
    ],
  };
}
