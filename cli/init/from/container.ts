import { isSecretName } from "@local-serving/base/faults/secrets";
import { standIn } from "../command/words";

/** An option of `docker run` by its long name; `true` for a switch. */
export type RunOption = readonly [name: string, value: string | true];

/** A container as a file describes it. */
export interface Container {
  readonly image: string;
  /** Words that take the place of the image's entrypoint; empty for none. */
  readonly entrypoint?: readonly string[];
  readonly command: readonly string[];
  readonly options: readonly RunOption[];
  /** Options as a command line has them. */
  readonly raw?: readonly string[];
}

/** The `docker run` that starts such a container. */
export function dockerRunOf({
  image,
  entrypoint,
  command,
  options,
  raw = [],
}: Container): readonly string[] {
  const [program, ...more] = entrypoint ?? [];
  return [
    ...["docker", "run", ...raw],
    ...options.map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`)),
    ...(entrypoint === undefined ? [] : [`--entrypoint=${program ?? ""}`]),
    ...[image, ...more, ...command],
  ];
}

/** A variable as `--env` has it. The value of a secret is not read. */
export function envOption(name: string, value: string | undefined) {
  const hidden = isSecretName(name) && !/\$/.test(value ?? "") ? undefined : value;
  return ["env", hidden === undefined ? name : `${name}=${hidden}`] as const;
}

/** `NAME=value` in two; without a value where there is no sign. */
export function variableIn(text: string): readonly [name: string, value: string | undefined] {
  const [name = "", value] = text.split(/=([\s\S]*)/);
  return [name, value];
}

/** A variable of which a file says only that the machine has it elsewhere. */
export const elsewhere = (name: string): string => standIn(`$${name}`);

/** Text of a plain value; `undefined` for a list, a map or nothing. */
export const scalarText = (value: unknown): string | undefined =>
  ["string", "number", "boolean", "bigint"].includes(typeof value) ? String(value) : undefined;

/** The plain values of a list as words. */
export const scalarTexts = (value: unknown): string[] =>
  Array.isArray(value) ? value.flatMap((each) => scalarText(each) ?? []) : [];

/** The words of a command line that no shell reads: quotes and backslashes, and nothing else. */
export function plainWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  const pieces = line.matchAll(
    /\s+|\\\n|\\([\s\S])|'([^']*)'|"([^"\\]*(?:\\[\s\S][^"\\]*)*)"|[^\s\\'"]+|[\s\S]/g,
  );
  for (const [whole, escaped, single, double] of pieces) {
    if (/^\s+$/.test(whole) || whole === "\\\n") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      const inner = double?.replace(/\\([$`"\\])/g, "$1").replaceAll("\\\n", "");
      word = (word ?? "") + (escaped ?? single ?? inner ?? whole);
    }
  }
  return word === undefined ? words : [...words, word];
}
