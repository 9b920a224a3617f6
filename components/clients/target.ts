import type { BridgePlan } from "../bridge/plannedBridge";
import { originOf } from "../planned/reach";
import { PLACEHOLDER_KEY, type Upstream } from "../planned/upstream";
import type { ReachSettings } from "../settings/clients";

/** Where a client goes, what it asks for and what its launcher makes sure of first. */
export interface ClientTarget {
  readonly server: Upstream;
  readonly via: "bridge" | "native";
  /** Scheme, host and port of what the client talks to; no path. */
  readonly origin: string;
  readonly model: string;
  /** Window of the server in tokens, where it is known. */
  readonly window: number | undefined;
  readonly key: ClientKey;
  /** Names that what the client talks to answers to; empty where none is known. */
  readonly names: readonly string[];
  readonly checks: readonly Check[];
}

/** The variable that holds a client's key, and what it is where it is no secret. */
export interface ClientKey {
  readonly variable: string;
  /** `undefined` when the value is a secret, which only the operator's shell knows. */
  readonly placeholder: string | undefined;
}

/** Something that must answer before the client is started. */
export interface Check {
  readonly name: string;
  readonly url: string;
  readonly model: string;
  readonly container: string | undefined;
  /** Whether it gets the client's key: only what the client itself talks to does. */
  readonly keyed: boolean;
  /** Whether it may be silent for a quarter of an hour and still be well. */
  readonly compiles: boolean;
}

/** Puts together where a client goes, from its settings and what is on the machine. */
export function clientTarget(
  settings: ReachSettings,
  server: Upstream,
  bridge: BridgePlan | null,
  clients: { readonly host?: string | undefined; readonly keyVariable: string },
): ClientTarget {
  const model = settings.model ?? server.names[0] ?? "";
  const native = settings.via === "native" || bridge === null;
  const direct = originOf(server, clients.host);
  const check = {
    name: nameOf(server),
    url: `${direct}/v1/models`,
    model,
    container: server.container,
    keyed: native,
    compiles: true,
  };
  const placeholder = { variable: clients.keyVariable, placeholder: PLACEHOLDER_KEY };
  const common = { server, model, window: server.maxModelLen };
  if (native)
    return {
      ...common,
      via: "native",
      origin: direct,
      key: placeholder,
      names: server.names,
      checks: [check],
    };
  const origin = originOf(bridge, clients.host);
  return {
    ...common,
    via: "bridge",
    origin,
    key: bridge.key === null ? placeholder : { variable: bridge.key.variable, placeholder: undefined },
    names: bridge.names,
    // The bridge answers even when nothing is behind it.
    checks: [
      check,
      {
        name: "the bridge",
        url: `${origin}/v1/models`,
        model,
        container: bridge.container.name,
        keyed: true,
        compiles: false,
      },
    ],
  };
}

function nameOf(server: Upstream): string {
  const names = {
    "inference-server": "the inference server",
    "instance-a": "instance A",
    "simple-server": "the simple server",
  };
  return names[server.kind];
}
