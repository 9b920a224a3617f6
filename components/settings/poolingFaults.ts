import { isPooling } from "../planned/modelKind";
import type { MachineSettings } from "./machine";
import type { MachineFault } from "./referenceFaults";

/** Faults around models that write no text (`model.kind: embedding` or `rerank`), and around those who would use them. */
export function poolingFaults(machine: MachineSettings): MachineFault[] {
  const faults: MachineFault[] = [];
  const fault = (path: PropertyKey[], message: string) =>
    faults.push({ path, code: "impossible_value", message });
  const servers = Object.entries(machine.inferenceServers);
  const kindOf = (key: string) => machine.inferenceServers[key]?.model.kind;

  for (const [key, server] of servers) {
    const { kind, thinking } = server.model;
    if (!isPooling(kind)) continue;
    const given: readonly (readonly [path: string[], isGiven: boolean])[] = [
      [["model", "thinking"], thinking],
      [["tools", "parser"], server.tools.parser !== "auto"],
      [["reasoningParser"], server.reasoningParser !== "auto"],
      [["speculative"], server.speculative !== undefined],
    ];
    for (const [path, isGiven] of given)
      if (isGiven)
        fault(
          ["inferenceServers", key, ...path],
          `A model of \`kind: ${kind}\` writes no text: delete this line, or say another \`model.kind\`.`,
        );
  }

  const wanted = [
    [["chatUi", "embeddingServer"], machine.chatUi?.embeddingServer, "embedding"],
    [["chatUi", "rerankServer"], machine.chatUi?.rerankServer, "rerank"],
    [["harness", "embeddingServer"], machine.harness?.embeddingServer, "embedding"],
  ] as const;
  for (const [path, key, kind] of wanted) {
    if (key === undefined || kindOf(key) === kind) continue;
    const able = servers.filter(([, { model }]) => model.kind === kind).map(([name]) => name);
    const known = able.length === 0 ? "none is declared" : `there is ${able.join(", ")}`;
    fault([...path], `\`${key}\` is no server with \`model.kind: ${kind}\`: ${known}.`);
  }
  if (machine.harness?.embeddingServer !== undefined && machine.harness.embeddingModel !== undefined)
    fault(
      ["harness", "embeddingModel"],
      "Sessions are embedded by `embeddingServer`: delete this line, or that one to let Ollama do it.",
    );
  for (const [index, key] of (machine.chatUi?.connections ?? []).entries()) {
    const kind = kindOf(key);
    if (kind !== undefined && isPooling(kind))
      fault(
        ["chatUi", "connections", index],
        `\`${key}\` writes no text: the chat UI uses it by \`${kind}Server\`. Delete it here.`,
      );
  }
  const bridged = machine.bridge === undefined ? [] : (machine.bridge.servers ?? servers.map(([key]) => key));
  const kinds = bridged.map(kindOf);
  if (kinds.length > 0 && kinds.every((kind) => kind !== undefined && isPooling(kind)))
    fault(
      ["bridge"],
      "No server behind the bridge writes text, so it has nothing to translate: remove the bridge, and ask these servers directly.",
    );
  return faults;
}
