import { expect, it } from "vitest";
import { saidInProgram } from "../../components/settings/saidInProgram";

const ABOUT_COPY =
  "COPY is a stack file with the same machines (node_modules/local-serving/docs/guide/any-program.md says how to write it).";

it.each([
  [
    "`serving pin vllm/vllm-openai:v0.30.0 --write --entry inferenceServers.b` looks inside and records what it finds, as `serving up` at a terminal does first.",
    "`npx --no -- serving pin vllm/vllm-openai:v0.30.0` looks inside and prints what it finds.",
  ],
  [
    "pin the release that you want: `serving pin nvcr.io/nvidia/vllm:TAG --write`.",
    "pin the release that you want: `npx --no -- serving pin nvcr.io/nvidia/vllm:TAG`.",
  ],
  [
    "Run `serving pin llama-swap --write`, which records the SHA-256 of its archive.",
    `Run \`npx --no -- serving pin llama-swap --file COPY\`, which prints the SHA-256 of its archive. ${ABOUT_COPY}`,
  ],
  [
    "`serving models` lists those that are known.",
    "`npx --no -- serving models` lists those that are known.",
  ],
  [
    "Put it into models/A--B/ (`serving models add`, or with `--from-cache` from the machine's model cache).",
    "Put it into models/A--B/.",
  ],
  [
    "It isn't there: `serving up` again. `serving up --again` tries it once more.",
    "It isn't there: `pulumi up` again. `serving up --again` tries it once more.",
  ],
  [
    "b is gone for 9 min. `serving up` lets its requests end first; those that outlast 10 min (`waitForRequestsMinutes`) are cut off.",
    "b is gone for 9 min. Running requests are cut off.",
  ],
  ["Run `serving down` in its folder first.", "Run `serving down` in its folder first."],
])("says in a program, of %j", (sentence, said) => {
  expect(saidInProgram([sentence])).toEqual([said]);
});

it("explains the copy that commands read once, behind the last that reads it", () => {
  const given = ["`serving fetch` downloads it.", "Or start it (`serving start b`).", "Wait."];
  expect(saidInProgram(given)).toEqual([
    "`npx --no -- serving fetch --file COPY` downloads it.",
    `Or start it (\`npx --no -- serving start b --file COPY\`). ${ABOUT_COPY}`,
    "Wait.",
  ]);
});
