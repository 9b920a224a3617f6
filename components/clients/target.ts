import { isClosed, type Listening, originOf } from "@local-serving/machines/address";
import { everyName, PLACEHOLDER_KEY, type Upstream } from "../planned";

/** What a client needs to know of the bridge that it goes through. */
export interface BridgeReach extends Listening {
  readonly container: { readonly name: string };
  readonly names: readonly string[];
  readonly key: { readonly variable: string } | null;
}

/** Where a client goes, what it asks for and what its launcher makes sure of first. */
export interface ClientTarget {
  readonly server: Upstream;
  readonly via: "bridge" | "native";
  /** Scheme, host and port of what the client talks to; no path. */
  readonly origin: string;
  readonly baseUrl: string;
  readonly model: string;
  /** Window of the server in tokens, where it is known. */
  readonly window: number | undefined;
  /**
   * The variable that holds its key, and the value unless that is a secret, which only the
   * operator's shell knows.
   */
  readonly key: { readonly variable: string; readonly placeholder: string | undefined };
  /** Names that the client's counterpart answers to; empty where none is known. */
  readonly names: readonly string[];
  readonly checks: readonly Check[];
  /** What a start of the server adds to the time until a first byte, in ms; 0 where it runs. */
  readonly startMs: number;
  /**
   * Where the bridge tries the server, with the client's key. It is set if nobody but the bridge
   * can ask the server.
   */
  readonly triedAt: string | undefined;
}

/** Something that must answer before the client is started. */
export interface Check {
  readonly name: string;
  readonly url: string;
  readonly model: string;
  readonly container: string | undefined;
  /** Whether it gets the client's key: only the client's counterpart does. */
  readonly keyed: boolean;
  /** Whether it may be silent for a quarter of an hour and still be well. */
  readonly compiles: boolean;
}

const SERVER_NAMES: Record<Upstream["kind"], string> = {
  "inference-server": "the inference server",
  "instance-a": "instance A",
  "simple-server": "the simple server",
};

/** What answers for servers that it starts. */
const LLAMA_SWAP = "llama-swap";

const MS_PER_MINUTE = 60_000;

/** Puts together where a client goes, from its settings and from the servers of the machine. */
export function clientTarget(
  settings: { readonly via: "bridge" | "native"; readonly model?: string | undefined },
  server: Upstream,
  bridge: BridgeReach | null,
  clients: { readonly host?: string | undefined; readonly keyVariable: string },
): ClientTarget {
  const model = settings.model ?? server.names[0] ?? "";
  const through = settings.via === "native" ? null : bridge;
  const direct = originOf(server, clients.host);
  const origin = through === null ? direct : originOf(through, clients.host);
  // On loopback, or on a link, nobody but the machine could ask the server; llama-swap has a key of
  // its own.
  const hidden =
    through !== null && (server.onDemand ?? (clients.host !== undefined && isClosed(server)));
  const secret = through === null ? server.keyVariable : through.key?.variable;
  const ofServer: Check = {
    name: server.onDemand ? LLAMA_SWAP : SERVER_NAMES[server.kind],
    url: `${direct}/v1/models`,
    model,
    container: server.onDemand ? undefined : server.container,
    keyed: through === null,
    compiles: true,
  };
  const ofBridge = through === null ? [] : [bridgeCheck(through, origin, { model, direct })];
  return {
    server,
    via: through === null ? "native" : "bridge",
    origin,
    baseUrl: `${origin}/v1`,
    model,
    window: server.maxModelLen,
    key: keyOf(secret, clients.keyVariable),
    startMs: (server.startWithinMinutes ?? 0) * MS_PER_MINUTE,
    names: through === null ? everyName(server) : through.names,
    // The bridge answers even when its server does not.
    checks: [...(hidden ? [] : [ofServer]), ...ofBridge],
    // A try would start a server that isn't asked for yet.
    triedAt:
      hidden && !server.onDemand
        ? `${origin}/health?model=${encodeURIComponent(model)}`
        : undefined,
  };
}

const bridgeCheck = (
  { container }: BridgeReach,
  origin: string,
  { model, direct }: { readonly model: string; readonly direct: string },
): Check => ({
  name: "the bridge",
  url: `${origin}/v1/models`,
  model,
  container: container.name,
  keyed: true,
  compiles: origin === direct,
});

const keyOf = (secret: string | undefined, usual: string): ClientTarget["key"] =>
  secret === undefined
    ? { variable: usual, placeholder: PLACEHOLDER_KEY }
    : { variable: secret, placeholder: undefined };
