import { type MachinePlan, serversOn } from "../plan/types";
import { SIMPLE_SERVER } from "../planned/fields";
import { stepsText } from "./downtime";
import type { ContainerChange, Loss, Step } from "./types";

/** Ollama is restarted by systemd. */
const RESTART: Step = { what: "restarting", least: 1, most: 20, source: "Ollama takes one or two seconds to listen" };

/** What of a change clients feel. */
interface Felt {
  readonly containers: readonly ContainerChange[];
  readonly ollama: string | null;
  readonly kv: Readonly<Record<string, { readonly after: { readonly fits: { readonly most: boolean } } | null }>>;
}

/** What the clients of one machine lose by a change; `machines` are all as they were. */
export function lossesOf(
  before: MachinePlan,
  after: MachinePlan | undefined,
  { containers, ollama, kv }: Felt,
  machines: readonly MachinePlan[],
): Loss[] {
  const { inferenceServers, ranks, endpoints, simpleServer } = before;
  const of = (key: string) => ({ key, names: namesOf(before, key), users: usersOf(before, key, machines) });
  const restarts = ollama === "restarted" && simpleServer.mode === "host";
  return [
    ...containers.flatMap(({ key, kind, steps }): Loss[] => {
      // A worker has no API: its head goes with it.
      if (kind === "unchanged" || kind === "created" || ranks.some((rank) => rank.key === key)) return [];
      if (kind === "removed") return [{ ...of(key), what: "removed" }];
      return [{ ...of(key), what: kv[key]?.after?.fits.most === false ? "fails" : "gone", steps }];
    }),
    ...(restarts ? [{ ...of(SIMPLE_SERVER), what: "gone", steps: [RESTART] } as const] : []),
    ...inferenceServers.flatMap(({ key, serve }): Loss[] => {
      const now = after?.inferenceServers.find((each) => each.key === key)?.serve ?? serve;
      const names = serve.names.filter((name) => !now.names.includes(name));
      const windows = { before: `${serve.maxModelLen}`, after: `${now.maxModelLen}` };
      return [
        ...(names.length > 0 ? [{ ...of(key), what: "names", names } as const] : []),
        ...(now.maxModelLen < serve.maxModelLen ? [{ ...of(key), what: "window", ...windows } as const] : []),
      ];
    }),
    ...endpoints.flatMap(({ key, url, network = "no address for other computers" }): Loss[] => {
      const now = after?.endpoints.find((each) => each.key === key);
      if (now === undefined) return [];
      if (now.url !== url) return [{ ...of(key), what: "address", before: url, after: now.url }];
      const next = now.network ?? "no address for other computers";
      return next === network ? [] : [{ ...of(key), what: "address", before: network, after: next }];
    }),
  ];
}

function namesOf(plan: MachinePlan, key: string): readonly string[] {
  if (key === SIMPLE_SERVER && plan.simpleServer.mode !== "none") return plan.simpleServer.models;
  return serversOn(plan).find((each) => each.key === key)?.serve.names ?? [];
}

/** Who on a machine, or behind a bridge of another one, uses something there. */
function usersOf(plan: MachinePlan, key: string, machines: readonly MachinePlan[]): string[] {
  const { name, clients, bridge, chatUi } = plan;
  const asks = (client: (typeof clients)[number]) => (key === "bridge" ? client.via === key : client.server === key);
  return [
    ...clients.filter(asks).map(({ client }) => client),
    ...(bridge?.servers.includes(key) ? ["bridge"] : []),
    ...(chatUi?.servers.includes(key) ? ["chat-ui"] : []),
    ...machines.filter((each) => each.bridge?.servers.includes(`${name}.${key}`)).map((each) => `${each.name}.bridge`),
  ];
}

/** For how long something is gone; `undefined` where it isn't. */
export function goneText({ what, steps = [] }: Loss): string | undefined {
  const said = {
    gone: `for ${stepsText(steps)}`,
    fails: "until you go back: the new one would not start",
    removed: "for good",
  };
  return what in said ? said[what as keyof typeof said] : undefined;
}

/** A loss as a sentence. */
export function lossText(loss: Loss): string {
  const { key, what, names, users, before, after } = loss;
  const gone = `${names.length === 0 ? key : `${key} (${names.join(", ")})`} is gone ${goneText(loss)}.`;
  const said = {
    gone: `${gone} Requests that run are cut off.`,
    fails: gone,
    removed: gone,
    names: `${key} no longer answers to ${names.join(", ")}.`,
    window: `The window of ${key} shrinks from ${before} to ${after} tokens: longer prompts are refused.`,
    address: `${key} moves from ${before} to ${after}.`,
  };
  return `${said[what]}${users.length === 0 ? "" : ` Used by ${users.join(", ")}.`}`;
}
