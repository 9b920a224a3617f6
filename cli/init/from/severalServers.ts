import { WrongUse } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { INSTANCE_A, SIMPLE_SERVER } from "../../../components/planned/fields";
import type { HostFacts } from "../../sees/computer/facts";
import type { OneMachine } from "../../stack/readStack";
import { pageFromProject } from "../../stack/stackFile";
import { type CommandServer, commandServer, glanceAt } from "../command/fromCommand";
import { leftOutText } from "../command/notes";
import { type LeftOut, reasonOf, unlessRefused } from "../command/words";
import type { Place } from "../offers";
import type { Wanted, WantedServer } from "../settings";
import {
  asServerB,
  type PublishedServer,
  type PublishedServers,
  readAsText,
  serverCalled,
} from "./published";
import { servicesBeside } from "./servicesBeside";

/** What servers are made for. */
export interface Around {
  readonly facts: HostFacts;
  readonly base: Wanted;
  readonly place: Place;
}

/** A server that was made, by its key in the stack file. */
interface Made {
  readonly key: string;
  readonly name: string;
  readonly server: CommandServer;
}

/**
 * Server B of a published text, with each further server and service of it. What a stack file can't
 * have is left out with the reason, unless no server can be had.
 */
export function commandServers(read: PublishedServers, around: Around): CommandServer {
  const [only, ...more] = read.servers;
  const { facts, base, place } = around;
  const servers =
    more.length === 0
      ? commandServer(asServerB(only, read, base.key), facts, base, place)
      : several(read, around);
  return read.services.length === 0 ? servers : withServices(servers, read.services, around);
}

/** Servers with the services beside them. */
function withServices(
  made: CommandServer,
  services: PublishedServers["services"],
  { facts, base }: Around,
): CommandServer {
  const { takenOver, told, leftOut } = servicesBeside(services, facts, { ...base, ...made.server });
  const allLeft = [...made.told.leftOut, ...leftOut];
  return {
    ...made,
    server: { ...made.server, takenOver, leftOut: allLeft.map(leftOutText) },
    told: { ...made.told, leftOut: allLeft, chosen: [...made.told.chosen, ...told] },
  };
}

/** Server B with each further server beside it. */
function several(read: PublishedServers, around: Around): CommandServer {
  const made: Made[] = [];
  const failed: LeftOut[] = [];
  const refused: WrongUse[] = [];
  for (const each of together(read.servers, around.place)) {
    if (made.length === MOST_SERVERS) {
      failed.push({ what: each.name, why: TOO_MANY });
      continue;
    }
    const found = oneMore(each, made, around);
    if (!(found instanceof WrongUse)) made.push(found);
    else {
      refused.push(found);
      const { line } = each.start;
      failed.push({ what: each.name, why: reasonOf(found, each.name), ...defined({ line }) });
    }
  }
  const [first, ...others] = made;
  if (first === undefined) throw refused[0] ?? new Error("a text without servers is refused");
  return joined(read, [first, ...others], failed);
}

/** As many servers as may start on request on one machine. */
const MOST_SERVERS = 12;

const TOO_MANY = `a stack file is written with ${MOST_SERVERS} servers at most.`;

/**
 * Servers in the order of the stack file: one that writes text comes first, since clients use it.
 * What ran only where somebody asked for it, or instead of another one, starts on request.
 */
function together(all: readonly PublishedServer[], place: Place): readonly PublishedServer[] {
  const seen = all.map((server) => {
    const glance = unlessRefused(() => glanceAt(server.start, place));
    return { server, ...(glance instanceof WrongUse ? UNREAD : glance) };
  });
  const first = Math.max(
    0,
    seen.findIndex(({ isPooling }) => !isPooling),
  );
  const ordered = [...seen.slice(first, first + 1), ...seen.toSpliced(first, 1)];
  return ordered.map(({ server, port }) => {
    const alike = seen.filter(
      (each) => port !== undefined && each.port === port && each.server.isAsked !== true,
    );
    const why = server.isAsked ? ASKED : alike.length > 1 ? ONE_PORT : undefined;
    return why === undefined ? server : onRequest(server, why);
  });
}

/** What can't be read is no server that clients could use. */
const UNREAD = { isPooling: true, port: undefined };

const ASKED = "judged: its file starts it only where somebody asks for it";
const ONE_PORT = "judged: another one has its port, so that one of them ran at a time";

function onRequest(server: PublishedServer, why: string): PublishedServer {
  const { start } = server;
  const values = start.values ?? [];
  if (values.some(({ path }) => path[0] === "start")) return server;
  const value = { path: ["start"], value: "onRequest", why };
  return { ...server, start: { ...start, values: [...values, value] } };
}

/** One more server beside those that were made, or why there can't be one. */
function oneMore(
  { name, called, start }: PublishedServer,
  made: readonly Made[],
  { facts, base, place }: Around,
): Made | WrongUse {
  const beside = made.map(asWanted);
  const key = beside.length === 0 ? (base.key ?? "b") : keyFor(called, keysTaken(beside, base));
  // Clients use the first one alone.
  const wanted = { ...base, key, ...(beside.length === 0 ? {} : { beside, clients: [] }) };
  return unlessRefused(() => {
    return { key, name, server: commandServer(start, facts, wanted, place) };
  });
}

