import type { MachinePlan } from "../plan";
import { answers, everyName, serversOn } from "../planned";
import { SIMPLE_SERVER } from "../planned/fields";
import type { StartVerdict } from "../program/machine";
import { serviceNamed } from "../services";
import { simpleServer } from "../services/simple-server";
import { longestText, type Step, stepsText } from "./downtime";

/** Something that clients had before an update, and lose for a while or for good. */
export interface Loss {
  /** Key of the server that they use, or name of the service or of the client itself. */
  readonly key: string;
  readonly what:
    | "gone"
    | "fails"
    | "stopped"
    | "removed"
    | "names"
    | "window"
    | "address"
    | "client"
    | "server";
  /** Names that it answers to. A loss of `names` lists only those that go. */
  readonly names: readonly string[];
  /**
   * Who uses it: clients, services, and on another machine `MACHINE.bridge`. With `names`, who uses the
   * server afterwards.
   */
  readonly users: readonly string[];
  /** Window in tokens, URL, or server. */
  readonly before?: string;
  readonly after?: string;
  /** For how long, where it is gone. */
  readonly steps?: readonly Step[];
  /** Minutes that `serving up` waits for running requests, where it waits for any. */
  readonly waitsMinutes?: number;
  /** Set where the new server may not start, so that nobody can tell for how long it is gone. */
  readonly mayNotStart?: true;
}

/** Ollama is restarted by systemd. */
const RESTART: Step = { what: "restarting", ...simpleServer.starts };

/** The part of a change that clients notice. */
interface Felt {
  readonly containers: readonly {
    readonly key: string;
    readonly kind: string;
    readonly steps: readonly Step[];
    readonly startsOnRequest?: true;
  }[];
  readonly ollama: string | null;
  readonly starts: Readonly<Record<string, { readonly after: StartVerdict | null }>>;
}

/**
 * Returns what the clients of one machine lose by a change. `machines` are all machines as they
 * were.
 */
export function lossesOf(
  before: MachinePlan,
  after: MachinePlan | undefined,
  { containers, ollama, starts }: Felt,
  machines: readonly MachinePlan[],
): Loss[] {
  const waitsMinutes = (after ?? before).waitForRequestsMinutes;
  const waits = (what: Loss["what"]) =>
    what === "gone" || what === "stopped" ? { waitsMinutes } : {};
  const loss: MakeLoss = (key, what, more = {}) => [
    {
      key,
      names: namesOf(before, key),
      users: usersOf(before, key, machines),
      what,
      ...waits(what),
      ...more,
    },
  ];
  const isRestarted = ollama === "restarted" && before.simpleServer.mode === "host";
  return [
    ...containers.flatMap(({ key, kind, steps, startsOnRequest }) => {
      // A worker has no API: its head goes with it.
      const isWorker = serversOn(before).some((server) => server.key === key && !answers(server));
      if (kind === "unchanged" || kind === "created" || isWorker) return [];
      if (kind === "removed") return loss(key, "removed");
      if (startsOnRequest) return loss(key, "stopped");
      const start = starts[key]?.after;
      return start === "cannot start"
        ? loss(key, "fails", { steps })
        : loss(key, "gone", start === "may start" ? { steps, mayNotStart: true } : { steps });
    }),
    ...(isRestarted ? loss(SIMPLE_SERVER, "gone", { steps: [RESTART] }) : []),
    ...before.inferenceServers.flatMap((server) => serverLosses(server, after, loss)),
    ...before.endpoints.flatMap((endpoint) => addressLosses(endpoint, after, loss)),
    ...before.clients.flatMap((client) => clientLosses(client, after)),
  ];
}

/** A client that is no longer set up, or whose requests another server answers. */
function clientLosses(
  { client, server }: MachinePlan["clients"][number],
  after: MachinePlan | undefined,
): Loss[] {
  const now = after?.clients.find((each) => each.client === client);
  const loss = { key: client, names: [], users: [] };
  if (now === undefined) return [{ ...loss, what: "client" }];
  return now.server === server
    ? []
    : [{ ...loss, what: "server", before: server, after: now.server }];
}

type MakeLoss = (key: string, what: Loss["what"], more?: Partial<Loss>) => Loss[];

/** Names that a server no longer answers to, and a window that shrinks. */
function serverLosses(
  { key, serve }: MachinePlan["inferenceServers"][number],
  after: MachinePlan | undefined,
  loss: MakeLoss,
): Loss[] {
  const now = after?.inferenceServers.find((each) => each.key === key)?.serve ?? serve;
  const kept = everyName(now);
  const names = everyName(serve).filter((name) => !kept.includes(name));
  const rewritten = after === undefined ? [] : usersOf(after, key, [after]);
  const windows = { before: `${serve.maxModelLen}`, after: `${now.maxModelLen}` };
  return [
    ...(names.length > 0 ? loss(key, "names", { names, users: rewritten }) : []),
    ...(now.maxModelLen < serve.maxModelLen ? loss(key, "window", windows) : []),
  ];
}

