import { claudeCodeBody, type MessagesShape } from "../claudeCodeBody";
import type { JsonObject } from "../json";
import type { Probe } from "../probe";
import { answerTokens } from "../prompts";
import type { BridgeTarget } from "../targets";

export type BridgeProbe = Probe<BridgeTarget>;

/** Where to look when the bridge answers, and what is behind it does not. */
export const upstreamFix = ({ server, name }: BridgeTarget) =>
  `See whether ${server?.name ?? "the server behind it"} answers (probe chat), then docker logs ${name}: its api_base is the address as the bridge's container sees it.`;

/** Window to reckon with where the server behind the bridge is none of ours. */
const UNKNOWN_WINDOW = 32_768;

/** A request as a client sends it through the bridge, with room for a model that thinks first. */
export function bodyFor({ model, server }: BridgeTarget, more: Partial<MessagesShape> = {}): JsonObject {
  return claudeCodeBody({
    model,
    maxTokens: answerTokens(server?.maxModelLen ?? UNKNOWN_WINDOW, true),
    ...more,
  });
}
