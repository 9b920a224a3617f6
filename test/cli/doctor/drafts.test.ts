import { expect, it } from "vitest";
import { ofLines } from "./ofLines";

const READY = "(APIServer pid=1) INFO:     Application startup complete.";
const died = (error: string) =>
  `(EngineCore pid=94) ERROR 05-13 10:46:43 [core.py:1372] torch.AcceleratorError: CUDA error: ${error}`;
const ILLEGAL = died("an illegal memory access was encountered");

it.each<[string, string, string]>([
  [
    "the arguments",
    "INFO [utils.py:233] non-default args: {'model': 'org/m', 'speculative_config': {'method': 'eagle3', 'num_speculative_tokens': 5}}",
    "(eagle3, 5 tokens a step)",
  ],
  [
    "the engine's settings",
    "INFO [core.py:114] with config: model='org/m', speculative_config=SpeculativeConfig(method='dflash', model='org/d', num_spec_tokens=8), tokenizer='org/m'",
    "(dflash, 8 tokens a step)",
  ],
  ["its metrics", "INFO [metrics.py:104] SpecDecoding metrics: Mean acceptance length: 2.73", ""],
  [
    "the step in which it died",
    "ERROR [dump_input.py:72] SchedulerOutput(scheduled_spec_decode_tokens={chatcmpl-1: [-1, -1, -1]})",
    "",
  ],
])("names the drafts of an engine that died of a fault, by %s", async (_, line, shown) => {
  const [report] = await ofLines(line, READY, ILLEGAL);
  expect(report).toMatchObject({
    id: "cuda-illegal-access",
    change: expect.stringMatching(/speculative decoding .*without `speculative`/),
  });
  expect(report?.change).toContain(shown);
});

it.each(["device-side assert triggered", "misaligned address"])(
  "knows the fault %s",
  async (error) => {
    expect(await ofLines(READY, died(error))).toMatchObject([{ id: "cuda-illegal-access" }]);
  },
);

it.each([
  "INFO [core.py:114] with config: model='org/m', speculative_config=None, tokenizer='org/m'",
  "ERROR [dump_input.py:72] SchedulerOutput(scheduled_spec_decode_tokens={}, num=1)",
])("names no drafts where there were none: %s", async (line) => {
  const [report] = await ofLines(line, READY, ILLEGAL);
  expect(report?.id).toBe("cuda-illegal-access");
  expect(report?.change).not.toContain("speculative");
});
