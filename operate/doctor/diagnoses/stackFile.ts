import { totalFinding } from "../../../components/memory";
import { shellWords } from "../../../faults/shellWords";
import { hundredths } from "../../../units/memory";
import { AGGREGATE_LIMIT, utilizationText } from "../../../vllm/utilization";
import type { Weighed } from "../diagnosis";
import { machineEdit } from "../facts";

export const stackFileDiagnoses: readonly Weighed[] = [
  {
    id: "stack-file-faulty",
    explain({ stackProblem }) {
      if (stackProblem === undefined) return undefined;
      const { file, faults } = stackProblem;
      return {
        cause: `The stack file can't be read (${faults.length === 1 ? "1 fault" : `${faults.length} faults`}), so only the given files were judged.`,
        evidence: faults.join("\n"),
        advice:
          "Fix these faults first. Until then changes are printed in words and not as a diff, and doctor misses what only the plan shows.",
        command: shellWords(["serving", "plan", "--file", file]),
      };
    },
  },
  {
    id: "aggregate-above-limit",
    explain(facts) {
      const { plan, settings } = facts.stack ?? {};
      if (plan === undefined || settings === undefined) return undefined;
      const { aggregateUtilization, largestUtilizationThatFits, sumGiB, totalGiB } = plan.ledger;
      if (aggregateUtilization <= AGGREGATE_LIMIT) return undefined;
      const [key = "", ...others] = Object.keys(settings.inferenceServers);
      const container =
        plan.inferenceServers.find((each) => each.key === key)?.container.name ?? "";
      const largest = largestUtilizationThatFits[container] ?? 0;
      return {
        cause: `The servers together claim ${utilizationText(aggregateUtilization)} of the memory; above ${AGGREGATE_LIMIT} the machine hangs.`,
        evidence: `ledger: aggregate utilization ${aggregateUtilization}, ${sumGiB} of ${totalGiB} GiB`,
        ...(others.length > 0 || largest <= 0
          ? {
              advice:
                "Lower one server's `gpuMemoryUtilization`, or instance A where it is started.",
            }
          : {
              edits: [
                machineEdit(facts, ["inferenceServers", key, "gpuMemoryUtilization"], largest),
              ],
            }),
      };
    },
  },
  {
    id: "plan-refused",
    explain({ stack }) {
      const refusal = stack?.refusals.find(({ name }) => name !== "aggregate-utilization");
      if (refusal === undefined) return undefined;
      return {
        cause: `The policy ${refusal.name} refuses the stack file, so \`up\` changes nothing.`,
        evidence: refusal.message,
        advice: "The policy's own message says what to change.",
        command: "serving plan",
      };
    },
  },
  {
    id: "total-memory-differs",
    explain(facts) {
      const { meminfo, stack } = facts;
      if (meminfo === undefined || stack === undefined || facts.stackIsAGuess) return undefined;
      const declared = stack.settings.totalGiB;
      if (totalFinding(declared, meminfo.totalGiB) === undefined) return undefined;
      return {
        cause: `The stack file counts on ${declared} GiB, but the machine has ${meminfo.totalGiB.toFixed(2)}: every figure of the plan is off.`,
        evidence: `MemTotal: ${Math.round(meminfo.totalGiB * 1024 ** 2)} kB`,
        edits: [machineEdit(facts, ["totalGiB"], hundredths(meminfo.totalGiB))],
      };
    },
  },
];
