import { today } from "@local-serving/base/units/dateText";
import type { MachinePlan } from "../../components/plan";
import type { Edit } from "../stackEdit/applyEdits";
import { editStackFile, type WrittenFile } from "../stackEdit/writeStackFile";
import type { ProbeResult } from "./probe";
import { modelsWithToolCalls, TOOL_CALL_PROBES } from "./probes/ollamaTools";

/** Models of a machine's simple server that made tool calls in a run, each with what to record. */
function seenIn(
  { simpleServer }: MachinePlan,
  results: readonly ProbeResult[],
): [model: string, seen: string][] {
  if (simpleServer.mode !== "host") return [];
  const seen = `seen ${today()}`;
  return modelsWithToolCalls(simpleServer.models, results).map((model) => [model, seen]);
}

/** The edits of the stack file that record a run's tool calls; what else is recorded stays. */
export const toolCallEdits = (machine: MachinePlan, results: readonly ProbeResult[]): Edit[] =>
  seenIn(machine, results).map(([model, value]) => ({
    path: ["machines", machine.name, "simpleServer", "toolCalls", model],
    value,
  }));

/** The results, the last one of tool calls with the lines to record, where a model has none yet. */
export function proposingToolCalls(
  machine: MachinePlan,
  results: readonly ProbeResult[],
): readonly ProbeResult[] {
  const { toolCalls = {} } = machine.simpleServer.mode === "host" ? machine.simpleServer : {};
  const lines = seenIn(machine, results)
    .filter(([model]) => !Object.hasOwn(toolCalls, model))
    .map(([model, seen]) => `\n    ${model}: ${seen}`);
  if (lines.length === 0) return results;
  const last = results.findLastIndex(
    ({ name, status }) => status === "pass" && TOOL_CALL_PROBES.includes(name),
  );
  const fix = `Record in the stack file, below machines.${machine.name}.simpleServer (\`serving verify --record\` does it):\n  toolCalls:${lines.join("")}`;
  return results.map((each, index) => (index === last ? { ...each, fix } : each));
}

/** Writes what a run saw into the stack file; `text` is that of the file as it is now. */
export function recordToolCalls(
  file: string,
  text: string,
  edits: readonly Edit[],
  nothing = "No model of the simple server made a tool call on every API: nothing is recorded.",
): WrittenFile & { readonly said: string } {
  if (edits.length === 0)
    return {
      diff: "",
      backup: "",
      said: nothing,
    };
  const { diff, backup } = editStackFile(file, text, edits);
  const said =
    backup === ""
      ? `${file} says so already.`
      : `${diff.trimEnd()}\n${file} is written; the old file is ${backup}.`;
  return { diff, backup, said };
}
