import { listOf } from "../../faults/quoting";
import type { ClientSettings } from "../clients/kind";
import { CLIENTS } from "../clients/registry";
import { INSTANCE_A, SIMPLE_SERVER } from "../planned/fields";
import { isPooling } from "../planned/modelKind";
import { SERVICES } from "../services/registry";
import type { MachineSettings } from "./machine";

/** A fault of one machine's settings; the path starts below the machine. */
export type MachineFault = { readonly path: readonly PropertyKey[]; readonly code: string; readonly message: string };

/** Faults in the blocks of services, and in what clients say of the server that they use. */
export function referenceFaults(machine: MachineSettings): MachineFault[] {
  const faults: MachineFault[] = [];
  const fault = (path: PropertyKey[], code: string, message: string) => faults.push({ path, code, message });
  const servers = Object.keys(machine.inferenceServers);
  const talking = servers.filter((key) => !isPooling(machine.inferenceServers[key]?.model.kind ?? "chat"));

  /** Reports at `path` why this server can't be used, if so. */
  const check = (name: string, path: PropertyKey[], needsModel: boolean) => {
    if (servers.includes(name)) return;
    if (name === INSTANCE_A) {
      if (machine.instanceA === "none")
        fault(path, "unknown_reference", "There is no instance A on this machine (`instanceA: none`).");
      else if (needsModel && machine.instanceA.servedModelName === undefined)
        fault(path, "missing_key", "Say what instance A serves: `instanceA.servedModelName`.");
      return;
    }
    const { simpleServer } = machine;
    if (name === SIMPLE_SERVER && simpleServer.mode === "host") {
      const noModel =
        "Say which model it asks for (`model`), or name models of the simple server (`simpleServer.models`).";
      if (needsModel && simpleServer.models.length === 0) fault(path, "missing_key", noModel);
      return;
    }
    const known = [
      ...servers,
      ...(machine.instanceA === "none" ? [] : [INSTANCE_A]),
      ...(simpleServer.mode === "host" ? [SIMPLE_SERVER] : []),
    ];
    fault(path, "unknown_reference", `No server \`${name}\` on this machine. Known: ${listOf(known)}.`);
  };

  for (const name of servers) {
    const takenName = `\`${name}\` is the name of another server: take a different key.`;
    if (name === INSTANCE_A || name === SIMPLE_SERVER) fault(["inferenceServers", name], "impossible_value", takenName);
  }
  const declared = Object.entries(machine.inferenceServers).map(([key, { model }]) => ({ key, kind: model.kind }));
  for (const service of SERVICES) {
    for (const { name, path, needsModel } of service.names?.(machine) ?? [])
      check(name, [service.key, ...path], needsModel);
    faults.push(...(service.faults?.(machine, declared) ?? []));
  }

  for (const { key } of CLIENTS) {
    const settings: ClientSettings | undefined = machine.clients[key];
    if (settings === undefined) continue;
    const at = ["clients", key];
    const name = settings.server ?? (talking.length === 1 ? talking[0] : undefined);
    if (name === undefined) {
      const choice = talking.length === 0 ? "none is declared" : `there are ${talking.join(", ")}`;
      fault([...at, "server"], "missing_key", `Say which server it uses: ${choice}.`);
      continue;
    }
    check(name, [...at, "server"], settings.model === undefined);
    if (settings.via === "bridge") {
      if (machine.bridge === undefined) {
        const message = "There is no `bridge` on this machine. Declare one, or write `via: native`.";
        fault([...at, "via"], "missing_key", message);
      } else if (!(machine.bridge.servers ?? servers).includes(name)) {
        const message = `\`${name}\` is not behind the bridge: add it to \`bridge.servers\`.`;
        fault([...at, "via"], "unknown_reference", message);
      }
    }
    const window = machine.inferenceServers[name]?.maxModelLen;
    const beyondWindow = `The server's window is ${window} tokens, prompt and output together: every request would be refused.`;
    if (window !== undefined && (settings.maxOutputTokens ?? 0) >= window)
      fault([...at, "maxOutputTokens"], "impossible_value", beyondWindow);
  }
  return faults;
}
