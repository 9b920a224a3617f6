import { isRecord, jsonIn } from "@local-serving/base/faults/json";
import type { ServerArguments } from "./serverArguments";
import { isText, type Word } from "./unknown";

/** An adapter as `--lora-modules` names it. */
export interface NamedAdapter {
  readonly name: string;
  /** A path inside the container, or a hub id. */
  readonly path: string;
}

/** The adapters that a server is started with, and the words that name none that can be read. */
export function namedAdapters({ options }: ServerArguments): {
  readonly adapters: readonly NamedAdapter[];
  readonly unread: readonly Word[];
} {
  const words = (options.get("lora-modules") ?? []).filter((word) => word !== "");
  const read = words.map((word) => [word, adapterIn(word)] as const);
  return {
    adapters: read.flatMap(([, adapter]) => adapter ?? []),
    unread: read.flatMap(([word, adapter]) => (adapter === undefined ? [word] : [])),
  };
}

/** vLLM's own rule: `NAME=PATH`, or JSON where there is a comma or no `=` (0.30 `cli_args.py`). */
function adapterIn(word: Word): NamedAdapter | undefined {
  if (!isText(word)) return undefined;
  if (word.includes("=") && !word.includes(",")) {
    const at = word.indexOf("=");
    return { name: word.slice(0, at), path: word.slice(at + 1) };
  }
  const json = jsonIn(word);
  if (!isRecord(json)) return undefined;
  const { name, path } = json;
  return typeof name === "string" && typeof path === "string" ? { name, path } : undefined;
}
