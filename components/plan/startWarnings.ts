import { refusesExpandableSegments } from "@local-serving/vllm/argv/connectors";
import { isOn, readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import type { PlannedContainer } from "../planned";

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
        "`--enforce-eager` turns CUDA graphs off, which is slow. Delete it from `extraArgs`: on another GB10 it lowered 59 tokens a second to 26 (conselara.dev, 2026-09).",
    });
  if (args.options.get("load-format")?.[0] === "dummy")
    found.push({
      code: "random-weights",
      message:
        "`loadFormat: dummy` fills it with random weights. Delete that, unless only speed or memory is to be measured: its answers mean nothing.",
    });
  if (/^0*[1-9]/.test(env.VLLM_ENABLE_STARTUP_PLAN ?? ""))
    found.push({
      code: "startup-plan",
      message:
        "VLLM_ENABLE_STARTUP_PLAN lets it take more than its share. Delete it from `environment`, or set `kvCacheMemoryBytes`, which overrides it: vLLM keeps the size of its KV cache when `gpuMemoryUtilization` changes.",
    });
  if (
    env.PYTORCH_CUDA_ALLOC_CONF?.includes("expandable_segments:True") &&
    refusesExpandableSegments(args)
  )
    found.push({
      code: "segments-refused",
      message:
        "vLLM refuses `expandable_segments:True` beside a KV connector. Delete PYTORCH_CUDA_ALLOC_CONF from `environment`: it would not start.",
    });
  return found;
}
