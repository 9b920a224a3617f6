import { strictObject, z } from "zod";
import { block, key } from "../../schema/key";

const rate = (what: string) =>
  key(z.number().min(0).optional(), `Price of ${what}.`, { unit: "USD per million tokens" });

const PRICES_FROM = "2026-05-01";

const modelPrice = strictObject({
  currency: key(
    z
      .string()
      .regex(/^[A-Z]{3}$/, { error: "Expected a currency's three capital letters, such as USD" })
      .default("USD"),
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

/** List prices of the specification's three tiers; the ids are those that sessions of these tiers record. */
const TIERS = {
  "claude-haiku-4-8": { input: 0.8, output: 4.0, cache_read: 0.08, cache_write: 1.0 },
  "claude-sonnet-4-8": { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 },
  "claude-opus-4-8": { input: 15.0, output: 75.0, cache_read: 1.5, cache_write: 18.75 },
};

export const pricingSchema = block("What tokens cost, for the cost of sessions.", {
  models: z
    .record(z.string(), modelPrice)
    .default(
      Object.fromEntries(
        Object.entries(TIERS).map(([id, rates]) => [id, { currency: "USD", effective_date: PRICES_FROM, ...rates }]),
      ),
    )
    .describe("Prices by model id. By default there are three: a small, a medium and a large tier.")
    .meta({ placeholder: "model_id" }),
});
