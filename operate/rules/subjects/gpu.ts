import { gpuText } from "../../sees/gpu";
import type { Weighed } from "../rule";

/** What a GPU says of itself, which no log of vLLM has. */
export const gpu: readonly Weighed[] = [
  {
    id: "gpu-slowed",
    explain({ gpu: state }) {
      if (state === undefined || state.slowedBy === null) return undefined;
      const isHot = state.slowedBy.includes("heat");
      return {
        cause: `The GPU runs slower than it could: it is held back by ${state.slowedBy}.`,
        evidence: gpuText(state),
        advice: isHot
          ? "No setting to change: cool the machine better, or cap its clock, as others do (`sudo nvidia-smi -lgc 200,2150`)."
          : "No setting to change: shut the machine down and unplug it for a minute. Others saw that a restart alone doesn't end this state.",
        command: "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER",
      };
    },
  },
];
