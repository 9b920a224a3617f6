import { expect, it } from "vitest";
import { releaseRefusal } from "../../../operate/pin/judgeImage";

const entry = (block: string, image: string) => ({ machine: "dgx", path: [block, "b"], image });

it.each([
  ["inferenceServers", "vllm/vllm-openai:v0.30.0", "v0.10.0", /^it is below 0\.26\.0/],
  ["inferenceServers", "vllm/vllm-openai:v0.30.0", "v0.31.0", undefined],
  ["inferenceServers", "me/vllm-spark:1.4.0", "0.2.0", undefined],
  ["inferenceServers", "me/vllm-spark:1.4.0", "vllm0.10.0", /^it is below 0\.26\.0/],
  ["bridge", "mirror.local/gateway:v1.103.0", "v1.82.7", /compromised/],
  ["inferenceServers", "no image", "v0.10.0", undefined],
])("%s, %s: the tag %s", (block, image, tag, why) => {
  const found = releaseRefusal(entry(block, image), tag);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(why);
});
