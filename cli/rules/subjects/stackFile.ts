import { counted } from "@local-serving/base/faults/quoting";
import { shellWords } from "@local-serving/base/faults/shellWords";
import { hundredths } from "@local-serving/base/units/memory";
import { AGGREGATE_LIMIT, utilizationText } from "@local-serving/vllm/utilization";
import { adviseShare, shareRoom, totalFinding } from "../../../components/memory";
import { noEngineText, tellOtherStack } from "../../../components/preflight";
import { machineEdit, type Picture } from "../picture";
import type { WeighingRule } from "../rule";

/** Whether the servers of the machine itself claim too much. */
const isAboveLimit = (stack: Picture["stack"]): boolean =>
  (stack?.plan.ledger.aggregateUtilization ?? 0) > AGGREGATE_LIMIT;

/** Whether another diagnosis says what the preflight says in this message. */
function isToldOtherwise(picture: Picture, message: string): boolean {
  const { stack, dockerProblem, otherStack, meminfo } = picture;
  if (stack === undefined) return false;
  const total = meminfo && totalFinding(stack.settings.totalGiB, meminfo.totalGiB)?.message;
  const told = [
    dockerProblem && noEngineText(stack.plan),
    otherStack && tellOtherStack(stack.machine, otherStack).cause,
    total,
  ];
  return told.some((each) => each !== undefined && message.includes(each));
}

/** Whether every container and file of the plan is on the machine. */
const isAllThere = ({ stack, containers = [], files = [] }: Picture): boolean =>
  files.every(({ state }) => state === "same") &&
  (stack?.plan.containers ?? []).every((planned) =>
    containers.some(({ name }) => name === planned.name),
  );

export const stackFileRules: readonly WeighingRule[] = [
  {
    id: "stack-file-faulty",
    explain({ stackProblem }) {
      if (stackProblem === undefined) return undefined;
      const { file, faults } = stackProblem;
      return {
        cause: `The stack file can't be read (${counted(faults.length, "fault")}), so only the given files were judged.`,
        evidence: faults.join("\n"),
        advice:
          "Fix these faults first. Until then changes are printed in words and not as a diff, and doctor misses what only the plan shows.",
        command: shellWords(["serving", "plan", "--file", file]),
      };
    },
  },
  {
    id: "aggregate-above-limit",
    explain(picture) {
      const { plan, settings } = picture.stack ?? {};
      if (plan === undefined || settings === undefined) return undefined;
      const { aggregateUtilization, sumGiB, totalGiB } = plan.ledger;
      if (!isAboveLimit(picture.stack)) return undefined;
      const [key = "", ...others] = Object.keys(settings.inferenceServers);
      const container =
        plan.inferenceServers.find((each) => each.key === key)?.container.name ?? "";
      const now = settings.inferenceServers[key]?.gpuMemoryUtilization ?? 0;
      const room = shareRoom(plan, container);
      const share = room === undefined ? 0 : adviseShare(room, now).value;
      return {
        cause: `The servers together claim ${utilizationText(aggregateUtilization)} of the memory; above ${AGGREGATE_LIMIT} the machine hangs.`,
        evidence: `ledger: aggregate utilization ${aggregateUtilization}, ${sumGiB} of ${totalGiB} GiB`,
        ...(others.length > 0 || share === 0
          ? {
              advice:
                "Lower one server's `gpuMemoryUtilization`, or instance A where it is started.",
            }
          : {
              edits: [
                machineEdit(picture, ["inferenceServers", key, "gpuMemoryUtilization"], share),
              ],
            }),
      };
    },
  },
  {
    id: "plan-refused",
    explain({ stack }) {
      const refusals = (stack?.refusals ?? []).filter(
        ({ name }) => name !== "aggregate-utilization" || !isAboveLimit(stack),
      );
      const [only] = new Set(refusals.map(({ name }) => name));
      if (only === undefined) return undefined;
      const isOne = refusals.every(({ name }) => name === only);
      return {
        cause: `${isOne ? `The policy ${only} refuses` : "Policies refuse"} the stack file, so \`up\` changes nothing.`,
        evidence: refusals
          .map(({ name, message }) => (isOne ? message : `${name}: ${message}`))
          .join("\n"),
        advice: "The policy's own message says what to change.",
        command: "serving plan",
      };
    },
  },
  {
    id: "update-refused",
    explain(picture) {
      const { update, stack } = picture;
      if (update === undefined || stack === undefined) return undefined;
      const refused = update.refused.filter((message) => !isToldOtherwise(picture, message));
      if (refused.length === 0) return undefined;
      const harmless = update.isApplied && isAllThere(picture);
      return {
        harmless,
        cause: harmless
          ? "What is applied runs as it is, but the next `up` would be refused as things are now."
          : "`up` is refused as things are now, and changes nothing.",
        evidence: refused.join("\n"),
        advice: "Each sentence says what to change. Then run `up` again.",
        command: "serving up",
      };
    },
  },
  {
    id: "total-memory-differs",
    explain(picture) {
      const { meminfo, stack } = picture;
      if (meminfo === undefined || stack === undefined || picture.stackIsAGuess) return undefined;
      const declared = stack.settings.totalGiB;
      if (totalFinding(declared, meminfo.totalGiB) === undefined) return undefined;
      return {
        cause: `The stack file counts on ${declared} GiB, but the machine has ${meminfo.totalGiB.toFixed(2)}: every figure of the plan is off.`,
        evidence: `MemTotal: ${Math.round(meminfo.totalGiB * 1024 ** 2)} kB`,
        edits: [machineEdit(picture, ["totalGiB"], hundredths(meminfo.totalGiB))],
      };
    },
  },
];
