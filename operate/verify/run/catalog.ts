import type { Probe } from "../probe";
import { bridgeProbes } from "../probes/bridge";
import { chatUiProbes } from "../probes/chatUi";
import { harnessFileProbes } from "../probes/harnessFiles";
import { harnessProviderProbes } from "../probes/harnessProviders";
import { kvCacheProbes } from "../probes/kvCache";
import { longPromptProbes } from "../probes/longPrompts";
import { instanceAProbes, machineProbes } from "../probes/machine";
import { memoryProbes } from "../probes/memory";
import { nativePathProbes } from "../probes/nativeMessagesPath";
import { ollamaProbes } from "../probes/ollama";
import { poolingProbes } from "../probes/pooling";
import { rankProbes } from "../probes/ranks";
import { serverProbes, windowProbes } from "../probes/server";
import { chatProbes, messagesProbes, responsesProbes } from "../probes/surfaces";
import type { ProbesOf, Target } from "../target";

/** Probes by kind of target, in the order of a run: first what the others depend on. */
const CATALOG: { readonly [Kind in Target["kind"]]: ProbesOf<Kind> } = {
  ranks: rankProbes,
  "inference-server": [
    ...serverProbes,
    ...poolingProbes,
    ...chatProbes,
    ...responsesProbes,
    ...messagesProbes,
    ...nativePathProbes,
    ...windowProbes,
    ...longPromptProbes,
    ...kvCacheProbes,
  ],
  bridge: bridgeProbes,
  "chat-ui": chatUiProbes,
  "simple-server": ollamaProbes,
  harness: harnessFileProbes,
  "harness-provider": harnessProviderProbes,
  // Memory counts after everything has served.
  machine: [...machineProbes, ...memoryProbes],
  "instance-a": instanceAProbes,
};

/** Kinds in the order of a run. Instance A is last, to see whether any other probe has touched it. */
export const KINDS = Object.keys(CATALOG) as readonly Target["kind"][];

/** Why a kind of target has no probes to run. */
export const ABSENT: Readonly<Record<Target["kind"], string>> = {
  ranks: "the plan has no server over several machines",
  "inference-server": "the plan has no inference server",
  bridge: "the plan has no bridge",
  "chat-ui": "the plan has no chat UI",
  "simple-server": "the plan has no simple server on the host",
  harness: "the stack file has no `harness`",
  "harness-provider": "the stack file has no `harness`",
  machine: "the plan has no machine",
  "instance-a": "the stack file says `instanceA: none`",
};

/** Probes of a kind, by their names alone. */
export function probesOf(kind: Target["kind"]): readonly Pick<Probe<never>, "name" | "about">[] {
  return CATALOG[kind];
}

/** The probes of a target. Its kind chooses a list that is typed for it, which TypeScript can't follow. */
export function probesFor(target: Target): readonly Probe<Target>[] {
  return CATALOG[target.kind] as readonly unknown[] as readonly Probe<Target>[];
}

export function probeNames(): string[] {
  return KINDS.flatMap((kind) => probesOf(kind).map((probe) => probe.name));
}
