import * as z from "zod";

/** One line of the memory ledger. */
export const ledgerLineSchema = z.object({
  name: z.string(),
  gib: z.number(),
  basis: z.enum(["setting", "measured", "default"]).describe("How the figure is known."),
  source: z.string(),
});

const largest = z.object({
  bySum: z
    .number()
    .describe("By the sum of all lines against the machine's total; 0 if none fits."),
  byAggregate: z.number().describe("By the limit on the sum of utilizations."),
  keepingFloor: z
    .number()
    .exactOptional()
    .describe(
      "The largest up to both that also leaves `memoryFloorGiB`, where that is smaller; 0 if none does.",
    ),
});

const fixedCache = z.object({
  kvCacheGiB: z.number(),
  outsideGiB: z
    .number()
    .exactOptional()
    .describe("Memory that the server takes outside the cache, if known."),
});

export const ledgerSchema = z
  .object({
    totalGiB: z.number(),
    aggregateUtilization: z
      .number()
      .describe("Sum of the utilizations of all inference servers, instance A included."),
    sumGiB: z.number().describe("Sum of the lines."),
    lines: z.array(ledgerLineSchema),
    largestUtilizationThatFits: z
      .record(z.string(), z.number())
      .describe(
        "For each of our servers, the largest utilization that fits beside everything else.",
      ),
    largestUtilization: z
      .record(z.string(), largest)
      .describe("The same by each limit; the smaller one counts."),
    fixedKvCache: z
      .record(z.string(), fixedCache)
      .exactOptional()
      .describe("Servers with a KV cache of fixed size, if any."),
  })
  .meta({ id: "Ledger", description: "Memory of one machine, line by line, in GiB." });

const taken = {
  takenGiB: z
    .number()
    .describe("All lines of the ledger, without the temporary memory for compiling."),
  certainGiB: z.number().describe("Only the lines that are declared or measured."),
  utilization: z
    .number()
    .describe("Share of the machine that counts towards the limit on the sum."),
};

/** Servers that start on request, and which of them run together. */
export const togetherSchema = z
  .object({
    totalGiB: z.number(),
    floorGiB: z
      .number()
      .describe(
        "Memory that several of them must leave available: below it a start gate stops a server.",
      ),
    beside: z
      .object({
        ...taken,
        takenGiB: z.number().describe("All its lines of the ledger, defaults included."),
      })
      .describe("What always runs: instance A, other servers, services, the operating system."),
    servers: z
      .array(
        z.object({
          key: z.string(),
          container: z.string(),
          ...taken,
          compilingGiB: z
            .number()
            .describe("Further memory for compiling at a start. Servers start one at a time."),
          adaptersGiB: z
            .number()
            .exactOptional()
            .describe("The part of it for adapters kept in host memory."),
        }),
      )
      .describe("Each server that starts on request, in the order of the stack file."),
    sets: z
      .array(z.array(z.string()))
      .describe(
        "Keys of servers that run together: every set to which no further server can be added. A server that is in no set never fits.",
      ),
  })
  .meta({
    id: "Together",
    description:
      "Which servers with `start: onRequest` run together, beside what always runs. Several together must leave the floor free, with guessed lines counted. One alone is judged like a server that always runs.",
  });

export const startNeedsSchema = z
  .object({
    weightsGiB: z.number().exactOptional().describe("Memory of its loaded weights."),
    byName: z
      .string()
      .exactOptional()
      .describe(
        "How the weights are known, where only the model's name tells: `weightsGiB` is then the least that they take.",
      ),
    unweighed: z
      .boolean()
      .exactOptional()
      .describe("Set where nothing tells what the model's weights take, not even its name."),
    atMost: z
      .boolean()
      .exactOptional()
      .describe(
        "Set where vLLM makes the weights smaller as it loads them, by an amount that isn't known, and the server starts even with all of their files by its KV plan.",
      ),
    outsideGiB: z
      .number()
      .exactOptional()
      .describe("Memory outside the KV cache: as measured, else the weights alone."),
    windowGiB: z
      .number()
      .exactOptional()
      .describe("KV cache of one request that fills the context window."),
    longestWindow: z
      .number()
      .exactOptional()
      .describe("The longest context window that fits in the most room, in tokens."),
    modelWindow: z
      .number()
      .exactOptional()
      .describe("The model's own context window in tokens, if nothing extends it."),
    leastUtilization: z
      .number()
      .exactOptional()
      .describe(
        "The smallest share to advise, with some room for rounding: by the weights or, where it would not start or the machine's plan doesn't fit, by the least that was seen of the model.",
      ),
    sureUtilization: z
      .number()
      .exactOptional()
      .describe(
        "Where it would not start, or the machine's plan doesn't fit: the share that holds one request even in the worst known case.",
      ),
    unwarnedUtilization: z
      .number()
      .exactOptional()
      .describe(
        "Where the machine's plan doesn't fit: the largest share of this server that fits and that the plan doesn't warn about, if it surely starts with that.",
      ),
    leastCacheBytes: z.number().exactOptional().describe("The smallest fixed KV cache to advise."),
    cannotStart: z
      .string()
      .exactOptional()
      .describe("Why it cannot start, where its KV plan says so."),
    startAnyway: z
      .string()
      .exactOptional()
      .describe("The operator's reason to apply it all the same (`startAnyway`)."),
  })
  .meta({
    id: "StartNeeds",
    description:
      "The least that a server needs to start, in the best case. Figures that aren't certain are left out.",
  });

export const admissionSchema = z
  .object({
    name: z.string().describe("The server's container."),
    wantedGiB: z.number(),
    availableGiB: z
      .number()
      .describe(
        "Available at its start, after instance A and the earlier servers have taken their memory.",
      ),
    admitted: z.boolean(),
  })
  .meta({
    id: "Admission",
    description:
      "vLLM's own rule at a start, calculated: MemAvailable must be at least what the server takes.",
  });
