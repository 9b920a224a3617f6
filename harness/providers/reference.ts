import { DEFAULT_HARNESS } from "../harness";
import { type ReferenceDocument, readPage } from "../reference/render";
import { jsonSchemaOf } from "../schema/jsonSchema";
import { measuredUsd } from "./cost";
import { reviewersFor } from "./reviewers";
import { providerSchema, providersProfileSchema } from "./schema";

export function providersReference(): ReferenceDocument {
  const pairings = { peer_for: { codex: "local" }, fallback_chain: { codex: ["local", "ollama", "codex"] } };
  const prices = { price_usd_per_mtok_input: 3, price_usd_per_mtok_output: 15 };
  const usage = { inputTokens: 40_000, outputTokens: 2_000 };
  const page = readPage("providers-profile", {
    home: DEFAULT_HARNESS.home,
    provider: exampleProvider(),
    reviewers: reviewersFor("codex", pairings)
      .map((name) => `\`${name}\``)
      .join(", then "),
    input: prices.price_usd_per_mtok_input,
    output: prices.price_usd_per_mtok_output,
    request: usage.inputTokens,
    answer: usage.outputTokens,
    cost: measuredUsd(prices, usage),
  });
  return { ...page, madeFrom: "harness/providers/schema.ts", closed: false, schema: providersProfileSchema };
}

/** A provider that both readings take alike; each value but the type is its key's own example. */
export function exampleProvider(): string {
  const keys = ["base_url", "api_key_env", "model", "max_tokens", "disable_thinking", "timeout_sec", "healthcheck"];
  const examples = jsonSchemaOf(providerSchema).properties ?? {};
  const lines = keys.map((key) => `${key} = ${JSON.stringify(examples[key]?.examples?.[0])}`);
  return ["[providers.local]", 'type = "openai-compatible"', ...lines].join("\n");
}
