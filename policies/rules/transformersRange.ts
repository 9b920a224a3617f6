import { satisfies } from "@renovatebot/pep440";
import { TYPE } from "../../components/planned/type";
import { imageRecord } from "../lib/imageRecord";
import { isVersion, series } from "../lib/versions";
import { advice, type Rule } from "./rule";

/** The transformers releases that each vLLM series asks for (metadata of its wheels on PyPI). */
const TRANSFORMERS_RANGES: ReadonlyMap<string, string> = new Map([
  ["0.26", ">=5.5.3"],
  ["0.27", ">=5.5.3"],
  ["0.28", ">=5.5.3"],
  ["0.29", ">=5.10.4"],
  ["0.30", ">=5.10.4"],
  ["0.31", ">=5.10.4,<5.18"],
  ["0.32", ">=5.16.1,<5.20"],
  ["0.33", ">=5.16.1,<5.21"],
]);

/** The transformers library of an image suits its vLLM: the ceiling goes with the release, it is never one number. */
export const transformersRange: Rule = {
  name: "transformers-range",
  description: "The transformers release in an image lies in the range that its vLLM release asks for.",
  level: "mandatory",
  advises: true,
  of: TYPE.imageRecord,
  judgeResource(resource) {
    const { versions } = imageRecord(resource);
    const vllm = versions.get("vllm");
    const transformers = versions.get("transformers");
    // Missing, unknown and unreadable versions are refused by the rule for images.
    if (typeof vllm !== "string" || typeof transformers !== "string") return [];
    const ofVllm = series(vllm);
    if (ofVllm === undefined || !isVersion(transformers)) return [];
    const range = TRANSFORMERS_RANGES.get(ofVllm);
    const unknownSeries = `${resource.name}: no range of transformers is known for vLLM ${vllm} (known: 0.26 to 0.33), so transformers ${transformers} was not held against one.`;
    if (range === undefined) return advice(resource, unknownSeries);
    if (satisfies(transformers, range, { prereleases: true })) return [];
    return `${resource.name} holds transformers ${transformers}, but vLLM ${vllm} asks for ${range}. Pin an image whose two versions belong together.`;
  },
};
