import { WrongUse } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { capital, listOf } from "@local-serving/base/faults/quoting";
import { NO_VLLM } from "../command/launch";
import { leftOutText } from "../command/notes";
import type { Launch } from "../command/started";
import { type LeftOut, reasonOf, refuseCommand, unlessRefused } from "../command/words";
import { serviceLeftOut } from "./companions";
import { compose } from "./compose";
import { dockerInspect } from "./inspect";
import type { FileServer, FoundService, PublishedKind } from "./kind";
import { kubernetes } from "./kubernetes";
import { liteLlm } from "./liteLlm";
import { llamaSwap } from "./llamaSwap";
import { quadlet } from "./quadlet";
import { sparkRecipe } from "./recipe";
import { shellScript } from "./shell";
import { type Published, publishedSource, type Source, withWritten } from "./source";
import { systemd } from "./systemd";
import { UNREAD_BY_FORM, UNREAD_BY_WORDS } from "./unreadKinds";
import { vllmConfig, withConfig } from "./vllmConfig";
import { vllmRecipe } from "./vllmRecipe";

/** Kinds of files that are told from a command by words of their own. */
const FILES: readonly PublishedKind[] = [
  ...UNREAD_BY_WORDS,
  dockerInspect,
  compose,
  kubernetes,
  liteLlm,
  llamaSwap,
  quadlet,
  systemd,
  vllmConfig,
  vllmRecipe,
  sparkRecipe,
];

/** The kind of a published text. */
const kindOf = (source: Source): PublishedKind =>
  [...FILES, ...UNREAD_BY_FORM].find((each) => each.looksLike(source)) ?? shellScript;

/** Whether a text is a file of one of these kinds, and no command, script or facts of a machine. */
export const isKnownFile = (published: Published): boolean =>
  FILES.includes(kindOf(publishedSource(published)));

/** A server of a published text that could be read. */
export interface PublishedServer extends Omit<FileServer, "launch" | "line"> {
  readonly start: Launch;
}

/** What a published text starts. */
export interface PublishedServers {
  /** What a person calls the text; absent for a command, a script or a recipe. */
  readonly kind?: string;
  readonly servers: readonly [PublishedServer, ...PublishedServer[]];
  /** Programs beside them that have a block of a stack file. */
  readonly services: readonly FoundService[];
  /** What else stands in it, with servers that can't be read. */
  readonly leftOut: readonly LeftOut[];
  readonly told: readonly string[];
}

/**
 * The servers that a published text starts: of a command, a script or a file of a known kind.
 * Refuses, in a sentence, what starts none, and what starts one or another unless `all` are wanted.
 */
export function readServers(published: Published, all = false): PublishedServers {
  const { kind, read, found } = readIn(published, all);
  if (found !== undefined) return found;
  for (const { text } of (read.documents ?? []).slice(0, MOST_DOCUMENTS)) {
    const inner = readIn({ ...published, text }, all).found;
    if (inner !== undefined) return inner;
  }
  if (read.none === undefined) return refuseCommand(NO_VLLM);
  const named = [...(read.leftOut ?? []), ...(read.services ?? []).map(serviceLeftOut)];
  return refuseCommand(`It is ${kind.kind}. ${read.none}`, ...alikeText(named).map(capital));
}

/** Most files that a script writes of which each is read. */
const MOST_DOCUMENTS = 20;

/** What is left out, where one reason is that of several said once. */
function alikeText(all: readonly LeftOut[]): readonly string[] {
  const byReason = new Map<string, readonly LeftOut[]>();
  for (const each of all) byReason.set(each.why, [...(byReason.get(each.why) ?? []), each]);
  return [...byReason].map(([why, those]) =>
    leftOutText({
      what: listOf(those.map(({ what }) => what)),
      why: those.length > 1 ? why.replace(/^it (?=\w+s\b)/, "each ") : why,
      lines: those.flatMap(({ line }) => line ?? []),
    }),
  );
}

/** The first server that a published text starts; the others are named. */
export function readPublished(published: Published): Launch {
  const read = readServers(published);
  const [first, ...others] = read.servers;
  const named: LeftOut[] = [
    ...others.map((each) => ({ what: each.name, why: ONE_SERVER })),
    ...read.services.map(serviceLeftOut),
  ];
  return asServerB(first, { ...read, leftOut: [...named, ...read.leftOut] });
}

/** The start of the only server of a text, with all that is said of the text. */
export function asServerB(
  { name, start }: PublishedServer,
  { kind, leftOut, told }: Omit<PublishedServers, "servers" | "services">,
  key = "b",
): Launch {
  const readAs = kind === undefined ? [] : [`${readAsText(kind)} ${serverCalled(key)} is ${name}.`];
  return {
    ...start,
    leftOut: [...start.leftOut, ...leftOut],
    told: [...readAs, ...(start.told ?? []), ...told],
  };
}

/** What people call a server by its key. */
export const serverCalled = (key: string): string => (key === "b" ? "server B" : `\`${key}\``);

const ONE_SERVER = "one server is judged at a time: give this one alone.";

/** How a person is told what a file was taken for. */
export const readAsText = (kind: string): string => `It is read as ${kind}:`;

/** A published text by its kind, with its servers, if it has one. */
function readIn(published: Published, all: boolean) {
  const source = publishedSource(published);
  const kind = kindOf(source);
  const read = kind.servers(source);
  if (read.servers.length > 1 && read.choice !== undefined && !all)
    refuseCommand(`It is ${kind.kind} ${read.choice}`);
  const files = [...(read.documents ?? []), ...(read.files ?? [])];
  const { servers, leftOut } = startsOf(read.servers, withWritten(source, files));
  const [first, ...others] = servers;
  const found: PublishedServers | undefined = first && {
    ...defined({ kind: kind === shellScript || kind === sparkRecipe ? undefined : kind.kind }),
    servers: [first, ...others],
    services: read.services ?? [],
    leftOut: [...leftOut, ...(read.leftOut ?? []), ...source.leftOut],
    told: read.told ?? [],
  };
  return { kind, read, found };
}

/** The starts of a file's servers. One that can't be read is left out, unless none can. */
function startsOf(all: readonly FileServer[], source: Source) {
  const servers: PublishedServer[] = [];
  const leftOut: LeftOut[] = [];
  const faults: WrongUse[] = [];
  const { lineOf } = source;
  for (const { launch, line, ...server } of all.slice(0, MOST_READ)) {
    const start = unlessRefused(() => withConfig(launch(), source));
    if (!(start instanceof WrongUse))
      servers.push({
        ...server,
        start: { ...start, ...defined({ line: line ?? start.line }), lineOf },
      });
    else {
      faults.push(start);
      leftOut.push({ what: server.name, why: reasonOf(start, server.name) });
    }
  }
  const [fault] = faults;
  if (servers.length === 0 && fault !== undefined) throw fault;
  const more = all.slice(MOST_READ).map(({ name }) => ({ what: name, why: NOT_READ }));
  return { servers, leftOut: [...leftOut, ...more] };
}

/** A few more than are written: some fall out, and each takes its time. */
const MOST_READ = 16;

const NOT_READ = `only the first ${MOST_READ} servers of a file are read: give this one alone.`;
