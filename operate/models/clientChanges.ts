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
  const [before] = chats;
  return Object.entries(clients).flatMap(([key, client]): ClientChange[] => {
    if (typeof client !== "object") return [];
    const named = client.server;
    const isGone =
      named !== undefined && Object.hasOwn(inferenceServers, named) && !after.includes(named);
    const mustSay = named === undefined && after.length > 1 && chats.length < 2;
    const uses = isGone || before === undefined ? server : before;
    const moves = writes && (isGone || mustSay);
    const changed = (named ?? (chats.length < 2 ? before : undefined)) === server;
    const served = [newValue("servedModelName"), newValue("model.id")];
    const stale =
      client.model !== undefined &&
      ((moves && isGone) || changed) &&
      !served.includes(client.model);
    return [
      ...(moves ? [{ path: [key, "server"] as const, value: uses }] : []),
      ...(stale ? [{ path: [key, "model"] as const, value: undefined }] : []),
    ];
  });
}
