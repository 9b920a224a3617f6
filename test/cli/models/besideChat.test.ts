import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { seatFor } from "../../../cli/models/seat";
import { changeModel, seatOf } from "../../../cli/models/useModel";
import { graveWarnings } from "../../../cli/plan/memoryText";
import { readOneMachine } from "../../../cli/stack/readStack";
import { applyEdits } from "../../../cli/stackEdit/applyEdits";
import * as catalogue from "../../../components/catalogue/readCatalogue";
import { readEvidence } from "../../../components/evidence/readEvidence";
import { plan } from "../../../components/plan/plan";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { parseStackFile } from "../../../components/settings/load";
import { judge } from "../../../policies/judge";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const DEFAULT = readFileSync("Pulumi.dgx.yaml", "utf8");
/** Without instance A, and with the chat model at some share. */
const chatAt = (share: string) =>
  DEFAULT.replace(/instanceA:\n(?: {8}.*\n)+/, "instanceA: none\n").replace(
    "gpuMemoryUtilization: 0.45",
    `gpuMemoryUtilization: ${share}`,
  );

const EMBEDDING = "Qwen/Qwen3-Embedding-0.6B";
const RERANK = "Qwen/Qwen3-Reranker-0.6B";
const LARGE = "Qwen/Qwen3-VL-Embedding-8B";

const RECIPES = [EMBEDDING, RERANK, LARGE].map((id) => {
  const recipe = catalogue.readRecipe(process.cwd(), id);
  if (recipe === undefined) throw new Error(`no recipe of ${id}`);
  return recipe;
});

/** A list of all models would plan each of them; these are the ones that are looked at. */
beforeAll(() => void vi.spyOn(catalogue, "readCatalogue").mockReturnValue(RECIPES));
afterAll(() => void vi.mocked(catalogue.readCatalogue).mockRestore());

