import type { HarnessSettings } from "./harness";
import type { MachineSettings } from "./machine";

const OLLAMA = "ollama";

/** One of our servers as the harness can use it: its provider's name, and which server that is. */
export type Reviewer =
  | { readonly name: string; readonly kind: "inference-server"; readonly server: string }
  | { readonly name: string; readonly kind: "ollama"; readonly model: string };

/**
 * Who can review on this machine, in the order in which they are tried: every inference server with
 * a chat model (a base model answers no chat request), by key, since the engine hands maps over in
 * no other order; then Ollama on the host. Nobody else reaches Ollama inside the chat UI's
 * container.
 */
export function reviewers(machine: MachineSettings, harness: HarnessSettings): Reviewer[] {
  const servers = Object.entries(machine.inferenceServers)
    .filter(([, server]) => server.model.kind === "chat")
    .map(([key]): Reviewer => ({ name: `local-${key}`, kind: "inference-server", server: key }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const model = ollamaModel(machine, harness);
  return model === undefined ? servers : [...servers, { name: OLLAMA, kind: "ollama", model }];
}

function ollamaModel(
  { simpleServer }: MachineSettings,
  harness: HarnessSettings,
): string | undefined {
  if (simpleServer.mode !== "host") return undefined;
  return harness.ollamaModel ?? simpleServer.models.find((name) => name !== harness.embeddingModel);
}

/** Who reviews a subject, and who is tried after that. */
export type Pairing = {
  readonly subject: string;
  readonly peer: string;
  readonly fallbacks: readonly string[];
};

/**
 * The pairings by subject. A subject's own provider, were there one of its name, never reviews it.
 */
export function pairings(harness: HarnessSettings, names: readonly string[]): Pairing[] {
  const { subjects, peerFor, fallbackChain } = harness;
  const all = new Set([...subjects, ...Object.keys(peerFor), ...Object.keys(fallbackChain)]);
  return [...all].sort().flatMap((subject): Pairing[] => {
    const others = names.filter((name) => name !== subject);
    const peer = peerFor[subject] ?? others[0];
    if (peer === undefined) return [];
    return [
      {
        subject,
        peer,
        fallbacks: fallbackChain[subject] ?? others.filter((name) => name !== peer),
      },
    ];
  });
}

/** Name of the variable with the key for inference servers; `undefined` where none is sent. */
export const apiKeyVariable = ({
  apiKeyVariable: name,
  prefix,
}: HarnessSettings): string | undefined =>
  name === "none" ? undefined : (name ?? `${prefix}LOCAL_KEY`);
