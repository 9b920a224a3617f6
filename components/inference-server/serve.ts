import { type DataOf, dataOf } from "@local-serving/base/data/dataOf";
import { isPooling } from "../planned";
import { serveSchema } from "../planned/schema";
import { folderOfModel, type InferenceServerSettings } from "../settings";
import { reasoningParserFor, toolParserFor } from "./parsers";

/**
 * What a server serves and with what, as its argv says. Everything that needs one of these facts
 * reads it here.
 */
export type Serve = DataOf<typeof serveSchema>;

/** Names that a server answers to, the canonical one first. */
export function servedNames(server: InferenceServerSettings): string[] {
  const { model, servedModelName: name, aliases } = server;
  // A folder's path is nothing to ask for.
  const id = folderOfModel(server) === undefined && model.id !== name ? [model.id] : [];
  return [name, ...(aliases ?? id)];
}

/** Names of a server's adapters, where it has any. */
export const servedAdapters = ({
  adapters,
}: InferenceServerSettings): { readonly adapters?: readonly string[] } =>
  adapters.length === 0 ? {} : { adapters: adapters.map(({ name }) => name) };

/** What one server of the stack file serves. */
export function served(key: string, container: string, server: InferenceServerSettings): Serve {
  const { adapters: _, ...settings } = server;
  const { model, tools } = server;
  return dataOf(serveSchema, {
    ...settings,
    ...servedAdapters(server),
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
