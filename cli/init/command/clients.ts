import { CLIENTS, type ClientKey } from "../../../components/clients";
import { machine } from "../../../components/settings";
import type { ServerValue } from "../../models/serverValues";
import type { Wanted } from "../settings";

/** The coding clients of a machine on which none was found. */
export const USUAL_CLIENTS: readonly ClientKey[] = ["claudeCode", "codex"];

/** Clients that can't use a server as its command starts it. */
export interface Unfit {
  readonly keys: readonly ClientKey[];
  /** Why, as a clause about them. */
  readonly why: string;
}

/** Which clients a server has, and what is said of those that it can't have. */
interface ClientsOf {
  readonly clients: readonly ClientKey[];
  readonly told: readonly string[];
  readonly unfit?: Unfit;
}

const CODING = CLIENTS.flatMap(({ key, coding }) => (coding ? [key] : []));

/**
 * The clients that can use the server, and why the others get no file. Those of a stack file that is
 * there stay with its servers.
 */
export function clientsOf(
  values: readonly ServerValue[],
  { clients: all, into, key = "b" }: Pick<Wanted, "clients" | "into" | "key">,
  tools: { readonly parser?: string | undefined; readonly areMade: boolean },
): ClientsOf {
  const valueAt = (path: string) => values.find((each) => each.path.join(".") === path)?.value;
  const coding = all.filter((key) => CODING.includes(key));
  const without = (some: readonly ClientKey[]) => all.filter((key) => !some.includes(key));
  const kind = valueAt("model.kind") ?? "chat";
  if (kind !== "chat") return { clients: without(coding), told: [] };
  if (valueAt("tools.autoChoice") === false)
    return {
      clients: without(coding),
      // A model that makes no calls gets none by a parser.
      told:
        coding.length === 0 || !tools.areMade
          ? []
          : [noTools(tools.parser, coding, into === undefined ? undefined : key)],
      unfit: { keys: CODING, why: "needs structured tool calls, which the command leaves off" },
    };
  const window = Number(valueAt("maxModelLen"));
  const keys = CODING.filter((key) => outputOf(key) >= window);
  const cramped = keys.filter((key) => coding.includes(key));
  const why = `The window of ${window} tokens is too short for an answer of ${cramped.join(", ")}: no file is written for it.`;
  return {
    clients: without(cramped),
    told: cramped.length === 0 || into ? [] : [why],
    unfit: { keys, why: `needs a longer window than ${window} tokens for its answers` },
  };
}

/**
 * How to have coding clients, with the parser where the model's is known; `added` is the key of a
 * server that a stack file gets.
 */
function noTools(
  parser: string | undefined,
  coding: readonly ClientKey[],
  added: string | undefined,
): string {
  const clients = CLIENTS.filter(({ key }) => coding.includes(key)).map(({ title }) => title);
  const lines = `write \`tools: { parser: ${parser ?? "PARSER"} }\` in place of \`tools: { autoChoice: false }\``;
  const whose = parser === undefined ? "" : ` (${parser} is this model's parser)`;
  const need = `${clients.join(" and ")} ${clients.length === 1 ? "needs" : "need"} structured tool calls, which the command leaves off`;
  const them = clients.length === 1 ? "it" : "them";
  return added === undefined
    ? `${need}, so no coding client gets a file. To have ${them}, ${lines}${whose}, and add ${coding.map((key) => `\`${key}: {}\``).join(" and ")} to \`clients\`.`
    : `${need}. For ${them} to use this server, ${lines}${whose}, and \`server: ${added}\` at the client.`;
}

/** Most tokens of a client's answer, by default. */
function outputOf(key: ClientKey): number {
  const block = machine.shape.clients.parse({ [key]: { via: "native" } })[key];
  const given = typeof block === "object" && "maxOutputTokens" in block ? block.maxOutputTokens : 0;
  return Number(given);
}
