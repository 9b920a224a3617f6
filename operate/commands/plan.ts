import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Command, Option } from "commander";
import { command } from "../../commandLine/command";
import { explainWriting, WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { readEvidence } from "../../components/evidence/readEvidence";
import type { Plan } from "../../components/plan/types";
import type { Evidence } from "../../components/planned/evidence";
import { loadStackFile } from "../../components/settings/load";
import type { StackSettings } from "../../components/settings/stackSettings";
import { readTextFile } from "../../faults/textFile";
import { replaceFile } from "../../harness/files/replaceFile";
import { LEVELS_FILE } from "../../policies/levels";
import { dockerRun } from "../plan/dockerRun";
import { judgedPlan } from "../plan/judgedPlan";
import { terminalWidth } from "../plan/layout";
import { meminfoIn } from "../plan/meminfoFile";
import { planText } from "../plan/planText";
import { projectFolder, type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";

interface PlanOptions extends StackFileOptions {
  readonly meminfo: readonly string[];
  readonly out?: string;
  readonly policyConfig?: string;
}

export function planCommand(): Command {
  return command({
    name: "plan",
    description: "Show everything that `up` would do: containers, memory, endpoints, and what each policy says.",
    options: [
      ...stackFileOptions(),
      new Option(
        "--meminfo <file>",
        "copy of the machine's /proc/meminfo, to judge memory by what was measured; with several machines in the stack file, MACHINE=FILE for each",
      )
        .argParser((text: string, before: readonly string[]) => [...before, text])
        .default([]),
      new Option("--out <dir>", "write every rendered file to DIR/<machine>/<role>"),
      new Option("--policy-config <file>", `levels of the policies (default: ${LEVELS_FILE} beside the project)`),
    ],
    notes:
      "Exit code: 0 nothing is refused, 1 the stack file has faults or a policy refuses the plan (which is still printed whole),\n2 wrong use or a file that can't be read.",
    example: "plan --stack dgx --format json | jq '.machines[0].ledger'",
    run: (options: PlanOptions) => {
      const settings = loadStackFile(stackFile(options));
      const known = evidence(options, settings);
      const { planned, policies } = judgedPlan(settings, known, options.policyConfig);
      if (options.out !== undefined) for (const path of writePlan(planned, options.out)) say(`wrote ${path}`);
      return {
        result: { ...planned, policies },
        text: planText(planned, policies, terminalWidth(process.stdout)),
        failed: policies.some((each) => each.verdict === "refused"),
      };
    },
  });
}

function evidence(options: PlanOptions, settings: StackSettings): Evidence {
  const machines = Object.keys(settings.machines);
  const meminfo = Object.fromEntries(
    options.meminfo.map((given) => {
      const [machine, file] = ofMachine(given, machines);
      return [machine, meminfoIn(file, readTextFile(file))];
    }),
  );
  return { ...readEvidence(settings, projectFolder()), meminfo };
}

/** The machine that a meminfo file belongs to: two machines share no page cache. */
function ofMachine(given: string, machines: readonly string[]): [machine: string, file: string] {
  const named = machines.find((name) => given.startsWith(`${name}=`));
  if (named !== undefined) return [named, given.slice(named.length + 1)];
  const [only = "", ...others] = machines;
  if (others.length === 0) return [only, given];
  throw new WrongUse(
    `--meminfo ${given}: whose? The stack file has ${machines.join(", ")}; write --meminfo ${only}=${given}, once for each machine.`,
  );
}

/** Writes every rendered file to DIR/<machine>/<role>, and each container as `docker run`. Returns what was written. */
function writePlan(plan: Plan, folder: string): string[] {
  return plan.machines.flatMap((machine) => [
    ...machine.files.map((file) => write(join(folder, machine.name, file.role), file.text)),
    ...machine.containers.map((container) =>
      write(join(folder, machine.name, `${container.name}.docker-run.sh`), `${dockerRun(container)}\n`),
    ),
  ]);
}

/** Mode of a new file: these are for reading and hold no secret. */
const MODE = 0o644;

function write(path: string, text: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, text, { newFileMode: MODE });
  } catch (error) {
    explainWriting(path, error);
  }
  return path;
}
