import { refusesExpandableSegments } from "../../vllm/argv/connectors";
import { isOn, readServerArguments } from "../../vllm/argv/serverArguments";
import type { PlannedContainer } from "../planned/container";

/** A flag or variable that a server starts with and its operator may not want. */
interface Unwanted {
  readonly code: string;
  readonly message: string;
}

/** What a server's own flags and variables do that their names don't say. */
export function startWarnings({ command, env }: PlannedContainer): Unwanted[] {
  const args = readServerArguments(command);
  const found: Unwanted[] = [];
  if (isOn(args, "enforce-eager"))
    found.push({
      code: "eager",
      message:
        "`--enforce-eager` runs the model without CUDA graphs: on another GB10 that lowered 59 tokens a second to 26 (conselara.dev, 2026-09). Delete it from `extraArgs`.",
    });
  if (/^0*[1-9]/.test(env.VLLM_ENABLE_STARTUP_PLAN ?? ""))
    found.push({
      code: "startup-plan",
      message:
        "with VLLM_ENABLE_STARTUP_PLAN, vLLM keeps the size of its KV cache when `gpuMemoryUtilization` changes, so the server may take more than its share. Delete it from `environment`, or set `kvCacheMemoryBytes`, which overrides it.",
    });
  if (
    env.PYTORCH_CUDA_ALLOC_CONF?.includes("expandable_segments:True") &&
    refusesExpandableSegments(args)
  )
    found.push({
      code: "segments-refused",
      message:
        "vLLM refuses to start with `expandable_segments:True` in PYTORCH_CUDA_ALLOC_CONF beside a KV connector. Delete the variable from `environment`.",
    });
  return found;
}
