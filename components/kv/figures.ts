import type { Fault } from "../../faults/fault";
import type { CacheLayout } from "./cacheLayout";
import type { KvDtype } from "./kvDtype";
import type { AgentReuse } from "./prefixReuse";

/** What requests of one length cost. */
export interface RequestCost {
  readonly tokens: number;
  readonly blocks: number;
  readonly bytes: number;
  /** Blocks of the pool divided by those of one such request, as the engine's log counts. */
  readonly concurrency: number;
}

/** What an engine will make of the memory for its KV cache; plain data. All figures are of one device. */
export interface KvPlan {
  /** Whether one request of `maxModelLen` tokens fits; where not, the engine refuses to start. */
  readonly fits: boolean;
  /** Whether the engine starts at all: a request fits, and so do its sequences. */
  readonly starts: boolean;
  readonly blockSize: number;
  readonly bytesPerBlock: number;
  readonly numBlocks: number;
  /** Blocks and bytes of one request of `maxModelLen` tokens. */
  readonly blocksPerRequest: number;
  readonly bytesPerRequest: number;
  /** Requests of `maxModelLen` tokens that the pool holds, as the engine's log says it. */
  readonly maxConcurrency: number;
  /** "GPU KV cache size" of the engine's log: concurrency times `maxModelLen`. Compare concurrency, not this. */
  readonly tokens: number;
  readonly layers: {
    readonly full: number;
    readonly sliding: number;
    readonly linear: number;
    readonly draft: number;
    readonly groups: number;
    readonly layersPerGroup: number;
    /** Places in the groups that no layer fills. */
    readonly padding: number;
  };
  /** Share by which a linear layer's state is padded to fill a page (0.0013: the log's "0.13%"). */
  readonly padding: number;
  readonly availableBytes: number;
  readonly maxModelLen: number;
  readonly maxNumSeqs: number | null;
  readonly kvCacheDtype: KvDtype;
  readonly vllmVersion: string;
  /** Bytes that a request takes for its linear layers, whatever its length. */
  readonly constantBytesPerRequest: number;
  readonly bytesPerToken: number;
  /** Blocks that requests can take: the pool without what this version's fit check keeps free. */
  readonly usableBlocks: number;
  /** The largest `--max-model-len` that this memory can serve; 0: none, `null`: any (all layers slide). */
  readonly largestMaxModelLen: number | null;
  /** Whole requests of `maxModelLen` tokens that are served at once. */
  readonly fullWindowsAtOnce: number;
  /** A prompt's cached prefix is found again in steps of so many tokens; `null` without prefix caching. */
  readonly prefixReuseTokens: number | null;
  /** What an agent's calls find again; `null` without prefix caching, and for kinds of layers that were not compared. */
  readonly agentReuse: AgentReuse | null;
  /** The full window, and the usual lengths below it. */
  readonly requests: readonly RequestCost[];
  /** Errors stop the engine at its start; warnings are worth knowing. */
  readonly problems: readonly Fault[];
  readonly layout: CacheLayout;
}
