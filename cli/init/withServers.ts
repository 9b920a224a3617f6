import { inferenceServer, type MachineSettings } from "../../components/settings";
import { clientChanges } from "../models/clientChanges";
import { LEAST_SERVER } from "../models/leastServer";
import { withReasons } from "../models/reasons";
import type { ServerValue } from "../models/serverValues";
import type { OneMachine } from "../stack/readStack";
import { applyEdits, type Edit, type EditValue } from "../stackEdit/applyEdits";

/** A server that a stack file gets. */
export interface NewServer {
  readonly key: string;
  readonly values: readonly ServerValue[];
  /** Its block in the file. */
  readonly block: { readonly [key: string]: EditValue };
  /** The reasons of its values, by dotted path in the block. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** The text of a stack file with further servers; each client stays with the server that it had. */
export function withServers(stack: OneMachine, servers: readonly NewServer[]): string {
  const { text, name, settings } = stack;
  const edits = [
    ...servers.map(({ key, block }): Edit => ({ path: placeOf(name, key), value: block })),
    ...clientEdits(settings, servers).map(({ path, value }) => ({
      path: ["machines", name, "clients", ...path],
      value,
    })),
  ];
  return servers.reduce(
    (edited, { key, reasons }) => withReasons(edited, { machine: name, server: key }, reasons),
    applyEdits(text, edits),
  );
}

const placeOf = (machine: string, key: string) => ["machines", machine, "inferenceServers", key];

/** What clients must say, one server after the other. */
function clientEdits(settings: MachineSettings, servers: readonly NewServer[]) {
  let { inferenceServers } = settings;
  return servers.flatMap(({ key, values }) => {
    const given = values.find(({ path }) => path.join(".") === "model.kind");
    const kind = given ?? { path: ["model", "kind"], value: "chat", why: "" };
    const before = { ...settings, inferenceServers };
    const model = { ...LEAST_SERVER.model, kind: kind.value };
    const added = inferenceServer.parse({ ...LEAST_SERVER, model });
    inferenceServers = { ...inferenceServers, [key]: added };
    return clientChanges(before, key, [...values, kind]);
  });
}
