import type { EngineData } from "../engineData";

/** What a spelling of an option means. */
export interface Option {
  readonly name: string;
  /** `off`: a switch's spelling that turns it off. */
  readonly takes: "nothing" | "off" | "one" | "several";
}

/** The options of one version of `vllm serve`, by every way to write them. */
export interface OptionTable {
  /** Without their dashes. */
  readonly long: ReadonlyMap<string, Option>;
  /** With their dash. */
  readonly short: ReadonlyMap<string, Option>;
}

const tables = new WeakMap<EngineData, OptionTable>();

/** The options that an argv is read by. */
export function optionTable(data: EngineData): OptionTable {
  const made = tables.get(data) ?? tableOf(data);
  tables.set(data, made);
  return made;
}

function tableOf({ switches, lists, values, aliases }: EngineData): OptionTable {
  const long = new Map<string, Option>([["help", { name: "help", takes: "nothing" }]]);
  for (const name of values) long.set(name, { name, takes: "one" });
  for (const name of lists) long.set(name, { name, takes: "several" });
  for (const [name, spellings] of Object.entries(switches)) {
    long.set(name, { name, takes: "nothing" });
    for (const spelling of spellings) long.set(spelling, { name, takes: "off" });
  }
  // `-O 3`, which vLLM's parser rewrites before it looks.
  const short = new Map<string, Option>([["-O", { name: "optimization-level", takes: "one" }]]);
  for (const [spelling, name] of Object.entries(aliases)) {
    const option = long.get(name);
    if (option === undefined) continue;
    if (spelling.startsWith("--")) long.set(spelling.slice(2), option);
    else short.set(spelling, option);
  }
  return { long, short };
}
