import { expect, it } from "vitest";
import { assumedReading, transformersRanges, vllmsOf } from "../../../operate/upgrade/inside";
import { DIGEST } from "../../fixtures/machine";

const entry = (image: string, vllm?: string) => ({
  ...{ machine: "dgx", path: ["inferenceServers", "b"], image },
  ...(vllm === undefined
    ? {}
    : { versions: { vllm, transformers: "5.10.4", evidence: "read" as const, source: "test" } }),
});

it.each([
  ["vllm/vllm-openai:v0.30.0", "0.30.0", "vllm/vllm-openai:v0.32.0", "0.30.0", "0.32.0"],
  ["me/vllm-spark:1.4.0", "0.30.0", "me/vllm-spark:1.5.0", "0.30.0", "0.30.0"],
  ["me/vllm-spark:vllm0.30.0", undefined, "me/vllm-spark:vllm0.32.0", "0.30.0", "0.32.0"],
  ["me/vllm-spark:1.4.0", undefined, "me/vllm-spark:1.5.0", "unknown", "unknown"],
])("%s with vllm %s, and %s: %s to %s", (image, recorded, newImage, before, after) => {
  const now = entry(`${image}@${DIGEST}`, recorded);
  expect(vllmsOf(now, assumedReading(`${newImage}@${DIGEST}`, now))).toEqual({ before, after });
});

it("an image that was read without a vLLM inside has no range of transformers", () => {
  const now = entry(`vllm/vllm-openai:v0.30.0@${DIGEST}`);
  const reading = { ...assumedReading(now.image, now), versions: {} };
  expect(transformersRanges(now, reading)).toEqual({ before: ">=5.10.4", after: null });
});
