import { droppedVariables } from "../../components/inference-server/droppedVariables";
import { engineData, engineVersions } from "../../components/inference-server/engineData";
import namesOfOthers from "./namesOfOthers.json";

/** Options of several words, and variables, that other programs have too. An option of one word tells nothing. */
const SHARED = new Set(Object.values(namesOfOthers).flat());

/** The options and variables that only vLLM has, of every version. */
let names: readonly string[] | undefined;

/** Read only for a container with GPUs that nothing else tells of. */
function namesOfVllm(): readonly string[] {
  names ??= engineVersions()
    .flatMap((version) => engineData(version) ?? [])
    .flatMap(({ values, lists, switches, variables }) => [
      ...[...values, ...lists, ...variables],
      ...Object.entries(switches).flat(2),
    ])
    .concat(droppedVariables)
    .filter((name) => !SHARED.has(name));
  return names;
}

/** The share of memory, an option that tells vLLM and what wraps it even without GPUs. */
export const isShare = (word: string): boolean => /^--(gpu|device)[-_]memory[-_]utilization(=|$)/.test(word);

/** Whether a word is an option that only vLLM has; cut short it counts as long as each of its words is begun. */
export function isOnlyOfVllm(word: string): boolean {
  const name = /^--([a-z][\w-]*)/.exec(word)?.[1]?.replaceAll("_", "-");
  if (name === undefined || !name.includes("-")) return false;
  const dashes = name.split("-").length;
  return namesOfVllm().some((flag) => flag.startsWith(name) && flag.split("-").length === dashes);
}

/** A variable of vLLM, or of its image for SageMaker, which makes options of them. */
export function isVariableOfVllm(name: string): boolean {
  return name.startsWith("SM_VLLM_") || (name.startsWith("VLLM_") && namesOfVllm().includes(name));
}