const asWanted = ({ key, server: { server } }: Made): WantedServer => ({
  key,
  values: server.server,
  image: server.image,
  port: server.port,
});

/** Keys that no further server can have. */
const keysTaken = (beside: readonly WantedServer[], { into }: Wanted): readonly string[] => [
  ...beside.map(({ key }) => key),
  ...Object.keys(into?.settings.inferenceServers ?? {}),
  ...[INSTANCE_A, SIMPLE_SERVER, "b"],
];

/** The key of a server in a stack file that has another one already: the next free letter. */
export const nextKey = (into: OneMachine): string =>
  Object.keys(into.settings.inferenceServers).includes("b")
    ? keyFor("", keysTaken([], { name: "", clients: [], into }))
    : "b";

/** The key of a server beside the first: it is called as its file calls it, if it can be. */
function keyFor(called: string | undefined, taken: readonly string[]): string {
  const name = (called ?? "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 31)
    .replace(/-+$/, "");
  // A word that every object has is no key.
  const own = name === "" || name in {} ? [] : [name];
  const names = [...own, ...[..."cdefghijklmnopqrstuvwxyz"]];
  return names.find((each) => !taken.includes(each)) ?? "c";
}

/** The servers of a text as one answer: what is the same of several is said once, with their keys. */
function joined(
  { kind, leftOut, told }: PublishedServers,
  [first, ...others]: readonly [Made, ...Made[]],
  failed: readonly LeftOut[],
): CommandServer {
  const all = [first, ...others];
  const allLeft = [...leftOutOf(all), ...leftOut, ...failed];
  const texts = (of: (server: CommandServer) => readonly string[]) =>
    ofSeveral(all, of, (text) => text).map(({ keys, item }) => `${keys}${item}`);
  const modelCache = all.flatMap(({ server }) => server.server.modelCache ?? [])[0];
  return {
    ...first.server,
    server: {
      ...first.server.server,
      key: first.key,
      beside: others.map(asWanted),
      leftOut: allLeft.map(leftOutText),
      ...(modelCache === undefined ? {} : { modelCache }),
    },
    told: {
      leftOut: allLeft,
      setHere: [...new Set(all.flatMap(({ server }) => server.told.setHere))],
      chosen: [
        ...namesText(kind, all),
        ...texts(({ told: { chosen } }) => chosen),
        ...told,
        ...onRequestText(all),
      ],
    },
    mend: texts(({ mend }) => mend),
  };
}

/** What is left out of the servers, each once with all of its lines. */
function leftOutOf(all: readonly Made[]): LeftOut[] {
  const withoutLine = ({ what, why }: LeftOut) => leftOutText({ what, why });
  const found = ofSeveral(all, ({ told: { leftOut } }) => leftOut, withoutLine);
  return found.map(({ keys, item: { what, why }, items }) => {
    const lines = [...new Set(items.flatMap(({ line }) => line ?? []))];
    return { what: `${keys}${what}`, why, ...(lines.length === 0 ? {} : { lines }) };
  });
}

/** What is said of servers, each once with the keys that it is said of; of all of them, without. */
function ofSeveral<Item>(
  made: readonly Made[],
  of: (server: CommandServer) => readonly Item[],
  textOf: (item: Item) => string,
): readonly { readonly keys: string; readonly item: Item; readonly items: readonly Item[] }[] {
  const found = new Map<string, { readonly items: Item[]; readonly keys: Set<string> }>();
  for (const { key, server } of made)
    for (const item of of(server)) {
      const text = textOf(item);
      const { items, keys } = found.get(text) ?? { items: [], keys: new Set<string>() };
      items.push(item);
      found.set(text, { items, keys: keys.add(key) });
    }
  return [...found.values()].flatMap(({ items, keys }) =>
    items.slice(0, 1).map((item) => ({
      item,
      items,
      keys: keys.size === made.length ? "" : `${[...keys].join(", ")}: `,
    })),
  );
}

/** Which server of the stack file is which of the text. */
function namesText(kind: string | undefined, made: readonly Made[]): string[] {
  const names = made.map(({ key, name }) => `${serverCalled(key)} is ${name}`);
  const start = kind === undefined ? "It starts several servers:" : readAsText(kind);
  return [`${start} ${names.join(", ")}.`];
}

/** How servers that start on request are started. */
function onRequestText(made: readonly Made[]): string[] {
  const keys = made.flatMap(({ key, server: { server } }) =>
    server.server.some(({ path }) => path[0] === "start") ? [key] : [],
  );
  return keys.length === 0
    ? []
    : [
        `\`serving start ${keys[0]}\` starts a server with \`start: onRequest\` (${keys.join(", ")}) if it fits beside what runs. With \`onDemand\` a request starts it: ${pageFromProject("docs/guide/models-on-demand.md")}.`,
      ];
}
