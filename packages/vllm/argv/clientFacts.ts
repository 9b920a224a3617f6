import { holdsSecret } from "@local-serving/base/faults/secrets";
import { isOn, type ServerArguments } from "./serverArguments";
import { isText } from "./unknown";

/** What a server gives the clients that ask it, by its arguments. */
export interface ClientFacts {
  /** Names that it answers to, the canonical one first; empty where no argument says one. */
  readonly names: readonly string[];
  /** Parser of its structured tool calls; `none` if it makes none. */
  readonly toolParser: string;
  /** Whether its arguments hold a key. Without one, a variable of its own still may. */
  readonly holdsKey: boolean;
}

/** Reads what a server gives its clients. The key itself is never looked at. */
export function clientFacts(args: ServerArguments): ClientFacts {
  const { options, model } = args;
  const [parser] = options.get("tool-call-parser") ?? [];
  const parses = isOn(args, "enable-auto-tool-choice") && isText(parser) && /^[^-]/.test(parser);
  const named = options.get("served-model-name") ?? (model === undefined ? [] : [model]);
  return {
    names: named.filter(isText).filter((name) => name !== "" && !holdsSecret(name)),
    toolParser: parses ? parser : "none",
    holdsKey: options.has("api-key"),
  };
}

/** The name for a coding client: the first without a slash, else the canonical one. */
export const nameForClients = (names: readonly string[]): string | undefined =>
  names.find((name) => !name.includes("/")) ?? names[0];
