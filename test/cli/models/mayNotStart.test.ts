import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capital } from "@local-serving/base/faults/quoting";
import { expect, it } from "vitest";
import { parseDocument } from "yaml";
import { askModel } from "../../../cli/init/questions";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

/** The warning of a machine of 121.69 GiB, at the recipe's own share of 0.8. */
const WHY =
  "may not start: one published log, of another model (nvidia/Qwen3.6-35B-A3B-NVFP4), took 29.93 GiB beside its weights; then no window is left. A `gpuMemoryUtilization` of 0.88 holds one request even with the most that any start is known to have taken. Or start it and record what it measures (`serving verify --only memory --record`). One request of 262,144 tokens needs 3.35 GiB with the block that vLLM keeps free of KV cache. The room for it is 7.73 to 23.29 GiB, an estimate before its first start.";

it("`models use` and the next plan say why a model may not start, by the same words", async () => {
  const document = parseDocument(readFileSync("Pulumi.dgx.yaml", "utf8"));
  const dgx = ["config", "local-serving:machines", "dgx"];
  document.setIn([...dgx, "totalGiB"], 121.69);
  document.setIn([...dgx, "instanceA"], "none");
  const file = join(temporaryFolder("may-not-start-"), "Pulumi.spark.yaml");
  writeFileSync(file, document.toString());
  const used = await runServing([
    "models",
    "use",
    "qwen3.5-122b-a10b-nvfp4",
    "--file",
    file,
    "--write",
  ]);
  expect(used.code).toBe(0);
  expect(used.out).toContain(`\n${capital(WHY)}\n`);
  const planned = await runServing(["plan", "--full", "--file", file]);
  const typed = WHY.replace("serving verify", `serving verify --file ${file}`);
  expect(planned.out).toContain(`  ! dgx: b: ${typed}\n`);
});

it("init's list folds those that may not start into one line, and takes them by name", async () => {
  const asked: string[] = [];
  const answers = ["2", "doubtful"];
  const ask = async (question: string) => {
    asked.push(question);
    return answers[asked.length - 1] ?? "1";
  };
  const offer = { cached: true, weightsGB: 65, server: [], share: 0.7, toolCalls: true };
  const sure = { ...offer, id: "org/Sure", servedModelName: "sure", mayNotStart: false, agents: 1 };
  const doubtful = { ...offer, id: "org/Doubtful", servedModelName: "doubtful", mayNotStart: true };
  expect(await askModel(ask, [sure, doubtful])).toBe(doubtful);
  expect(asked.join("\n").split("\n").slice(0, 6)).toEqual([
    "Models that fit beside what runs here:",
    "     model  tokens/s  with drafts  agents  download  window     share  hub id",
    "  1  sure   -         -            1       none      not known  0.7    org/Sure",
    "     1 more may not start: `serving models` (choose one by its name)",
    "  0  none",
    "Which one shall server B serve? [1]",
  ]);
  expect(asked[1]).toMatch(/^`2` is no answer to this\./);
  // Where nothing surely starts, they are what there is.
  asked.splice(0);
  answers.splice(0);
  expect(await askModel(ask, [doubtful])).toBe(doubtful);
  expect(asked[0]).toMatch(/^No model surely fits .* These may start:\n.*\n {2}1 {2}doubtful /);
});