function stackFile(text: string): string {
  const file = join(temporaryFolder("beside-"), "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  return file;
}

/** The stack file with a model beside what is there, or why that is refused. */
function withModels(text: string, ids: readonly string[]): { after: string; refusal?: string } {
  let after = text;
  for (const id of ids) {
    const stack = readOneMachine(stackFile(after));
    const recipe = RECIPES.find((each) => each.id === id);
    if (recipe === undefined) throw new Error(`no recipe of ${id}`);
    try {
      ({ after } = changeModel(stack, seatFor(recipe, seatOf(stack, process.cwd())), recipe));
    } catch (error) {
      return { after, refusal: String((error as Error).message) };
    }
  }
  return { after };
}

/** Shares of all servers, and the reasons against a stack file. */
function planned(text: string) {
  const settings = parseStackFile("Pulumi.dgx.yaml", text);
  const made = plan(settings, readEvidence(settings, process.cwd()));
  const refused = judge(declaredResources(made)).filter(({ verdict }) => verdict === "refused");
  const servers = Object.entries(settings.machines.dgx?.inferenceServers ?? {});
  return {
    shares: servers.map(([key, { gpuMemoryUtilization }]) => `${key} ${gpuMemoryUtilization}`),
    against: [...refused.map(({ message }) => message), ...made.machines.flatMap(graveWarnings)],
  };
}

const FITS: readonly (readonly [chat: string, ids: readonly string[], shares: string[]])[] = [
  ["0.45", [EMBEDDING], ["b 0.45", "embedding 0.15"]],
  ["0.62", [EMBEDDING], ["b 0.62", "embedding 0.15"]],
  ["0.72", [EMBEDDING], ["b 0.72", "embedding 0.15"]],
  ["0.8", [EMBEDDING], ["b 0.8", "embedding 0.1"]],
  ["0.83", [EMBEDDING], ["b 0.83", "embedding 0.07"]],
  ["0.45", [RERANK], ["b 0.45", "rerank 0.15"]],
  ["0.72", [RERANK], ["b 0.72", "rerank 0.15"]],
  ["0.45", [LARGE], ["b 0.45", "embedding 0.3"]],
  ["0.45", [EMBEDDING, RERANK], ["b 0.45", "embedding 0.15", "rerank 0.15"]],
  ["0.62", [EMBEDDING, RERANK], ["b 0.62", "embedding 0.15", "rerank 0.13"]],
  ["0.45", [LARGE, RERANK], ["b 0.45", "embedding 0.3", "rerank 0.15"]],
];

const short = (least: string, left: string, gib: string) =>
  `does not fit beside the other engines of this machine. It needs a share of at least ${least}, and ${left} is left: ${gib} GiB too little. Instead`;
const lower = (server: string, from: string, to: string) =>
  `lower \`gpuMemoryUtilization\` of ${server} from ${from} to ${to}`;
const LOWER_A = "lower instance A from 0.45 to 0.38, where it is started and in `instanceA`";

/** What is refused: the stack, the models, what is said, and the shares with each advice. */
const REFUSED: readonly (readonly [
  name: string,
  text: string,
  ids: readonly string[],
  refusal: string,
  advised: readonly (readonly [path: readonly string[], value: number | string, string[]])[],
])[] = [
  [
    "embedding beside chat at 0.85",
    chatAt("0.85"),
    [EMBEDDING],
    `${EMBEDDING} ${short("0.07", "0.05", "2.4")} ${lower("b", "0.85", "0.75")}.`,
    [[["inferenceServers", "b"], 0.75, ["b 0.75", "embedding 0.15"]]],
  ],
  [
    "rerank beside chat at 0.85",
    chatAt("0.85"),
    [RERANK],
    `${RERANK} ${short("0.07", "0.05", "2.4")} ${lower("b", "0.85", "0.75")}.`,
    [[["inferenceServers", "b"], 0.75, ["b 0.75", "rerank 0.15"]]],
  ],
  [
    "VL-Embedding beside chat at 0.72",
    chatAt("0.72"),
    [LARGE],
    `${LARGE} ${short("0.30", "0.18", "14.6")} ${lower("b", "0.72", "0.60")}.`,
    [[["inferenceServers", "b"], 0.6, ["b 0.6", "embedding 0.3"]]],
  ],
  [
    "both beside chat at 0.72",
    chatAt("0.72"),
    [EMBEDDING, RERANK],
    `${RERANK} ${short("0.07", "0.03", "4.9")} ${lower("b", "0.72", "0.60")}, or ${lower("embedding", "0.15", "0.11")}.`,
    [
      [["inferenceServers", "b"], 0.6, ["b 0.6", "embedding 0.15", "rerank 0.15"]],
      [["inferenceServers", "embedding"], 0.11, ["b 0.72", "embedding 0.11", "rerank 0.07"]],
    ],
  ],
  [
    "embedding in the default stack",
    DEFAULT,
    [EMBEDDING],
    `${EMBEDDING} ${short("0.07", "0.00", "8.5")} ${lower("b", "0.45", "0.38")}, or ${LOWER_A}.`,
    [
      [["inferenceServers", "b"], 0.38, ["b 0.38", "embedding 0.07"]],
      [["instanceA"], 0.38, ["b 0.45", "embedding 0.07"]],
    ],
  ],
  [
    "rerank in the default stack",
    DEFAULT,
    [RERANK],
    `${RERANK} ${short("0.07", "0.00", "8.5")} ${lower("b", "0.45", "0.38")}, or ${LOWER_A}.`,
    [
      [["inferenceServers", "b"], 0.38, ["b 0.38", "rerank 0.07"]],
      [["instanceA"], 0.38, ["b 0.45", "rerank 0.07"]],
    ],
  ],
  [
    "VL-Embedding in the default stack, whose instance A would not hold its weights",
    DEFAULT,
    [LARGE],
    `${LARGE} ${short("0.30", "0.00", "36.5")} stop instance A (\`instanceA: none\`).`,
    [[["instanceA"], "none", ["b 0.45", "embedding 0.3"]]],
  ],
];

describe("models that write no text, beside one that chats", () => {
  it.each(FITS)("chat at %s, and %s", (share, ids, shares) => {
    const { after, refusal } = withModels(chatAt(share), ids);
    expect(refusal).toBeUndefined();
    expect(planned(after)).toEqual({ shares, against: [] });
  });

  it.each(REFUSED)("%s is refused, and each advice plans", (_, text, ids, refusal, advised) => {
    const first = withModels(text, ids);
    expect(first.refusal).toBe(refusal);
    for (const [path, value, shares] of advised) {
      const at = ["machines", "dgx", ...path];
      const edit =
        value === "none" ? { path: at, value } : { path: [...at, "gpuMemoryUtilization"], value };
      const lowered = applyEdits(first.after, [edit]);
      const next = withModels(lowered, ids.slice(-1));
      expect(next.refusal).toBeUndefined();
      expect(planned(next.after)).toEqual({ shares, against: [] });
    }
  });

  it("says what the share was computed of, and how much of it is left", async () => {
    const why =
      "computed: 4.02 GiB of weights and vLLM at the least, and 4 requests of 32,768 tokens at 3.50 GiB each";
    const line = async (share: string) => {
      const file = stackFile(chatAt(share));
      const { code, out } = await runServing(["models", "use", EMBEDDING, "--file", file]);
      expect(code).toBe(0);
      return /^ {2}gpuMemoryUtilization: (.*)$/m.exec(out)?.[1];
    };
    expect(await line("0.62")).toBe(`0.15  ${why}`);
    expect(await line("0.8")).toBe(`0.1  the most that is left of 0.15 (${why})`);
  });

  it("lists how much is missing, and nothing of agents", async () => {
    const at = async (text: string) => {
      const { out } = await runServing(["models", "--all", "--file", stackFile(text)]);
      return out
        .split("\n")
        .flatMap((line) => /^qwen3-(?:vl-)?(?:embedding|reranker) .*/.exec(line) ?? []);
    };
    const cells = (lines: readonly string[]) =>
      lines.map((line) => line.split(/ {2,}/).join(" | "));
    expect(cells(await at(chatAt("0.45")))).toEqual([
      "qwen3-embedding | maybe | 0.15 | 0.0 to 4.5 of 32K | - | - | - | 1.2 GB of disk",
      "qwen3-reranker | maybe | 0.15 | 0.0 to 4.5 of 32K | - | - | - | 1.2 GB of disk",
      "qwen3-vl-embedding | maybe (KV cache not known) | 0.3 | not known | - | - | - | disk not known",
    ]);
    expect(cells(await at(DEFAULT))).toEqual([
      "qwen3-embedding | no (8.5 GiB over) | - | - | - | - | - | lower shares for the others, 1.2 GB of disk",
      "qwen3-reranker | no (8.5 GiB over) | - | - | - | - | - | lower shares for the others, 1.2 GB of disk",
      "qwen3-vl-embedding | no (36.5 GiB over) | - | - | - | - | - | lower shares for the others, disk not known",
    ]);
  });

  it.each([EMBEDDING, RERANK, LARGE])("says nothing of agents or tools for %s", async (id) => {
    const file = stackFile(chatAt("0.45"));
    const shown = await runServing(["models", "show", id, "--file", file]);
    const used = await runServing(["models", "use", id, "--file", file]);
    expect([shown.code, used.code]).toEqual([0, 0]);
    const said = [shown.out, used.out.slice(used.out.indexOf("Why each value:"))].join("\n");
    expect(said).not.toMatch(/agent|tool|coding|client/i);
    const added = used.out.split("\n").filter((line) => /^\+ {10}/.test(line));
    expect(added.join("\n")).not.toMatch(/agent|tool|client/i);
  });
});
