import type { HarnessTarget, ProviderTarget } from "./harnessTargets";
import type { Probe, ServerProbe } from "./probe";
import { bridgeProbes } from "./probes/bridge";
import { chatProbes } from "./probes/chat";
import { chatToolProbes } from "./probes/chatTools";
import { chatUiProbes } from "./probes/chatUi";
import { clientFileProbes } from "./probes/clientFiles";
import { completions } from "./probes/completions";
import { containersProbe } from "./probes/containers";
import { harnessEmbedding } from "./probes/harnessEmbedding";
import { harnessJudge } from "./probes/harnessJudge";
import { harnessProfile, harnessProviderProbes } from "./probes/harnessProviders";
import { health } from "./probes/health";
import { instanceA } from "./probes/instanceA";
import { kvCache } from "./probes/kvCache";
import { longPromptProbes } from "./probes/longPrompts";
import { memoryProbe } from "./probes/memory";
import { messagesProbes } from "./probes/messages";
import { modelProbes } from "./probes/models";
import { nativeMessagesPath } from "./probes/nativeMessagesPath";
import { ollamaProbes } from "./probes/ollama";
import { prefixReuse } from "./probes/prefixReuse";
import { responsesProbes } from "./probes/responses";
import { thinkingProbes } from "./probes/thinking";
import { version } from "./probes/version";
import { window } from "./probes/window";
import type {
  BridgeTarget,
  ChatUiTarget,
  InstanceATarget,
  MachineTarget,
  OllamaTarget,
  Target,
} from "./targets";

/** Probes of one kind of target, in the order in which they run: what others rest on comes first. */
interface Catalog {
  readonly "inference-server": readonly ServerProbe[];
  readonly bridge: readonly Probe<BridgeTarget>[];
  readonly "chat-ui": readonly Probe<ChatUiTarget>[];
  readonly "simple-server": readonly Probe<OllamaTarget>[];
  readonly harness: readonly Probe<HarnessTarget>[];
  readonly "harness-provider": readonly Probe<ProviderTarget>[];
  readonly machine: readonly Probe<MachineTarget>[];
  readonly "instance-a": readonly Probe<InstanceATarget>[];
}

const CATALOG: Catalog = {
  "inference-server": [
    health,
    version,
    ...modelProbes,
    completions,
    ...chatProbes,
    ...chatToolProbes,
    ...thinkingProbes,
    ...responsesProbes,
    ...messagesProbes,
    nativeMessagesPath,
    window,
    ...longPromptProbes,
    prefixReuse,
    kvCache,
  ],
  bridge: bridgeProbes,
  "chat-ui": chatUiProbes,
  "simple-server": ollamaProbes,
  harness: [harnessProfile, harnessJudge, harnessEmbedding],
  "harness-provider": harnessProviderProbes,
  // Memory counts after everything has served.
  machine: [containersProbe, ...clientFileProbes, memoryProbe],
  "instance-a": [instanceA],
};

/** Kinds in the order of a run. Instance A is last: it must be what it was before all the others. */
export const KINDS = Object.keys(CATALOG) as readonly (keyof Catalog)[];

/** What a kind of target is called where the plan has none. */
export const ABSENT: Readonly<Record<keyof Catalog, string>> = {
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
export function probesOf(kind: keyof Catalog): readonly Pick<Probe, "name" | "about">[] {
  return CATALOG[kind];
}

/** The probes of a target. A target's kind chooses the list that is typed for it, which TypeScript can't follow. */
export function probesFor(target: Target): readonly Probe[] {
  return CATALOG[target.kind] as readonly unknown[] as readonly Probe[];
}

/** Names of all probes, in the order in which they run. */
export function probeNames(): string[] {
  return KINDS.flatMap((kind) => probesOf(kind).map((probe) => probe.name));
}
