import { posix } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { readContainers } from "@local-serving/machines/docker/containers";
import { computerOf, filesOf } from "@local-serving/machines/files";
import { readRecord } from "@local-serving/machines/update/readRecord";
import { FEATURES } from "../features";
import { type PreflightFinding, warned } from "../features/kind";
import { type MachinePlan, type Plan, wordFor } from "../plan";
import { type Locate, placed } from "../settings";
import { connectionProblem } from "./connection";
import { judgeEngines, judgeMachine } from "./judgeMachine";
import { judgeRecord } from "./judgeRecord";
import { otherStackFindings, readOtherStack } from "./otherStack";
import { readMachine } from "./readMachine";
import type { MachineFacts, UpdateFinding } from "./types";

/** What the preflight is told of an update. */
export interface Updating {
  /** Finds the lines of the stack file. */
  readonly locate: Locate;
  /** Tells the settings of the stack file from others. */
  readonly fingerprint: string;
  /** The state of the stack has nothing. */
  readonly isNew: boolean;
  readonly preview?: boolean;
}

/**
 * Reads every machine of the plan and returns the reasons not to update. A preview waits 2 s for
 * what an update reads of the machine itself, and says where that didn't come. A machine that is
 * another computer is read over ssh.
 */
export async function preflight(
  { machines }: Pick<Plan, "machines">,
  { locate, fingerprint, isNew, preview = false }: Updating,
  reading = readMachine,
): Promise<UpdateFinding[]> {
  const own = { machines: machines.map(({ name }) => name), isNew };
  const read: (MachineFacts & { readonly name: string; readonly machine: MachinePlan })[] = [];
  const judged = async (machine: MachinePlan) => {
    const problem = await connectionProblem(machine);
    // A machine that is merely away doesn't stop the others. The next update includes it again.
    if (problem?.verdict === "warned")
      return [{ ...problem, message: `${problem.message} ${OTHERS_GO_ON}` }];
    if (problem !== undefined) return [problem];
    const isFirst = machine === machines[0];
    const seen = [
      ...otherStackFindings(machine, await readOtherStack(machine, own)),
      ...(isFirst ? judgeRecord(await readRecord(machine), fingerprint) : []),
      ...(await replacedFiles(machine)),
      ...(await stoppedContainers(machine)),
    ];
    const facts = await (preview ? soon(reading(machine)) : reading(machine));
    if (facts === undefined) return [...seen, warned(NOT_READ)];
    // A preview without a Docker engine is said to be one.
    if (preview && !facts.docker.reachable) return seen;
    read.push({ ...facts, name: machine.name, machine });
    return [...seen, ...judgeMachine(machine, facts)];
  };
  const findings = await Promise.all(
    machines.map(async (machine) =>
      (await judged(machine)).map((finding) => ({ ...finding, machine: machine.name })),
    ),
  );
  return [...findings.flat(), ...judgeEngines(read), ...judgeFeatures(read)].map(
    ({ machine, verdict, message, setting, value }) => ({
      name: `preflight of ${machine}`,
      verdict,
      ...placed(
        message,
        setting === undefined
          ? undefined
          : defined({ path: ["machines", machine, ...setting.split(".")], value }),
        locate,
      ),
    }),
  );
}

/** The longest that a preview waits for a machine. */
const PREVIEW_MS = 2000;

const NOT_READ = `It wasn't read within ${PREVIEW_MS / 1000} s, so this preview doesn't say what of it \`up\` would refuse.`;

/** What a machine answers in time. Reading changes nothing, so that it may end later. */
async function soon(reading: Promise<MachineFacts>): Promise<MachineFacts | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, PREVIEW_MS, undefined);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

const OTHERS_GO_ON = "Its own resources will fail; the update of other machines continues.";

/**
 * Finds containers of the plan that somebody stopped: the engine leaves them stopped. Those that
 * start on request may be. If Docker doesn't answer, other findings say so.
 */
export async function stoppedContainers(
  machine: Pick<MachinePlan, "dockerHost" | "containers" | "inferenceServers" | "services">,
) {
  const all = await readContainers(machine.dockerHost, ["status=exited"]).catch(() => []);
  return all.flatMap(({ name }) =>
    machine.containers.some((each) => each.name === name && each.start === undefined)
      ? [
          warned(
            `${name} is stopped. An update that doesn't replace it leaves it stopped: \`serving start ${wordFor(machine, name)}\` starts it.`,
          ),
        ]
      : [],
  );
}

/**
 * Beside each file that we write lies the record of what was there before (see host/hostFile.sh).
 */
export const recordPathOf = (path: string) =>
  posix.join(posix.dirname(path), `.${posix.basename(path)}.local-serving`);

/** What an operator misses while a file of theirs is replaced, by the file's role. */
const MISSED: Readonly<Partial<Record<MachinePlan["files"][number]["role"], string>>> = {
  "harness-providers": " Meanwhile the harness only knows the reviewers of the stack file.",
};

/**
 * Files that lie where the plan has one and that are not ours. Nothing is lost, but what they set
 * no longer applies. The preview says so, while there is still time not to run `up`. Only reads.
 */
export async function replacedFiles({
  dockerHost,
  files,
}: Pick<MachinePlan, "dockerHost" | "files">): Promise<PreflightFinding[]> {
  const findings = await Promise.all(
    files.map(async (file): Promise<PreflightFinding[]> => {
      const { role, path } = file;
      const computer = filesOf(computerOf({ dockerHost }, file));
      // What isn't a regular file is refused when it is written.
      if (
        !(await computer.isPlain(path)) ||
        (await computer.state(recordPathOf(path))) !== "missing"
      )
        return [];
      const message = `${path} exists and isn't ours. \`up\` replaces the whole file and keeps the original as ${recordPathOf(path)}/original. It is put back when our file is removed.${MISSED[role] ?? ""}`;
      return [{ verdict: "warned", message }];
    }),
  );
  return findings.flat();
}

/** Judges what features share among machines. */
const judgeFeatures = (machines: readonly (MachineFacts & { readonly machine: MachinePlan })[]) =>
  FEATURES.flatMap(({ preflight: own }, index) =>
    own.judgeAll(
      machines.map(({ machine, ofFeatures }) => ({ machine, read: ofFeatures?.[index] })),
    ),
  );
