import { gpuText } from "../../sees/gpu";
import type { Weighed } from "../diagnosis";

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
          ? "No setting to change: give the machine air, or cap its clock (`sudo nvidia-smi -lgc 200,2150`; others run so)."
          : "No setting to change: shut the machine down and take out its power plug for a minute. Others saw that a restart alone doesn't end this state.",
        command: "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER",
      };
    },
  },
];
