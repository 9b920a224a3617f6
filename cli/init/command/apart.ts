import { optionTable } from "@local-serving/vllm/argv/serverArguments";
import { newestEngineData } from "@local-serving/vllm/engineData";
import { asWritten } from "./words";

/** Words of which an option with its value is two, and what is said of each that was one. */
export interface Apart {
  readonly words: readonly string[];
  readonly told: readonly string[];
}

/** Reads an option and its value as two words where a list has both in one item. */
export function apart(words: readonly string[]): Apart {
  const told: string[] = [];
  const read = words.flatMap((word) => {
    const [, flag = "", value = ""] = /^(--[a-z][\w-]*)\s+(\S[\s\S]*)$/.exec(word) ?? [];
    if (!takesValue(flag)) return [word];
    told.push(
      `\`${asWritten(word)}\` is one word with a blank, which vLLM refuses: it is read as two. Write \`${asWritten(`${flag}=${value}`)}\` there.`,
    );
    return [flag, value];
  });
  return { words: read, told };
}

/** Whether an option waits for a value. */
export function takesValue(flag: string): boolean {
  const { short, long } = optionTable(newestEngineData());
  const form = flag.startsWith("--")
    ? long.get(flag.slice(2).replaceAll("_", "-"))
    : short.get(flag);
  return form !== undefined && form.takes !== "nothing" && form.takes !== "off";
}
