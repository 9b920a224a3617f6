import { isPooling } from "../planned/modelKind";
import { type DataOf, dataOf } from "../planned/schema/dataOf";
import { serveSchema } from "../planned/schema/serve";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { reasoningParserFor, toolParserFor } from "./parsers";

/**
 * What a server serves and with what, as its argv says. Everything that needs one of these facts
 * reads it here.
 */
export type Serve = DataOf<typeof serveSchema>;

/** Names that a server answers to, the canonical one first. */
export const servedNames = ({
  model,
  servedModelName: name,
  aliases,
}: InferenceServerSettings): string[] => [
  name,
  ...(aliases ?? (model.id === name ? [] : [model.id])),
];

/** What one server of the stack file serves. */
export function served(key: string, container: string, server: InferenceServerSettings): Serve {
  const { model, tools } = server;
  return dataOf(serveSchema, {
    ...server,
    key,
    container,
    model: model.id,
    names: servedNames(server),
    prefixCaching: server.prefixCaching && !isPooling(model.kind),
    toolParser:
      (model.kind === "chat" ? toolParserFor(model.family, tools.parser) : undefined) ?? null,
    reasoningParser:
      (isPooling(model.kind)
        ? undefined
        : reasoningParserFor(model.family, model.thinking, server.reasoningParser)) ?? null,
  });
}
