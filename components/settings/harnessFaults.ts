import { listOf, nearestKey } from "@local-serving/base/faults/quoting";
import { KEY_AS_NAME, looksLikeAKey } from "@local-serving/base/faults/secrets";
import { type HarnessSettings, PLAIN_TEXT } from "./harness";
import type { MachineSettings } from "./machine";
import { apiKeyVariable, type Reviewer, reviewers } from "./reviewers";

/** A fault of a machine's settings that only shows in the harness's files. */
export interface HarnessFault {
  /** Path below the machine. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Finds what the harness's files can't be made from, all at once. It finds nothing if no such files
 * are asked for.
 */
export function harnessFaults(machine: MachineSettings): HarnessFault[] {
  const { harness } = machine;
  if (harness === undefined) return [];
  const found = reviewers(machine, harness);
  const names = found.map(({ name }) => name);
  if (found.length === 0)
    return [
      {
        path: ["harness"],
        message:
          "Nothing here can review or judge: declare an inference server with a chat model, or `simpleServer` with `mode: host` and a model in `models` (or `harness.ollamaModel`).",
      },
    ];
  return [
    ...keyFaults(harness),
    ...nameFaults(machine, names),
    ...found.flatMap((each) => (each.kind === "ollama" ? [] : serverFaults(machine, each))),
  ];
}

/**
 * Checks the prefix if it is part of the key variable's name. `apiKeyVariable` itself is checked by
 * its schema.
 */
function keyFaults(harness: HarnessSettings): HarnessFault[] {
  if (harness.apiKeyVariable !== undefined || !looksLikeAKey(apiKeyVariable(harness) ?? ""))
    return [];
  return [{ path: ["harness", "prefix"], message: KEY_AS_NAME }];
}

function nameFaults({ harness }: MachineSettings, names: readonly string[]): HarnessFault[] {
  if (harness === undefined) return [];
  const named: { path: PropertyKey[]; name: string; subject?: string }[] = [
    ...Object.entries(harness.peerFor).map(([subject, name]) => ({
      path: ["peerFor", subject],
      name,
      subject,
    })),
    ...Object.entries(harness.fallbackChain).flatMap(([subject, chain]) =>
      chain.map((name, index) => ({ path: ["fallbackChain", subject, index], name, subject })),
    ),
    ...Object.keys(harness.conformanceCommands).map((name) => ({
      path: ["conformanceCommands", name],
      name,
    })),
    ...(harness.judge === undefined ? [] : [{ path: ["judge"], name: harness.judge }]),
  ];
  return named.flatMap(({ path, name, subject }): HarnessFault[] => {
    const at = ["harness", ...path];
    if (!names.includes(name)) {
      const near = nearestKey(name, names);
      const hint =
        near === undefined ? `Providers are ${listOf(names)}.` : `Did you mean \`${near}\`?`;
      return [{ path: at, message: `There is no provider \`${name}\` on this machine. ${hint}` }];
    }
    return name === subject ? [{ path: at, message: "The subject would review itself." }] : [];
  });
}

function serverFaults(
  { harness, inferenceServers }: MachineSettings,
  { server: key }: Extract<Reviewer, { kind: "inference-server" }>,
): HarnessFault[] {
  const server = inferenceServers[key];
  if (server === undefined || harness === undefined) return [];
  const faults: HarnessFault[] = [];
  if (!PLAIN_TEXT.test(server.servedModelName) || server.servedModelName.includes("'"))
    faults.push({
      path: ["inferenceServers", key, "servedModelName"],
      message:
        "The harness can't ask for a model whose name has quotes, backslashes or control characters, since it knows no escapes: rename the model.",
    });
  if (harness.maxTokens >= server.maxModelLen)
    faults.push({
      path: ["harness", "maxTokens"],
      message: `An answer of ${harness.maxTokens} tokens leaves no room for a prompt: the context window of \`${key}\` is ${server.maxModelLen} tokens (\`maxModelLen\`), and longer requests get HTTP 400.`,
    });
  return faults;
}
