import { capital } from "../../../faults/quoting";
import { type Launch, NO_VLLM } from "../command/launch";
import { leftOutText } from "../command/notes";
import { type LeftOut, refuseCommand } from "../command/words";
import { compose } from "./compose";
import { dockerInspect } from "./inspect";
import type { FileRead, FileServer, PublishedKind } from "./kind";
import { kubernetes } from "./kubernetes";
import { liteLlm } from "./liteLlm";
import { llamaSwap } from "./llamaSwap";
import { quadlet } from "./quadlet";
import { sparkRecipe } from "./recipe";
import { shellScript } from "./shell";
import { type Published, publishedSource, type Source } from "./source";
import { systemd } from "./systemd";
import { vllmConfig, withConfig } from "./vllmConfig";

/** Kinds of files that are told from a command by what stands in them. */
const FILES: readonly PublishedKind[] = [
  dockerInspect,
  compose,
  kubernetes,
  liteLlm,
  llamaSwap,
  quadlet,
  systemd,
  vllmConfig,
  sparkRecipe,
];

/** The kind of a published text. */
const kindOf = (source: Source): PublishedKind =>
  FILES.find((each) => each.looksLike(source)) ?? shellScript;

/** Whether a text is a file of one of these kinds, and no command or script. */
export const isKnownFile = (published: Published): boolean =>
  kindOf(publishedSource(published)) !== shellScript;

/**
 * The server that a published text starts: of a command, a script or a file of a known kind.
 * Refuses, in a sentence, what starts none.
 */
export function readPublished(published: Published): Launch {
  const { source, kind, read, launch } = readIn(published);
  if (launch !== undefined) return withConfig(launch, source);
  const [inner] = (read.documents ?? []).flatMap(
    (text) => readIn({ ...published, text }).launch ?? [],
  );
  if (inner !== undefined) return inner;
  if (read.none === undefined) return refuseCommand(NO_VLLM);
  const others = (read.leftOut ?? []).slice(0, MOST_NAMED).map(leftOutText);
  return refuseCommand(`It is ${kind.kind}. ${read.none}`, ...others.map(capital));
}

/** Most parts of a file without a server that are named. */
const MOST_NAMED = 5;

/** A published text by its kind, with the start of its first server, if it has one. */
function readIn(published: Published) {
  const source = publishedSource(published);
  const kind = kindOf(source);
  const read = kind.servers(source);
  const [server, ...others] = read.servers;
  const launch = server && launchOf(kind, read, [server, ...others]);
  return { source, kind, read, launch };
}

/** The first server of a file, with what is said of the file. */
function launchOf(
  kind: PublishedKind,
  read: FileRead,
  [server, ...others]: [FileServer, ...FileServer[]],
): Launch {
  const launch = server.launch();
  const leftOut: LeftOut[] = others.map(({ name }) => ({ what: name, why: ONE_SERVER }));
  const told =
    kind === shellScript || kind === sparkRecipe
      ? []
      : [`It is read as ${kind.kind}: server B is ${server.name}.`];
  return {
    ...launch,
    leftOut: [...launch.leftOut, ...leftOut, ...(read.leftOut ?? [])],
    told: [...told, ...(launch.told ?? []), ...(read.told ?? [])],
  };
}

const ONE_SERVER =
  "a file that is written has one server: `serving init --name OTHER` with this one alone writes another, whose `inferenceServers` entry can be copied over.";
