import { expect, it } from "vitest";
import { imageOf } from "../../../operate/init/command/image";

it.each([
  [
    "vllm/vllm-openai:v0.10.0",
    "vllm/vllm-openai:v0.10.0 can't be used: its tag says vllm 0.10.0, below 0.26.0. Pin vllm 0.26.0 or newer.",
  ],
  [
    "lmsysorg/sglang:v0.5.9",
    "lmsysorg/sglang:v0.5.9 can't be used: its name says SGLang. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
  ],
  [
    "me/vllm-spark:1.4.0",
    "me/vllm-spark:1.4.0 is kept as the command has it, and a tag can move: `serving pin me/vllm-spark:1.4.0 --write` pins it, and reads the versions inside.",
  ],
])("a command's image %s: a pin is advised only where it helps", (image, mend) => {
  expect(imageOf(image)).toEqual({ image: { image }, told: [], mend: [mend] });
});
