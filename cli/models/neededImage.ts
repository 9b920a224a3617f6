import { imageReference, pathOf } from "@local-serving/machines/docker/imageReference";
import { gte, valid } from "@renovatebot/pep440";
import { type Recipe, sourceOf } from "../../components/catalogue";
import type { InferenceServerSettings } from "../../components/settings";
import { taggedVersion, vllmOf } from "../../components/supply";

/** An image that a model needs in place of its server's. */
export interface NeededImage {
  readonly repository: string;
  /** The image as the recipe names it, where that is more than a repository. */
  readonly image?: string;
  /** A sentence: what the server's own image lacks, and who says so. */
  readonly why: string;
}

/** The image that a model needs in place of its server's; `undefined` where that one will do. */
export function neededImage(
  recipe: Recipe,
  server: InferenceServerSettings,
): NeededImage | undefined {
  const { image, minimumVllm: least } = recipe;
  const own = repositoryOf(server.image);
  const repository = image === undefined ? own : repositoryOf(image);
  const named = image === undefined || image === repository ? {} : { image };
  // A mirror keeps the path.
  if (pathOf(repository) !== pathOf(own))
    return {
      repository,
      ...named,
      why: `Its recipe needs an image of ${repository}${whoSays(recipe, "image")}.`,
    };
  const reference = imageReference(server.image);
  const has = vllmOf(server) ?? (reference && taggedVersion("vllm", reference));
  const isOlder = has !== undefined && valid(has) !== null && least && !gte(has, least);
  if (!isOlder) return undefined;
  const why = `It needs vLLM ${least} or newer${whoSays(recipe, "minimumVllm")}; the server's image has ${has}.`;
  return { repository: own, ...named, why };
}

const repositoryOf = (image: string) => imageReference(image)?.repository ?? image;

function whoSays(recipe: Recipe, value: "image" | "minimumVllm"): string {
  const from = sourceOf(recipe, value);
  return from === undefined ? "" : ` (${from.basis}: ${from.source}, ${from.date})`;
}
