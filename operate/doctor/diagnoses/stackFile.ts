import { shellWords } from "../../../components/host/shellWords";
import { hundredths } from "../../../components/memory/ledger";
import { totalFault } from "../../../components/memory/machineTotal";
import { AGGREGATE_LIMIT, utilizationText } from "../../../components/planned/utilization";
import { APPLY, type Diagnosis } from "../diagnosis";
import { machineEdit } from "../evidence";

const faultyFile: Diagnosis = {
  id: "stack-file-faulty",
  source: "the schema of the stack file (docs/reference/stack-file.md)",
  caughtBy: "`serving plan` and every preview",
  aside: true,
  signs: [],
  judge({ stackProblem }) {
    if (stackProblem === undefined) return undefined;
    const { file, faults } = stackProblem;
    return {
      cause: `The stack file can't be read (${faults.length === 1 ? "1 fault" : `${faults.length} faults`}), so only the given files were judged.`,
      evidence: faults.join("\n"),
      advice:
        "Mend these faults first. Until then changes stand in words and not as a diff, and what can only be told by the plan is not told.",
      command: shellWords(["serving", "plan", "--file", file]),
    };
  },
};

const impossiblePair: Diagnosis = {
  id: "aggregate-above-limit",
  source: "specification, Limits: aggregate --gpu-memory-utilization at or under 0.90",
  caughtBy: "the policy `aggregate-utilization`",
  aside: true,
  signs: [],
  judge({ stack }) {
    const ledger = stack?.plan.ledger;
    if (stack === undefined || ledger === undefined || ledger.aggregateUtilization <= AGGREGATE_LIMIT)
      return undefined;
    const [key, ...others] = Object.keys(stack.settings.inferenceServers);
    const container = stack.plan.inferenceServers.find((each) => each.key === key)?.container.name;
    const largest = container === undefined ? undefined : ledger.largestUtilizationThatFits[container];
    return {
      cause: `The servers together are to take ${utilizationText(ledger.aggregateUtilization)} of the memory; above ${AGGREGATE_LIMIT} the machine hangs.`,
      evidence: `ledger: aggregate utilization ${ledger.aggregateUtilization}, ${ledger.sumGiB} of ${ledger.totalGiB} GiB`,
      ...(key === undefined || others.length > 0 || largest === undefined || largest <= 0
        ? { advice: "Lower one server's `gpuMemoryUtilization`, or instance A where it is started." }
        : {
            edits: [
              machineEdit({ logs: [], stack }, ["inferenceServers", key, "gpuMemoryUtilization"], largest),
            ],
          }),
      command: APPLY,
    };
  },
};

const refusedPlan: Diagnosis = {
  id: "plan-refused",
  source: "the policies of this project",
  caughtBy: "the policies",
  aside: true,
  signs: [],
  judge({ stack }) {
    const refusal = stack?.refusals.find(({ name }) => name !== "aggregate-utilization");
    if (refusal === undefined) return undefined;
    return {
      cause: `The policy ${refusal.name} refuses the stack file, so \`up\` changes nothing.`,
      evidence: refusal.message,
      advice: "The policy's own words say what to change.",
      command: "serving plan",
    };
  },
};

const wrongTotal: Diagnosis = {
  id: "total-memory-differs",
  source: "facts of the machine: MemTotal of /proc/meminfo",
  caughtBy: "the preflight of `up`",
  aside: true,
  signs: [],
  judge(evidence) {
    const { meminfo, stack } = evidence;
    if (meminfo === undefined || stack === undefined) return undefined;
    const declared = stack.settings.totalGiB;
    if (totalFault(declared, meminfo.totalGiB) === undefined) return undefined;
    return {
      cause: `The stack file counts on ${declared} GiB, and the machine has ${meminfo.totalGiB.toFixed(2)}: every figure of the plan is off.`,
      evidence: `MemTotal: ${Math.round(meminfo.totalGiB * 1024 ** 2)} kB`,
      edits: [machineEdit(evidence, ["totalGiB"], hundredths(meminfo.totalGiB))],
      command: APPLY,
    };
  },
};

export const stackFile: readonly Diagnosis[] = [faultyFile, impossiblePair, refusedPlan, wrongTotal];
