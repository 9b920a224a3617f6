import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import type { ServerSeen } from "../serverSeen";

/** How what runs becomes what the stack file says. */
export const APPLY_STACK_FILE =
  "Apply the stack file: `serving up`. If a difference stays, `serving status --against applied` says how to fix it.";

const optionsOf = (argv: readonly string[]) => readServerArguments(argv).options;

/** An option as it is written, `--tool-call-parser hermes`; `no --tool-call-parser` without it. */
function written(argv: readonly string[], option: string): string {
  const values = optionsOf(argv).get(option);
  if (values === undefined) return `no --${option}`;
  if (values[0] === "on") return `--${option}`;
  if (values[0] === "off") return `--no-${option}`;
  return [`--${option}`, ...values.map(String)].join(" ");
}

/**
 * How the container's own arguments differ from the stack file in one option; `undefined` where
 * they don't, or nobody can see them.
 */
export function optionOtherwise(
  { declared, running: { argv } }: ServerSeen,
  option: string,
): string | undefined {
  if (argv === undefined) return undefined;
  const [runs, planned] = [written(argv, option), written(declared.argv, option)];
  return runs === planned
    ? undefined
    : `It was started with ${runs}, but the stack file has ${planned}.`;
}

/** Whether the container's own arguments say the same as the stack file. */
export const startedAsPlanned = (seen: ServerSeen, option: string): boolean =>
  seen.running.argv !== undefined && optionOtherwise(seen, option) === undefined;

/** Advice where the stack file has the right value already. */
export const alreadyDeclared = (seen: ServerSeen, option: string, setting: string): string => {
  const otherwise = optionOtherwise(seen, option);
  const older = `The stack file already has it (${setting}), so the server runs with an older or different configuration.`;
  return `${otherwise ?? older} ${APPLY_STACK_FILE}`;
};

/** What to write for the cache's type where another one may be at fault; `undefined` for the model's own. */
export function cacheTypeInstead(argv: readonly string[], setting: string): string | undefined {
  const type = String(optionsOf(argv).get("kv-cache-dtype")?.[0] ?? "auto");
  return type === "auto" ? undefined : `\`${setting}: auto\` (it is ${type})`;
}

/** A setting of the server, by its full name in the stack file. */
export const serverSetting = ({ declared: { place } }: ServerSeen, key: string): string =>
  `${place}.${key}`;
