/** What vLLM's log says of its KV cache at a start. */
export interface KvLines {
  /** Tokens in the whole cache; their meaning differs between versions, so compare the concurrency. */
  readonly tokens: number;
  /** Requests of full length that fit at once. */
  readonly concurrency: number;
  /** The full length, in tokens. */
  readonly perRequestTokens: number;
}

/**
 * The last statement of the KV cache in a log: two lines up to vLLM 0.27, one line joined by a comma from 0.28 on, whose
 * prefix is `GPU` or `GPU + host`. `undefined` where the log holds none.
 */
export function kvLines(log: string): KvLines | undefined {
  const size = [...log.matchAll(/GPU(?: \+ host)? KV cache size: ([\d,]+) tokens/g)].at(-1);
  const concurrency = [...log.matchAll(/Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x/g)].at(
    -1,
  );
  if (size?.[1] === undefined || concurrency?.[1] === undefined || concurrency[2] === undefined)
    return undefined;
  return {
    tokens: whole(size[1]),
    perRequestTokens: whole(concurrency[1]),
    concurrency: Number(concurrency[2]),
  };
}

/** A number with thousands commas. */
function whole(text: string): number {
  return Number(text.replaceAll(",", ""));
}
