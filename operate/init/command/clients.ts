import { CLIENTS, type ClientKey } from "../../../components/clients";
import { machine } from "../../../components/settings";
import type { ServerValue } from "../../models/serverValues";
import type { Wanted } from "../settings";

/** The clients that can use the server, and why the others get no file. */
export function clientsOf(
  values: readonly ServerValue[],
  { clients: all }: Pick<Wanted, "clients">,
) {
  const valueAt = (path: string) => values.find((each) => each.path.join(".") === path)?.value;
  const coding = all.filter((key) => CLIENTS.some((each) => each.key === key && each.coding));
  const without = (some: readonly ClientKey[]) => all.filter((key) => !some.includes(key));
  const kind = valueAt("model.kind") ?? "chat";
  if (kind !== "chat") return { clients: without(coding), told: [] };
  if (valueAt("tools.autoChoice") === false && coding.length > 0)
    return { clients: without(coding), told: [NO_TOOLS] };
  const window = Number(valueAt("maxModelLen"));
  const cramped = coding.filter((key) => outputOf(key) >= window);
  const why = `The window of ${window} tokens is too short for an answer of ${cramped.join(", ")}: no file is written for it.`;
  return { clients: without(cramped), told: cramped.length === 0 ? [] : [why] };
}

const NO_TOOLS =
  "The command doesn't enable structured tool calls, so no coding client gets a file. To have one, write `tools: { parser: PARSER }` in place of `tools: { autoChoice: false }`, and add the client to `clients`.";

/** Most tokens of a client's answer, by default. */
function outputOf(key: ClientKey): number {
  const block = machine.shape.clients.parse({ [key]: { via: "native" } })[key];
  const given = typeof block === "object" && "maxOutputTokens" in block ? block.maxOutputTokens : 0;
  return Number(given);
}
