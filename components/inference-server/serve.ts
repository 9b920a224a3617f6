import { isPooling } from "../planned/modelKind";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { reasoningParser, toolParser } from "./parsers";

/** What a server serves and with what, as its argv says it: whoever needs one of these reads it here. */
export type Serve = Readonly<ReturnType<typeof served>>;

/** Names that a server answers to, the canonical one first. */
export const servedNames = ({ model, servedModelName: name, aliases }: InferenceServerSettings): string[] => [
  name,
  ...(aliases ?? (model.id === name ? [] : [model.id])),
];

/** What one server of the stack file serves. */
export function served(key: string, container: string, server: InferenceServerSettings) {
  const { model, tools } = server;
  return {
    /** Key in the stack file. */
    key,
    /** Name of its container. */
    container,
    model: model.id,
    /** Names that it answers to, the canonical one first. */
    names: servedNames(server),
    port: server.port,
    /** Window in tokens. */
    maxModelLen: server.maxModelLen,
    maxNumSeqs: server.maxNumSeqs,
    gpuMemoryUtilization: server.gpuMemoryUtilization,
    kvCacheDtype: server.kvCacheDtype,
    prefixCaching: server.prefixCaching && !isPooling(model.kind),
    /** Parsers; `null` where none is passed. */
    toolParser: (model.kind === "chat" ? toolParser(model.family, tools.parser) : undefined) ?? null,
    reasoningParser:
      (isPooling(model.kind) ? undefined : reasoningParser(model.family, model.thinking, server.reasoningParser)) ??
      null,
  };
}
