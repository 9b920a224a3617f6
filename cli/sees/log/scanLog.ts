import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { defined } from "@local-serving/base/faults/defined";
import type { LogReading } from "./logReading";
import { type Literals, literalsIn, Scanner } from "./scanner";
import type { Sign } from "./sign";

export type { Hit, LastWord, LogReading } from "./logReading";
export type { Refused } from "./requests";
export { UNKNOWN_TIER } from "./scanner";

/** A whole log of 100 MB takes a few seconds; a stream without end must not hold the command up. */
const SCAN_SECONDS = 30;

/**
 * Reads a log to its end, or for as long as the limits allow, keeping only what the signs ask for.
 */
export async function scanLog(
  about: Pick<LogReading, "name" | "kind" | "container">,
  chunks: AsyncIterable<Chunk> | Iterable<Chunk>,
  signs: readonly Sign[],
  { seconds = SCAN_SECONDS } = {},
): Promise<LogReading> {
  const literals = literalsOf.get(signs) ?? literalsIn(signs);
  literalsOf.set(signs, literals);
  const scanner = new Scanner(literals);
  const decode = decoderOf();
  const deadline = Date.now() + seconds * 1000;
  const iterator =
    Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  let cutShort: string | undefined;
  // A source that falls silent is left as well as one that never ends.
  const silence = new AbortController();
  const expired = sleep(seconds * 1000, undefined, { signal: silence.signal }).catch(
    () => undefined,
  );
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), expired]);
      if (next === undefined || Date.now() > deadline) {
        cutShort = `stopped after ${seconds} s, at line ${scanner.lines}`;
        break;
      }
      if (next.done === true) break;
      scanner.take(typeof next.value === "string" ? next.value : decode(next.value));
    }
  } finally {
    silence.abort();
  }
  return { ...about, ...scanner.end(), ...defined({ cutShort }) };
}

type Chunk = Buffer | string;

/**
 * Bytes as text: UTF-8, unless the mark at the front says UTF-16, as a redirection in PowerShell
 * writes it.
 */
export function decoderOf(): (bytes: Buffer) => string {
  let decoder: StringDecoder | undefined;
  return (bytes) => {
    decoder ??= new StringDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : "utf8");
    return decoder.write(bytes);
  };
}

/** Every log of a machine is read for the same signs. */
const literalsOf = new WeakMap<readonly Sign[], Literals>();
