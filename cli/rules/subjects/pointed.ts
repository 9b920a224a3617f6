import { basename } from "node:path";
import { isRecord } from "@local-serving/base/faults/json";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { optionTable } from "@local-serving/vllm/argv/serverArguments";
import { newestEngineData } from "@local-serving/vllm/engineData";
import { FLAGS_WITH_SETTING, NAMESPACE } from "../../../components/settings";
import type { LogReading } from "../../sees/log/scanLog";
import { escaped, STARTED_WITH } from "../../sees/log/sign";
import type { Server, Stack } from "../picture";

/** Settings, arguments and variables that are named in one sentence. */
const MOST = 3;
/** Shortest value, and shortest part of a name, that is no chance find in a message. */
const SHORTEST_VALUE = 3;
const SHORTEST_PART = 5;
/** Values and parts of names that stand in any message. */
const COMMON =
  /^(?:auto|true|false|none|null|models?|model_tag|enable|files?|paths?|names?|types?|tokens?|cache|config|engine|batched|local|limit|backend|parser|method|server|device|memory|process|version|format|class|group|default|module|remote)s?$/i;

/** A value that a server was given, by the name that vLLM and the stack file have for it. */
interface Given {
  /** `max_num_seqs`, `--tool-call-parser`, `VLLM_PORT`. */
  readonly names: readonly string[];
  readonly value: string;
  readonly shown: string;
}

/** What a program said, where, and the option that its code hands on. */
export interface WordsOfError {
  readonly text: string;
  /** The frame that raised it, with its code. */
  readonly at?: string | undefined;
  /** Files of the last frames. */
  readonly files?: readonly string[] | undefined;
  readonly option?: string | undefined;
}

/** Lines of the stack file whose value the words give, or whose option they name. */
export function linesOfStack(
  words: WordsOfError,
  { key }: Server,
  stack: Stack,
): readonly string[] {
  const path = ["config", `${NAMESPACE}:machines`, stack.machine, "inferenceServers", key];
  const document = parseYaml(stack.file, stack.text);
  const given = leavesOf(valueAt(document.value, path)).map(({ path: below, value }): Given => {
    const { line } = document.locate([...path, ...below]);
    const name = below.filter((step) => !/^\d+$/.test(step)).join(".");
    return { names: namesOf(below, value), value, shown: `line ${line}, \`${name}: ${value}\`` };
  });
  return named(given, words).map(({ shown }) => shown);
}

/** Plain values below a value, with their paths. */
function leavesOf(
  value: unknown,
  path: readonly string[] = [],
): { readonly path: readonly string[]; readonly value: string }[] {
  if (Array.isArray(value) || isRecord(value))
    return Object.entries(value).flatMap(([step, inner]) => leavesOf(inner, [...path, step]));
  return value === null || value === undefined ? [] : [{ path, value: String(value) }];
}

/** What vLLM calls a setting: its flags, and the same as a field. */
function namesOf(path: readonly string[], value: string): readonly string[] {
  const [first = "", second = ""] = path;
  if (first === "environment") return [second];
  if (first === "extraArgs") return value.startsWith("-") ? [value.split("=", 1)[0] ?? ""] : [];
  const flags = Object.entries(FLAGS_WITH_SETTING).flatMap(([flag, setting]) =>
    setting === first || setting === `${first}.${second}` ? [flag] : [],
  );
  return flags.filter((flag) => flag.startsWith("--"));
}

