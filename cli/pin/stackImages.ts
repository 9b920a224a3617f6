import { Failed } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { orInputFault } from "@local-serving/base/faults/fault";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { type EngineChanges, engineLines, serverEngineChanges } from "../plan/engineChanges";
import { readStack } from "../stack/readStack";
import { applyEdits } from "../stackEdit/applyEdits";
import { packageOf, releaseRefusal } from "./judgeImage";
import { answerOrFailed, Registry } from "./registry";
import { newerTags, tagRelease } from "./tagRelease";
import { entryName, type ImageEntry } from "./writePin";

/** Newer releases that are shown of an image. */
const MOST_SHOWN = 6;

/** A release that is newer than the one that an entry runs. */
interface NewerImage {
  readonly tag: string;
  readonly version: string;
  /** As a stack file names it. */
  readonly image: string;
  readonly refused?: string;
}

/** What a registry says of newer releases of an entry's image. */
interface NewerImages {
  readonly entry: string;
  readonly image: string;
  readonly newer: readonly NewerImage[];
  readonly more: number;
  readonly problem?: string;
}

/** The same, with what the newest one's vLLM makes of the arguments of a server that runs it. */
interface NewerWithEngine extends NewerImages {
  readonly engine?: EngineChanges;
}

/**
 * Asks the registry of an entry's image for newer releases, the newest first, each with the image
 * as a stack file names it and why it must not be taken, as far as its version tells. `more` counts
 * those beyond; `problem`: why nothing is known.
 */
export async function newerImages(entry: ImageEntry): Promise<NewerImages> {
  const of = { entry: entryName(entry), image: entry.image };
  const none = { ...of, newer: [], more: 0 };
  const { repository, tag } = imageReference(entry.image) ?? {};
  if (repository === undefined)
    return { ...none, problem: `\`${entry.image}\` is no image of a registry.` };
  if (tag === undefined || tagRelease(tag) === undefined) {
    const named = tag === undefined ? "It has no tag" : `\`${tag}\` is not a release`;
    const problem = `${named}, so nothing is newer: pin a release with \`serving pin ${repository}:TAG --write\`.`;
    return { ...none, problem };
  }
  const registry = new Registry(repository);
  const imageOf = async (found: { readonly tag: string; readonly version: string }) => ({
    ...found,
    image: `${repository}:${found.tag}@${await registry.digest(found.tag)}`,
    ...defined({ refused: releaseRefusal(entry, found.tag) }),
  });
  const answer = await answerOrFailed(
    registry.tags().then(async (tags) => {
      const found = newerTags(tag, tags);
      const newer = await Promise.all(found.slice(0, MOST_SHOWN).map(imageOf));
      return { newer, more: found.length - newer.length };
    }),
  );
  return answer instanceof Failed ? { ...none, problem: answer.message } : { ...of, ...answer };
}

/** The newest release that nothing refuses, as far as its version tells. */
export const newestAllowed = ({ newer }: NewerImages) =>
  newer.find(({ refused }) => refused === undefined);

/**
 * Asks for newer releases of an entry's image, and looks up what the newest that may run makes of
 * the server's arguments: its tag tells its vLLM. Nothing is looked up where the stack file can't be
 * planned.
 */
export async function newerForStack(file: string, entry: ImageEntry): Promise<NewerWithEngine> {
  const newer = await newerImages(entry);
  const best = newestAllowed(newer);
  if (best === undefined || packageOf(entry)?.name !== "vllm") return newer;
  const engine = orInputFault(() => engineWith(file, entry, best.image));
  return engine instanceof Error ? newer : { ...newer, ...defined({ engine }) };
}

/** What another image's vLLM makes of the arguments of the server that gets it. */
function engineWith(file: string, { machine, path }: ImageEntry, image: string) {
  const now = readStack(file);
  const edit = { path: ["machines", machine, ...path, "image"], value: image };
  const edited = readStack(file, applyEdits(now.text, [edit]));
  return serverEngineChanges(now.plan.machines, edited.plan.machines).find(
    (each) => each.machine === machine && each.key === path.at(-1),
  );
}

/**
 * What people read of the newer releases, with the command that takes the newest one that may run.
 */
export function newerText(found: readonly NewerWithEngine[], stackOptions: string): string {
  const [nameOf, digestOf] = [
    (image: string) => image.replace(/@.*/, ""),
    (image: string) => image.replace(/.*@/, ""),
  ];
  const lines = found.flatMap((each) => {
    const { entry, image, newer, more, problem, engine } = each;
    const best = newestAllowed(each);
    return [
      `${entry} runs ${nameOf(image)}.`,
      ...(newer.length > 0 ? [] : [`  ${problem ?? "No newer release."}`]),
      ...newer.flatMap((each) => [
        `  ${each.tag}  ${digestOf(each.image)}`,
        ...(each.refused === undefined ? [] : [`    refused: ${each.refused}`]),
      ]),
      ...(more > 0 ? [`  and ${more} older ones`] : []),
      ...(engine === undefined
        ? []
        : [
            `  What vLLM ${engine.version} makes of its arguments:`,
            ...engineLines(engine).map((line) => `    ${line}`),
          ]),
      ...(best
        ? [`  Take it: serving pin ${nameOf(best.image)} --write --entry ${entry}${stackOptions}`]
        : []),
    ];
  });
  return lines.join("\n");
}
