import type { Probe } from "../probe";
import { adapterProbes } from "../probes/adapters";
import { bridgeProbes } from "../probes/bridge";
import { chatUiProbes } from "../probes/chatUi";
import { harnessFileProbes } from "../probes/harnessFiles";
import { harnessProviderProbes } from "../probes/harnessProviders";
import { instanceAClientProbes, instanceAProbes } from "../probes/instanceA";
import { kvCacheProbes } from "../probes/kvCache";
import { longPromptProbes } from "../probes/longPrompts";
import { machineProbes } from "../probes/machine";
import { memoryProbes } from "../probes/memory";
import { nativePathProbes } from "../probes/nativeMessagesPath";
import { ollamaProbes } from "../probes/ollama";
import { ollamaToolProbes } from "../probes/ollamaTools";
import { onDemandProbes } from "../probes/onDemand";
import { poolingProbes } from "../probes/pooling";
import { promptProbes } from "../probes/prompts";
import { rankProbes } from "../probes/ranks";
import { serverProbes, windowProbes } from "../probes/server";
import { serviceProbes } from "../probes/service";
import { chatProbes, messagesProbes, responsesProbes } from "../probes/surfaces";
import type { ProbesOf, Target } from "../target";

/**
 * Probes by kind of target, in the order of a run: first what the others depend on. `absent` says
 * why there are none to run, or nothing where that isn't worth a word.
 */
const CATALOG: {
  readonly [Kind in Target["kind"]]: { readonly absent: string; readonly probes: ProbesOf<Kind> };
} = {
  ranks: { absent: "the plan has no server over several machines", probes: rankProbes },
  "inference-server": {
    absent: "the plan has no inference server",
    probes: [
      ...serverProbes,
      ...poolingProbes,
      ...chatProbes,
      ...responsesProbes,
      ...messagesProbes,
      ...promptProbes,
      ...adapterProbes,
      ...nativePathProbes,
      ...windowProbes,
      ...longPromptProbes,
      ...kvCacheProbes,
    ],
  },
  "on-demand": {
    // Nothing is said of it where it isn't declared.
    absent: "",
    probes: onDemandProbes,
  },
  bridge: { absent: "the plan has no bridge", probes: bridgeProbes },
  "chat-ui": { absent: "the plan has no chat UI", probes: chatUiProbes },
  "simple-server": { absent: "the plan has no simple server on the host", probes: ollamaProbes },
  "simple-model": {
    absent: "the plan has no simple server on the host, or no model for it",
    probes: ollamaToolProbes,
  },
  service: { absent: "the plan has no other service", probes: serviceProbes },
  harness: { absent: "the stack file has no `harness`", probes: harnessFileProbes },
  "harness-provider": { absent: "the stack file has no `harness`", probes: harnessProviderProbes },
  "instance-a-clients": {
    absent: "no coding client uses an instance A",
    probes: instanceAClientProbes,
  },
  // Memory counts after everything has served.
  machine: { absent: "the plan has no machine", probes: [...machineProbes, ...memoryProbes] },
  "instance-a": { absent: "the stack file says `instanceA: none`", probes: instanceAProbes },
};

/**
 * Kinds in the order of a run. Instance A is last, to see whether any other probe has touched it.
 */
export const KINDS = Object.keys(CATALOG) as readonly Target["kind"][];

export const whyAbsent = (kind: Target["kind"]): string => CATALOG[kind].absent;

/** Probes of a kind, by their names alone. */
export const probesOf = (kind: Target["kind"]): readonly Pick<Probe<never>, "name" | "about">[] =>
  CATALOG[kind].probes;

/**
 * The probes of a target. Its kind chooses a list that is typed for it, which TypeScript can't
 * follow.
 */
export const probesFor = (target: Target): readonly Probe<Target>[] =>
  CATALOG[target.kind].probes as readonly unknown[] as readonly Probe<Target>[];

export const probeNames = (): string[] =>
  KINDS.flatMap((kind) => probesOf(kind).map((probe) => probe.name));
