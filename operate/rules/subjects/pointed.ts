import { FLAGS_WITH_SETTING, NAMESPACE } from "../../../components/settings";
import { isRecord } from "../../../faults/json";
import { valueAt } from "../../../faults/schemaFaults";
import { parseYaml } from "../../../faults/yamlDocument";
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

/** Lines of the stack file whose setting, flag, variable or value stands in the words. */
export function linesOfStack(words: string, { key }: Server, stack: Stack): readonly string[] {
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
  const args = hits.get(STARTED_WITH)?.groups[0] ?? "";
  return [...args.matchAll(/'(\w+)': ('[^']*'|\[[^\]]*\]|[\w.+-]+)/g)].flatMap(
    ([, name = "", raw = ""]): Given[] => {
      const value = raw.replace(/^'|'$/g, "");
      const flag = `--${name.replaceAll("_", "-")}`;
      return name === "model_tag"
        ? []
        : [{ names: [flag], value, shown: `\`${flag}${value === "True" ? "" : ` ${value}`}\`` }];
    },
  );
}

/** Those of them that stand in the words. */
export function argumentsIn(words: string, log: LogReading): readonly string[] {
  const given = argumentsOf(log);
  const sure = named(given, words);
  return (sure.length > 0 ? sure : given.filter((each) => isAkin(each, words)).slice(0, MOST)).map(
    ({ shown }) => shown,
  );
}

/** Those whose value or name stands in the words; a value says more than a name. */
function named(given: readonly Given[], words: string): readonly Given[] {
  const byValue = given.filter(
    ({ value }) =>
      value.length >= SHORTEST_VALUE &&
      !/^[\d.]+$/.test(value) &&
      !COMMON.test(value) &&
      isWordOf(escaped(value), words, "i"),
  );
  const byName = given.filter((each) => !byValue.includes(each) && isNamed(each, words));
  return [...byValue, ...byName].slice(0, MOST);
}

/** Dashes, underscores and spaces are the same; one plain word is a name only as a flag. */
function isNamed({ names }: Given, words: string): boolean {
  return names.some((name) => {
    const parts = name.replace(/^--/, "").split(/[-_]/);
    const pattern = parts.map(escaped).join("[-_ ]");
    return parts.length > 1 || !name.startsWith("--")
      ? isWordOf(pattern, words, "i")
      : isWordOf(`(?:--|\`|bind\\(\\): )${pattern}`, words);
  });
}

const isWordOf = (pattern: string, words: string, flags = ""): boolean =>
  new RegExp(`(?<![\\w-])${pattern}(?![\\w-])`, flags).test(words);

/** A part of its name, or its value without a number at the end, is in the words in some form. */
function isAkin({ names, value }: Given, words: string): boolean {
  const folded = fold(words);
  const parts = names.flatMap((name) => name.split(/\W+|_/));
  const akin = [...parts, value.replace(/\d+$/, "")].filter((part) => !COMMON.test(part));
  return akin.some((part) => fold(part).length >= SHORTEST_PART && folded.includes(fold(part)));
}

const fold = (text: string): string => text.toLowerCase().replace(/[^a-z\d]/g, "");

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
