import { z } from "zod";

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
    .describe("By the sum of all lines against the machine's total; 0 where none fits."),
  byAggregate: z.number().describe("By the limit on the sum of utilizations."),
});

const fixedCache = z.object({
  kvCacheGiB: z.number(),
  outsideGiB: z
    .number()
    .exactOptional()
    .describe("What the server takes outside it, where that is known."),
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
      .describe("The same by each limit: the smaller one is the answer."),
    fixedKvCache: z
      .record(z.string(), fixedCache)
      .exactOptional()
      .describe("Servers with a KV cache of fixed size, where there are any."),
  })
  .meta({ id: "Ledger", description: "Memory of one machine, line by line, in GiB." });

const taken = {
  takenGiB: z.number().describe("All lines of the ledger, what is compiled for a while aside."),
  certainGiB: z.number().describe("Those lines that are declared or measured."),
  utilization: z.number().describe("Share of the machine, as the limit on the sum counts it."),
};

/** Servers that start on request, and which of them run together. */
export const togetherSchema = z
  .object({
    totalGiB: z.number(),
    floorGiB: z
      .number()
      .describe("What several of them leave available: below it a start gate stops a server."),
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
            .describe("What compiling takes beyond that at a start. They start one at a time."),
          adaptersGiB: z
            .number()
            .exactOptional()
            .describe("What of that it keeps of its adapters in the host's memory."),
        }),
      )
      .describe("Each server that starts on request, in the order of the stack file."),
    sets: z
      .array(z.array(z.string()))
      .describe(
        "Keys of those that run together: every set to which no further one can be added. A server in none never fits.",
      ),
  })
  .meta({
    id: "Together",
    description:
      "Which servers with `start: onRequest` run together, beside what always runs. Several together leave the floor free, guessed lines counted; one alone is judged as a server that always runs.",
  });

export const startNeedsSchema = z
  .object({
    weightsGiB: z.number().exactOptional().describe("What its loaded weights take."),
    outsideGiB: z
      .number()
      .exactOptional()
      .describe("What it takes outside the KV cache: as it was measured, else its weights alone."),
    windowGiB: z.number().exactOptional().describe("KV cache of one request of the whole window."),
    longestWindow: z
      .number()
      .exactOptional()
      .describe("The longest window that the best room holds, in tokens."),
    modelWindow: z
      .number()
      .exactOptional()
      .describe("The model's own window in tokens, where nothing lifts it."),
    leastUtilization: z
      .number()
      .exactOptional()
      .describe("The smallest share to be advised, with some room for rounding."),
    leastCacheBytes: z
      .number()
      .exactOptional()
      .describe("The smallest KV cache of fixed size to be advised."),
  })
  .meta({
    id: "StartNeeds",
    description:
      "The least that a server needs to start, however well it goes. What isn't known for certain is left out.",
  });

export const admissionSchema = z
  .object({
    name: z.string().describe("The server's container."),
    wantedGiB: z.number(),
    availableGiB: z
      .number()
      .describe("At its start, once instance A and the servers before it have theirs."),
    admitted: z.boolean(),
  })
  .meta({
    id: "Admission",
    description:
      "vLLM's own rule at a start, on paper: MemAvailable must be at least what the server takes.",
  });
