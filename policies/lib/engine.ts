import { engineData, newestEngineData } from "../../components/inference-server/engineData";
import type { ImageRecord } from "./imageRecord";
import { imageReference } from "./imageReference";

/** vLLM's own image. What other people build from it may take more. */
const OFFICIAL = /^((index\.)?docker\.io\/)?vllm\/vllm-openai$/;

/**
 * What an image's vLLM takes, as far as it can be told: by what is recorded of the image's digest, else by its tag
 * (`v0.30.0-aarch64`); else the newest.
 */
export function engineOf(image: unknown, records: readonly ImageRecord[] = []) {
  const reference = typeof image === "string" ? imageReference(image) : undefined;
  const recorded = records.map((record) => record.versions.get("vllm"));
  const tagged = /^v?(\d+\.\d+\.\d+)(-[\w-]+)?$/.exec(reference?.tag ?? "")?.[1];
  const version = recorded.find((each) => typeof each === "string") ?? tagged;
  const data = typeof version === "string" ? engineData(version.replace(/\+.*$/, "")) : undefined;
  return {
    data: data ?? newestEngineData(),
    /** vLLM's own image in exactly this version; else the data is the nearest that there is. */
    exact: data !== undefined && OFFICIAL.test(reference?.repository ?? ""),
  };
}
