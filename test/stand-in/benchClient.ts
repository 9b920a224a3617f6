import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** An answer of this length never comes: a client that waits can be interrupted. */
export const ENDLESS = 7777;

/** Times and rates of every run, in the units of vLLM's own result. */
const TIMES = {
  median_ttft_ms: 500,
  p99_ttft_ms: 750.5,
  median_tpot_ms: 20,
  output_throughput: 90.25,
};

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

/**
 * `vllm bench serve`: the requests of vLLM's own client, with the times of `TIMES`. It knows no
 * other option than ours.
 */
export async function benchServe(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(
        [
          ...[
            "backend",
            "host",
            "port",
            "model",
            "tokenizer",
            "dataset-name",
            "num-prompts",
            "num-warmups",
            "seed",
          ],
          ...[
            "max-concurrency",
            "temperature",
            "result-dir",
            "result-filename",
            "random-input-len",
          ],
          ...[
            "random-output-len",
            "prefix-repetition-num-prefixes",
            "prefix-repetition-prefix-len",
          ],
          ...["prefix-repetition-suffix-len", "prefix-repetition-output-len"],
        ].map((name) => [name, text]),
      ),
      "trust-remote-code": flag,
      "ignore-eos": flag,
      "save-result": flag,
    },
  });
  const options: Readonly<Record<string, unknown>> = values;
  const given = (name: string) => String(options[name] ?? "");
  const number = (name: string) => Number(options[name] ?? 0);
  const repeated = given("dataset-name") === "prefix_repetition";
  const [shared, fresh, answer] = repeated
    ? ["prefix-len", "suffix-len", "output-len"].map((name) => number(`prefix-repetition-${name}`))
    : [0, number("random-input-len"), number("random-output-len")];
  if (answer === ENDLESS) {
    console.error("waiting");
    setInterval(() => {}, 1000);
    return;
  }
  const words = (from: string, length = 0) =>
    Array.from({ length }, (_, index) => `${from}${given("seed")}x${index}`).join(" ");
  const requests = number("num-prompts");
  let completed = 0;
  for (let index = 0; index < number("num-warmups") + requests; index++) {
    // The first one is sent twice, as the client does.
    const own = Math.max(0, index - number("num-warmups"));
    const body = {
      model: given("model"),
      prompt: `${words("s", shared)} ${words(`f${own}y`, fresh)}`,
      max_tokens: answer,
    };
    const { status } = await fetch(`http://${given("host")}:${given("port")}/v1/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
      },
      body: JSON.stringify(body),
    });
    if (status === 200 && index >= number("num-warmups")) completed++;
    console.error(`${completed}/${requests} [00:01<00:02]`);
  }
  const total_input_tokens = requests * ((shared ?? 0) + (fresh ?? 0));
  const result = {
    completed,
    total_input_tokens,
    ...TIMES,
    ...(repeated ? {} : { median_tpot_ms: 0 }),
  };
  writeFileSync(join(given("result-dir"), given("result-filename")), JSON.stringify(result));
}
