import { listOf } from "../../faults/quoting";
import type { ClientSettings } from "../clients/kind";
import { CLIENTS } from "../clients/registry";
import { INSTANCE_A, SIMPLE_SERVER } from "../planned/fields";
import { isPooling } from "../planned/modelKind";
import { isLoopback } from "../planned/reach";
import { onOtherMachine } from "./bridge";
import type { MachineSettings } from "./machine";

/** A fault of one machine's settings; the path starts below the machine. */
export type MachineFault = { readonly path: readonly PropertyKey[]; readonly code: string; readonly message: string };

/** Faults in what a service or a client says of the server that it uses. */
export function referenceFaults(machine: MachineSettings): MachineFault[] {
  const faults: MachineFault[] = [];
  const fault = (path: PropertyKey[], code: string, message: string) => faults.push({ path, code, message });
  const servers = Object.keys(machine.inferenceServers);
  const talking = servers.filter((key) => !isPooling(machine.inferenceServers[key]?.model.kind ?? "chat"));

  /** Whether anything speaks against using this server, said at `path`. */
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
  for (const [index, name] of (machine.bridge?.servers ?? []).entries())
    if (onOtherMachine(name) === undefined) check(name, ["bridge", "servers", index], true);
  for (const [index, name] of (machine.chatUi?.connections ?? []).entries())
    check(name, ["chatUi", "connections", index], false);
  const { bridge } = machine;
  if (bridge !== undefined && bridge.servers === undefined && servers.length === 0)
    fault(["bridge", "servers"], "missing_key", "Nothing to bridge: no inference server is declared.");
  const placeholderOnly = `The bridge is published on ${bridge?.listen}, where a placeholder is not enough as a key. Name the variable of your shell that holds a key (\`keyVariable\`), or publish it on 127.0.0.1.`;
  if (bridge !== undefined && !isLoopback(bridge.listen) && bridge.keyVariable === undefined)
    fault(["bridge", "keyVariable"], "missing_key", placeholderOnly);
  const { models = [], loadedGiB = {} } = machine.simpleServer.mode === "none" ? {} : machine.simpleServer;
  for (const model of Object.keys(loadedGiB).filter((name) => !models.includes(name))) {
    const message = `\`${model}\` is not one of the simple server's \`models\`.`;
    fault(["simpleServer", "loadedGiB", model], "unknown_reference", message);
  }
  const noChatUi =
    "With `mode: integrated` the simple server runs inside the chat UI's container: declare the chat UI, with an image that holds Ollama (`...-ollama`).";
  if (machine.simpleServer.mode === "integrated" && machine.chatUi === undefined)
    fault(["chatUi"], "missing_key", noChatUi);

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
