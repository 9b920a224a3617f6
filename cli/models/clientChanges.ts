import { isPooling } from "../../components/planned";
import type { MachineSettings } from "../../components/settings";
import type { ServerValue } from "./serverValues";

/** A key of a client's block, below the machine's `clients`; `undefined` removes it. */
interface ClientChange {
  readonly path: readonly [client: string, key: "server" | "model"];
  readonly value: string | undefined;
}

/**
 * What the clients must say once a server has a model's values: which server they use where several
 * write text, or the one that named none stays with the one it had; and no name that the changed
 * server no longer has.
 */
export function clientChanges(
  { inferenceServers, clients }: MachineSettings,
  server: string,
  values: readonly ServerValue[],
): ClientChange[] {
  const newValue = (path: string) => values.find((each) => each.path.join(".") === path)?.value;
  const chats = Object.entries(inferenceServers).flatMap(([key, { model }]) =>
    isPooling(model.kind) ? [] : [key],
  );
  const kind = newValue("model.kind");
  const writes = kind === "chat" || kind === "base";
  const others = chats.filter((key) => key !== server);
  const after = writes ? [...others, server] : others;
  const around = {
    server,
    gone: writes ? Object.keys(inferenceServers).filter((key) => !after.includes(key)) : [],
    mustSay: writes && after.length > 1 && chats.length < 2,
    only: chats.length < 2 ? chats[0] : undefined,
    served: [newValue("servedModelName"), newValue("model.id")],
  };
  return Object.entries(clients).flatMap(([key, client]) =>
    typeof client === "object" ? changesOfClient(key, client, around) : [],
  );
}

interface Around {
  /** The server that gets a model's values. */
  readonly server: string;
  /** Servers that no longer write text, where that one does. */
  readonly gone: readonly string[];
  /** Whether a client that names no server would have a choice from now on. */
  readonly mustSay: boolean;
  /** The server of a client that names none. */
  readonly only: string | undefined;
  /** The names that the server will have. */
  readonly served: readonly unknown[];
}

function changesOfClient(
  key: string,
  {
    server: named,
    model,
  }: { readonly server?: string | undefined; readonly model?: string | undefined },
  { server, gone, mustSay, only, served }: Around,
): ClientChange[] {
  const changes: ClientChange[] = [];
  const isGone = named !== undefined && gone.includes(named);
  if (isGone) changes.push({ path: [key, "server"], value: server });
  else if (named === undefined && mustSay)
    changes.push({ path: [key, "server"], value: only ?? server });
  const isChanged = isGone || (named ?? only) === server;
  if (isChanged && model !== undefined && !served.includes(model))
    changes.push({ path: [key, "model"], value: undefined });
  return changes;
}