/** Arguments that vLLM says it was started with. */
export function argumentsOf({ hits }: LogReading): readonly Given[] {
  return entriesIn(hits.get(STARTED_WITH)?.groups[0] ?? "").flatMap(([name, raw]): Given[] => {
    const value = raw.replace(/^['"]|['"]$/g, "");
    const flag = `--${name.replaceAll("_", "-")}`;
    return name === "model_tag"
      ? []
      : [{ names: [flag], value, shown: `\`${flag}${value === "True" ? "" : ` ${value}`}\`` }];
  });
}

/** A text in quotes, or what opens, closes or divides values. */
const TOKENS = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[{[(}\]),]/g;

/** The entries of a dictionary as Python prints it; what is inside of a value is no entry. */
function entriesIn(printed: string): [name: string, value: string][] {
  const entries: [string, string][] = [];
  let [depth, from] = [0, 1];
  for (const { 0: token, index } of printed.matchAll(TOKENS)) {
    if ("{[(".includes(token)) depth++;
    if ("}])".includes(token)) depth--;
    if (token === "," ? depth !== 1 : token !== "}" || depth !== 0) continue;
    const [, name, value] = /^\s*'(\w+)': ([\s\S]+)$/.exec(printed.slice(from, index)) ?? [];
    if (name !== undefined && value !== undefined) entries.push([name, value]);
    from = index + 1;
  }
  return entries;
}

/** Those of them that the words give or name. */
export const argumentsIn = (words: WordsOfError, log: LogReading): readonly string[] =>
  named(argumentsOf(log), words).map(({ shown }) => shown);

/**
 * Those whose value the words give, as a value, or whose name they have as an option. A word of a
 * message that is also one of the command line is no reason to blame that.
 */
function named(given: readonly Given[], words: WordsOfError): readonly Given[] {
  const byValue = given.filter(({ value }) => isGiven(value, words));
  const akin = byValue.filter(({ names }) => isAkin(names, words.text));
  const sure = akin.length > 0 ? akin : byValue;
  const byName = given.filter((each) => !sure.includes(each) && isNamed(each, words));
  // What is compared with another value comes first in the sentence.
  const [first] = [...byName].sort((x, y) => placeOf(x, words) - placeOf(y, words));
  const byCode =
    sure.length > 0 || first !== undefined ? [] : given.filter((each) => isInCode(each, words));
  return [...sure, ...(first === undefined ? [] : [first]), ...byCode].slice(0, MOST);
}

/** A value in quotes, behind `=`, in brackets or at the end of a sentence; or a path. */
function isGiven(value: string, { text, files = [] }: WordsOfError): boolean {
  if (value.length < SHORTEST_VALUE || /^[\d.]+$/.test(value) || COMMON.test(value)) return false;
  const pattern = escaped(value);
  const asPath = new RegExp(`(?<![\\w./-])${pattern}(?![\\w/-])`);
  if (value.startsWith("/") && asPath.test(text)) return true;
  const asValue = new RegExp(
    `['"\`\u2018\u201c(=]${pattern}['"\`\u2019\u201d),;]|=${pattern}(?![\\w-])|: ${pattern}(?:[.,;]|$)`,
    "im",
  );
  if (asValue.test(text)) return true;
  // The module that raised it may be the one that the value asks for.
  return value.length >= SHORTEST_PART && files.some((file) => basename(file, ".py") === value);
}

/** A part of its name is in the words. */
function isAkin(names: readonly string[], text: string): boolean {
  const words = text.toLowerCase();
  const parts = names.flatMap((name) => name.toLowerCase().split(/\W+|_/));
  return parts.some(
    (part) => part.length >= SHORTEST_PART && !COMMON.test(part) && words.includes(part),
  );
}

/** What stands for an option in a message: with its dashes, as a field, or with its own value. */
function namePattern(name: string, value: string): RegExp {
  const parts = name.replace(/^--/, "").split(/[-_]/).map(escaped);
  const [spaced, joined] = [parts.join("[-_ ]"), parts.join("[-_]")];
  const forms = [
    `--${joined}(?![\\w-])`,
    `(?:^|; |\`)${joined}(?:: |\`)`,
    `(?<![\\w-])${spaced}(?: of)?[ =:]{1,2}[(['"]?${escaped(value)}(?![\\w-])`,
    ...(parts.length > 1 ? [`(?<![\\w-])${joined}(?![\\w-])`] : []),
  ];
  return new RegExp(forms.join("|"), "im");
}

const isVariable = (name: string) => /^[A-Z]/.test(name);

function isNamed({ names, value }: Given, { text, option }: WordsOfError): boolean {
  return names.some((name) =>
    isVariable(name)
      ? new RegExp(`(?<!\\w)${escaped(name)}(?!\\w)`).test(text)
      : name === option || namePattern(name, value).test(text),
  );
}

const placeOf = ({ names, value }: Given, { text, option }: WordsOfError): number =>
  Math.min(
    ...names.map((name) => {
      if (name === option) return -1;
      const at = isVariable(name) ? text.indexOf(name) : text.search(namePattern(name, value));
      return at < 0 ? Number.POSITIVE_INFINITY : at;
    }),
  );

/** Options of vLLM that the words name, whether or not the server was given one of them. */
export function optionsNamed(
  { text }: WordsOfError,
  {
    validated = "",
    given,
  }: { readonly validated?: string | undefined; readonly given: readonly Given[] },
): readonly string[] {
  const { long } = optionTable(newestEngineData());
  const found = [...long.keys()].flatMap((name) => {
    const at = PARTS.test(name) ? text.search(mentionOf(name)) : -1;
    return at < 0 ? [] : [{ name, at, end: at + name.length }];
  });
  const inner =
    ({ at, end }: Mention) =>
    (other: Mention) =>
      other.at <= at && end <= other.end && other.end - other.at > end - at;
  const own = found.filter((each) => !found.some(inner(each))).sort((x, y) => x.at - y.at);
  const field = validated === "" ? undefined : FIELD.exec(text)?.[1]?.replaceAll("_", "-");
  // A class may call an option by less than its whole name.
  const ending = [...long.keys()].filter((name) => field && name.endsWith(`-${field}`));
  const wasGiven = (name: string) => given.some(({ names }) => names.includes(`--${name}`));
  const meant = ending.length > 1 ? ending.filter(wasGiven) : ending;
  const named = own.map(({ name }) => name);
  const names = named.length > 0 ? named : meant;
  // A field of a value in JSON is none of the options.
  const whole = validated.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "-").toLowerCase();
  return [...(long.has(whole) ? [whole] : []), ...names].map((name) => `--${name}`).slice(0, MOST);
}

interface Mention {
  readonly at: number;
  readonly end: number;
}

/** The field in front of what is said of it. */
const FIELD = /^([a-z]\w*): /;
/** One word names nothing by itself. */
const PARTS = /-/;
/** So many words in a row are a name also without dashes. */
const SPOKEN_PARTS = 3;

function mentionOf(name: string): RegExp {
  const parts = name.split("-").map(escaped);
  const joined = parts.join("[-_]");
  const spoken = parts.length < SPOKEN_PARTS ? "" : `|(?<![\\w-])${parts.join("[-_ ]")}(?![\\w-])`;
  return new RegExp(`(?<![\\w-])(?:--)?${joined}(?![\\w-])${spoken}`, "i");
}

/** A message about a file that it doesn't name. */
const OF_A_FILE = /No such file|Permission denied|Is a directory|\[Errno|\[SSL\b/;

/** The code that raised it hands on what the option gives. */
function isInCode({ names, value }: Given, { text, at = "" }: WordsOfError): boolean {
  if (!OF_A_FILE.test(text) || !/\//.test(value)) return false;
  const code = at.replace(/^[^:]*:\d+/, "");
  const last = names.flatMap((name) => name.split(/[-_]/).at(-1) ?? "");
  return last.some(
    (part) =>
      part.length >= SHORTEST_PART &&
      !COMMON.test(part) &&
      new RegExp(`\\b${escaped(part)}\\b`).test(code),
  );
}

/** A message that says that something isn't there. */
const MISSING =
  /No such file|doe(?:s not|sn't) exist|not found|[Cc]annot find|[Cc]ould ?n[o']t find|Repo id must be|not a local folder|[Cc]an't load|path-like/;
/** A path inside the container that no package of Python has. */
const PATH = /(?<![\w./:-])(\/(?!usr\/|opt\/|proc\/|dev\/)[\w.@+-]+(?:\/[\w.@+-]+)+)/;

/** Where a path that doesn't exist is on the machine, by the mounts of the container. */
export function ofMissingPath(
  words: string,
  { container }: Server,
  stack?: Stack,
): string | undefined {
  const path = MISSING.test(words) ? PATH.exec(words)?.[1]?.replace(/[.,]+$/, "") : undefined;
  if (path === undefined) return undefined;
  const planned = stack?.plan.containers.find(({ name }) => name === container);
  if (planned === undefined)
    return `${path} is looked for inside the container, which sees only those paths of the machine that are mounted.`;
  const mount = planned.mounts.find(({ target }) => `${path}/`.startsWith(`${target}/`));
  if (mount === undefined) {
    const targets = planned.mounts.map(({ target }) => target).join(", ");
    return `${path} is looked for inside the container, which sees ${targets === "" ? "nothing" : `only ${targets}`} of the machine.`;
  }
  const source = `${mount.source}${path.slice(mount.target.length)}`;
  return `${path} inside the container is ${mount.type === "bind" ? source : `${source} of a volume`} on the machine: see whether that is there.`;
}
