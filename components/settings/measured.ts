import * as z from "zod";
import { optional, strictObject } from "zod";
import { count, gibibytes, nonEmptyText, textMatching } from "../planned/fields";

/** What a server's own log said of its memory, recorded so that the next plan need not estimate. */
export const measured = strictObject({
  nonKvGiB: optional(gibibytes()).describe("Earlier name of `chargedGiB`; still read."),
  chargedGiB: optional(gibibytes()).describe(
    "Memory in GiB that vLLM charged for all but its KV cache: utilization x total, minus the log's `Available KV cache memory`. It sizes the cache under a share, and grows with the page cache, compilers and other programs.",
  ),
  takenGiB: optional(gibibytes()).describe(
    "Memory in GiB that the server held beside its KV cache, by vLLM's own lines: weights, peak activation, CUDA graphs and what is not torch's. `kvCacheMemoryBytes` is computed from it.",
  ),
  kvTokens: z
    .int()
    .positive()
    .describe(
      "`GPU KV cache size` of the log, in tokens. Compare `maxConcurrency`, not this, across versions.",
    ),
  maxConcurrency: z
    .number()
    .positive()
    .describe(
      "`Maximum concurrency` of the log: requests of the whole window that the KV cache holds.",
    ),
  ranks: z
    .int()
    .min(2)
    .optional()
    .describe(
      "Ranks that shared the model (`tensorParallelSize` x `pipelineParallelSize`); the figures are those of the rank with the least memory. If the model is divided differently, the record no longer counts. Default: 1.",
    ),
  maxNumSeqs: optional(count()).describe("`maxNumSeqs` that it was measured with."),
  maxNumBatchedTokens: optional(count()).describe(
    "`maxNumBatchedTokens` that it was measured with.",
  ),
  draftTokens: optional(count(0)).describe(
    "`speculative.numSpeculativeTokens` that it was measured with; 0 without drafts.",
  ),
  loadFormat: optional(nonEmptyText()).describe(
    "`loadFormat` that it was measured with; `auto` without one.",
  ),
  at: z.iso
    .date('Expected a day in quotes, such as "2026-11-21"')
    .describe(
      "Day of the measurement, year-month-day, in quotes (without them, some YAML readers turn it into a time).",
    )
    .meta({ examples: ["2026-11-21"] }),
  image: textMatching(
    /^(.+@)?sha256:[0-9a-f]{64}$/,
    "Expected the measured image's digest: sha256:<64 hex digits>",
  ).describe(
    "Image that was measured, by its digest. With another image the record no longer counts.",
  ),
}).describe(
  "Figures measured after all servers of the machine had loaded and served a request; `serving verify --only memory` prints these lines. With them the KV plan is exact, and this combination of servers counts as proven.",
);

/** How fast a server was, recorded so that plans need not rely on what others published. */
export const measuredSpeeds = strictObject({
  prefill: z.number().positive().describe("Tokens of a cold prompt read in a second."),
  decode: z.number().positive().describe("Tokens in a second of one answer alone."),
  at: measured.shape.at,
  image: measured.shape.image,
}).describe(
  "What `serving bench --record` measured. Plans and `serving models` use it instead of published rates.",
);

export type MeasuredSettings = z.output<typeof measured>;