function addressLosses(
  { key, url, network }: MachinePlan["endpoints"][number],
  after: MachinePlan | undefined,
  loss: MakeLoss,
): Loss[] {
  const now = after?.endpoints.find((each) => each.key === key);
  if (now === undefined) return [];
  if (now.url !== url) return loss(key, "address", { before: url, after: now.url });
  // An endpoint that other computers could not reach before can't be lost.
  if (network === undefined || now.network === network) return [];
  const without = "no address for other computers";
  return loss(key, "address", { before: network, after: now.network ?? without });
}

function namesOf(plan: MachinePlan, key: string): readonly string[] {
  if (key === SIMPLE_SERVER && plan.simpleServer.mode !== "none") return plan.simpleServer.models;
  const serve = serversOn(plan).find((each) => each.key === key)?.serve;
  return serve === undefined ? [] : everyName(serve);
}

/** Returns who uses a server or service: on its machine, or behind another machine's bridge. */
function usersOf(plan: MachinePlan, key: string, machines: readonly MachinePlan[]): string[] {
  const { name, clients, services } = plan;
  const asks = (client: (typeof clients)[number]) =>
    key === "bridge" ? client.via === key : client.server === key;
  const asking = (all: MachinePlan["services"], server: string) =>
    all.filter(({ servers }) => servers.includes(server));
  return [
    ...clients.filter(asks).map(({ client }) => client),
    ...asking(services, key).map((service) => service.name),
    ...machines.flatMap((each) =>
      asking(each.services, `${name}.${key}`).map((service) => `${each.name}.${service.name}`),
    ),
  ];
}

/** Says for how long something is gone; `undefined` if it stays. */
function goneText({ key, what, steps = [], mayNotStart }: Loss): string | undefined {
  const said: Partial<Record<Loss["what"], string>> = {
    gone: mayNotStart
      ? "until the new server answers, and it may not start"
      : `for ${stepsText(steps)}`,
    fails: "until you go back: the new server can't start",
    stopped: `until \`serving start ${key}\`, if it is running`,
    removed: "for good",
  };
  return said[what];
}

/** What becomes of requests: an update waits for those that a server of ours counts. */
function requestsText({ key, waitsMinutes = 0 }: Loss): string {
  const service = serviceNamed(key);
  const isCounted = service === undefined ? key !== SIMPLE_SERVER : service.forwards === true;
  return isCounted && waitsMinutes > 0
    ? `\`serving up\` lets its requests end first; those that outlast ${waitsMinutes} min (\`waitForRequestsMinutes\`) are cut off.`
    : "Running requests are cut off.";
}

/** What asks by the right name afterwards, since `up` writes its files. */
const rewritten = (users: readonly string[]): string =>
  users.length === 0 ? "" : ` \`up\` rewrites what it set up itself: ${users.join(", ")}.`;

/** Says a loss in a few words; of one that isn't gone for a while as its sentence. */
export function lossInShort(loss: Loss): string {
  const { key, what, steps = [], mayNotStart } = loss;
  if (what === "gone" && !mayNotStart) return `${key} is gone for ${longestText(steps)}.`;
  const gone = goneText(loss);
  return gone === undefined ? lossText(loss) : `${key} is gone ${gone}.`;
}

/** Says a loss as a sentence. */
export function lossText(loss: Loss): string {
  const { key, what, names, users, before, after } = loss;
  const gone = `${names.length === 0 ? key : `${key} (${names.join(", ")})`} is gone ${goneText(loss)}.`;
  const said = {
    gone: `${gone} ${requestsText(loss)}`,
    fails: gone,
    stopped: `${gone} ${requestsText(loss)}`,
    removed: gone,
    names: `${key} no longer answers to ${names.join(", ")}: who asks for that gets an error.${rewritten(users)}`,
    window: `The window of ${key} shrinks from ${before} to ${after} tokens: longer prompts are refused.`,
    address: `${key} moves from ${before} to ${after}.`,
    client: `${key} is no longer set up: the files that \`up\` wrote for it are removed.`,
    server: `The requests of ${key} go to ${after} instead of ${before}.`,
  };
  const isTold = users.length === 0 || what === "names";
  return `${said[what]}${isTold ? "" : ` Used by ${users.join(", ")}.`}`;
}
