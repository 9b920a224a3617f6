import { readCatalogue } from "../../components/catalogue/readCatalogue";
import { TYPE } from "../../components/planned/type";
import { atLeast, isVersion, lowestAllowed, whyRefused } from "../../components/supply/releases";
import { judge } from "../../policies/judge";
import { packageOf } from "../../policies/lib/imageReference";
import { projectFolder } from "../stack/stackFile";
import type { ImageEntry } from "./writePin";

/** Rules that judge an image by itself; the others need to know the machine. */
const IMAGE_RULES = ["inference-image", "moving-tag", "deny-list", "transformers-range"];

/** Judges an image by the same rules that judge a stack, as if a server ran it, and by what its model needs. */
export function judgeImage(
  { image, digest, versions }: Required<Pick<ImageEntry, "image" | "versions">> & { readonly digest: string },
  model?: string,
) {
  const container = { name: image, image, entrypoints: [], command: [], envs: [] };
  const record = { image, digest, versions, evidence: versions.evidence ?? "read", source: "serving pin" };
  const verdicts = judge([
    { type: TYPE.container, name: "image", props: container },
    { type: TYPE.imageRecord, name: "image-record", props: record },
  ]).filter((each) => IMAGE_RULES.includes(each.name) && each.verdict !== "pass");
  const tooOld = belowModel(versions.vllm, model);
  const isRefused = tooOld !== undefined || verdicts.some((each) => each.verdict === "refused");
  const verdict = isRefused ? "refused" : verdicts.length > 0 ? "warned" : "pass";
  return { verdict, reasons: [...verdicts.map((each) => each.message), ...(tooOld ?? [])] } as const;
}

/** Why a release of an image must not be taken, as far as its version alone tells; `undefined` where nothing does. */
export function releaseRefusal(image: string, version: string, model?: string): string | undefined {
  const name = packageOf(image);
  if (name === undefined) return undefined;
  const lowest = lowestAllowed(name);
  const tooLow = atLeast(version, lowest) ? undefined : `it is below ${lowest}, the lowest that may run`;
  return whyRefused(name, version) ?? tooLow ?? belowModel(version, model)?.[0];
}

/** Why a server's vLLM is too old for its model, by the catalogue; `undefined` where it isn't. */
function belowModel(version: string | undefined, model: string | undefined): [string] | undefined {
  if (version === undefined || model === undefined || !isVersion(version)) return undefined;
  const least = readCatalogue(projectFolder()).find(({ id }) => id === model)?.minimumVllm;
  if (least === undefined || atLeast(version, least)) return undefined;
  return [`${model} needs vLLM ${least} or newer, by the catalogue.`];
}
