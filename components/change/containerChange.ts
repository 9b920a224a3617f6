import { originOf } from "@local-serving/machines/address";
import { contentHash } from "@local-serving/machines/shell";
import { containerArgs } from "../host";
import { folderHashes, LABEL, type PlannedContainer } from "../planned";

/**
 * One argument of a container: a flag such as `--max-model-len`, a variable such as `env MAX_JOBS`,
 * or one of Docker's own.
 */
export interface ArgumentChange {
  readonly argument: string;
  /** `null` where the container has none. */
  readonly before: string | null;
  readonly after: string | null;
}

/** A longer text, such as the start gate, is shown by what it is and its fingerprint. */
const LONGEST = 160;
const LONG_TEXTS: Readonly<Record<string, string>> = {
  entrypoint: "start script",
  healthcheck: "check by which Docker sees that it answers",
};
const short = (text: string, article: string, argument: string) =>
  text.length > LONGEST
    ? `${article} ${LONG_TEXTS[argument] ?? "text"} (fingerprint ${contentHash(text)})`
    : text;

/**
 * Returns what differs between two containers. Docker can't change our arguments in a running
 * container, so each difference replaces it, and nothing else does. Lists that Docker treats as
 * sets are compared as sets.
 */
export function argumentChanges(
  before: PlannedContainer,
  after: PlannedContainer,
): ArgumentChange[] {
  const [old, now] = [argumentsOf(before), argumentsOf(after)];
  const changes = [...new Set([...old.keys(), ...now.keys()])].flatMap(
    (argument): ArgumentChange[] => {
      const [was, is] = [old.get(argument) ?? null, now.get(argument) ?? null];
      return was === is ? [] : [changeTo(argument, was, is)];
    },
  );
  const [first, second] = [before.command.join(" "), after.command.join(" ")];
  if (changes.length > 0 || first === second) return changes;
  return [changeTo("order of the arguments", first, second)];
}

const changeTo = (
  argument: string,
  before: string | null,
  after: string | null,
): ArgumentChange => ({
  argument,
  before: before && short(before, "the old", argument),
  after: after && short(after, "a new", argument),
});

/** Arguments that repeat another one, or are written as people do. */
const REPEATED = ["ports", "stopTimeout", "networkMode", "networksAdvanced"];

function argumentsOf(container: PlannedContainer): Map<string, string> {
  const { command = [], entrypoints, envs, labels, mounts, ...rest } = containerArgs(container);
  const found = new Map<string, string>();
  const add = (argument: string, value: string) => {
    const earlier = found.get(argument);
    found.set(argument, earlier === undefined ? value : `${earlier} ${value}`);
  };
  for (const [flag, value] of flagsIn(command)) add(flag, value);
  if (entrypoints !== undefined) add("entrypoint", entrypoints.join(" "));
  for (const variable of envs) {
    const [name = ""] = variable.split("=", 1);
    add(`env ${name}`, variable.slice(name.length + 1));
  }
  for (const { label, value } of labels) if (label !== LABEL.folders) add(`label ${label}`, value);
  for (const [folder, hash] of folderHashes(container)) add(`files in ${folder}`, hash);
  for (const { target, type, source, readOnly } of mounts)
    add(`mount ${target}`, `${type} ${source}${readOnly ? ", read only" : ""}`);
  for (const [name, value] of Object.entries(rest))
    if (!REPEATED.includes(name)) add(name, plain(value));
  add("ports", container.ports.map(portText).sort().join(", "));
  add("network", [container.network, ...(container.moreNetworks ?? [])].join(", "));
  return new Map([...found].map(([argument, value]) => [argument, value.trim()]));
}

/** Each word of a command as a value of the flag that it belongs to. */
function flagsIn(command: readonly string[]): (readonly [flag: string, value: string])[] {
  let flag = "first argument";
  return command.map((word) => {
    const [, name, value = ""] = /^(--[^=]+)=?(.*)$/s.exec(word) ?? [];
    flag = name ?? flag;
    return [flag, name === undefined ? word : value];
  });
}

/** A published port as people write its address. */
function portText({ ip, host, container }: PlannedContainer["ports"][number]): string {
  const inside = container === host ? "" : ` for ${container} inside`;
  return `${originOf({ address: ip, port: host }, ip)}${inside}`;
}

const plain = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(plain).sort().join(", ")
    : typeof value === "object"
      ? JSON.stringify(value).replaceAll('"', "")
      : String(value);
