import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { explainWriting, WrongUse } from "@local-serving/base/commandLine/exit";
import { terminalWidth, type Width } from "@local-serving/base/commandLine/layout";
import { type Format, say } from "@local-serving/base/commandLine/output";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { attempt } from "@local-serving/base/faults/defined";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { isHere } from "@local-serving/machines/address";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { readRecord } from "@local-serving/machines/update/readRecord";
import { triedText, underWayText } from "@local-serving/machines/update/sentences";
import { Argument, type Command, Option } from "commander";
import { closeIds } from "../../components/catalogue";
import { readEvidence } from "../../components/evidence";
import { startVerdictOf } from "../../components/memory";
import type { MachinePlan, Plan } from "../../components/plan";
import { type Evidence, PLAN_VERSION } from "../../components/planned";
import { SERVICES } from "../../components/services";
import { parseStackFile, type StackSettings } from "../../components/settings";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
import { compare } from "../plan/against";
import { faultsSection, sectionMarkdown, sectionText } from "../plan/changeReport";
import { dockerRun } from "../plan/dockerRun";
import { fileGroups, filesText } from "../plan/filesText";
import { judgedPlan } from "../plan/judgedPlan";
import { meminfoIn } from "../plan/meminfoFile";
import { otherStacks } from "../plan/otherStacks";
import { notesText, partText, planText } from "../plan/planText";
import { findingsOf } from "../plan/screen/findings";
import { planScreen } from "../plan/screen/planScreen";
import { viewsOf } from "../plan/screenViews";
import { named } from "../stack/named";
import {
  projectOrProgram,
  type StackFileOptions,
  saySample,
  stackFile,
  stackFileOptions,
} from "../stack/stackFile";
import { forStack, typedFor } from "../stack/typed";
import { keptStarts } from "../verify/keptStarts";

interface PlanOptions extends StackFileOptions {
  readonly meminfo?: readonly string[];
  readonly out?: string;
  readonly policyConfig?: string;
  readonly full?: true;
  readonly notes?: true;
  readonly strict?: true;
  readonly against?: string;
  readonly format: Format;
}

export function planCommand(): Command {
  return command({
    name: "plan",
    arguments: [
      new Argument(
        "[name]",
        `show one server or service (\`b\`, ${SERVICES.map(({ name }) => `\`${name}\``).join(", ")}), or the files of a client or the harness (\`codex\`, \`harness\`)`,
      ),
    ],
    formats: ["text", "json", "markdown"],
    options: planOptions(),
    notes: `Exit code: 0 nothing is refused, 1 the stack file has faults or a policy refuses the plan (the JSON is complete then, too;
with faults it has \`faults\` and no \`machines\`; an image that \`serving up\` at a terminal would read first is refused here, too), 2 wrong use or a file that can't be read. \`--format markdown\` goes with \`--against\`.`,
    version: PLAN_VERSION,
    example: "plan --against HEAD~1 --format markdown",
    run: orFaults,
  });
}

const planOptions = (): Option[] => [
  ...stackFileOptions(),
  new Option("--notes", "also what is only good to know"),
  new Option(
    "--full",
    "all of it: memory line by line, KV caches, policies, each container as `docker run`, every file",
  ),
  new Option(
    "--against <source>",
    "show what changes, for a review: against what was `applied`, what was last `verified`, a stack file, or that of a commit",
  ),
  new Option(
    "--strict",
    "exit with 1 also where a server may not start; with --against, where it did surely start before",
  ),
  new Option(
    "--meminfo <file>",
    "copy of the machine's /proc/meminfo, to judge memory by what was measured; with several machines in the stack file, MACHINE=FILE for each",
  ).argParser((text: string, before: readonly string[] = []) => [...before, text]),
  new Option("--out <dir>", "write every rendered file to DIR/<machine>/<role>"),
  new Option(
    "--policy-config <file>",
    `levels of the policies (default: ${LEVELS_FILE} beside the project)`,
  ),
];

/** A review of a file with faults is a decision, too. */
async function orFaults(options: PlanOptions, name?: string): Promise<Outcome> {
  try {
    return await planOutcome(options, name);
  } catch (error) {
    if (options.format !== "markdown" || !(error instanceof FaultyInput)) throw error;
    const { faults, input } = error;
    return {
      result: { faults },
      text: sectionMarkdown(faultsSection(input, faults)),
      failed: true,
    };
  }
}

async function planOutcome(options: PlanOptions, name?: string): Promise<Outcome> {
  const { full = false, notes = false, strict = false, against, format } = options;
  if (format === "markdown" && against === undefined)
    throw new WrongUse(
      "--format markdown is for reviews: add --against applied|verified|FILE|COMMIT.",
    );
  const file = stackFile(options);
  const text = readTextFile(file);
  const settings = parseStackFile(file, text);
  const found = evidence(options, settings);
  const known = { ...found, closeIds: closeIds(settings, found, projectOrProgram()) };
  // The project's own levels need not be there; a file that somebody names must be.
  if (options.policyConfig !== undefined) readTextFile(options.policyConfig);
  const { planned, policies: judged } = judgedPlan(settings, known, options.policyConfig);
  const policies = [...judged, ...(await otherStacks(planned.machines, options))];
  saySample(options);
  await sayTried(planned, text);
  if (options.out !== undefined)
    for (const path of writePlan(planned, options.out)) say(`wrote ${path}`);
  const findings = policies.filter(({ verdict }) => verdict !== "pass");
  const refused = policies.some(({ verdict }) => verdict === "refused");
  const failed = refused || (strict && against === undefined && planned.machines.some(mayNotStart));
  const width = terminalWidth(process.stdout);
  const result = { version: PLAN_VERSION, ...planned, policies, findings };
  if (against !== undefined) {
    const levels = readLevels(options.policyConfig ?? join(projectOrProgram(), LEVELS_FILE));
    const {
      result: change,
      sections,
      isLessSure,
    } = await compare(against, { file, settings, planned }, levels);
    const shown =
      format === "markdown"
        ? sections.map(sectionMarkdown)
        : sections.map((each) => sectionText(each, width));
    return {
      result: { ...result, change },
      text: shown.join("\n\n"),
      failed: failed || (strict && isLessSure),
    };
  }
  if (name !== undefined) return { result, text: namedText(planned.machines, name, width), failed };
  const typed = typedFor(options);
  if (full) {
    const text = planText(planned, policies, width, { typed, ...startsOn(planned, file) });
    return { result, text, failed };
  }
  const machines = await viewsOf(planned, settings);
  const next = nextText(refused, options);
  const screen = planScreen(planned, policies, { width, typed, machines, next });
  const said = notes ? notesText(findingsOf(planned, policies, typed).notes, width) : "";
  return { result, text: [screen, said].filter(Boolean).join("\n\n"), failed };
}

/** A server or service, or the files of what has no container. */
function namedText(machines: readonly MachinePlan[], name: string, width: Width): string {
  const groups = fileGroups(machines);
  const isServer = attempt(() => named(machines, name)) !== undefined;
  const files = isServer ? undefined : filesText(machines, name);
  return files ?? partText(named(machines, name, groups), width);
}

/** What to run next, and what shows the rest of the plan. */
function nextText(isRefused: boolean, options: PlanOptions): string {
  const typed = (command: string) => forStack(command, options);
  const more = `More: ${typed("serving plan --full")}`;
  // A file by itself may be of another computer, or of no stack that could be applied.
  if (isRefused || options.file !== undefined) return more;
  return `Next: ${typed("serving up")}  ${more}`;
}

/** Whether a server of a machine may not start, as far as its plan judges that. */
const mayNotStart = ({ kv }: MachinePlan): boolean =>
  Object.values(kv).some((each) => each !== null && startVerdictOf(each) !== "starts");

/** Says first what `serving up --verified` knows of these settings, if that is kept here. */
async function sayTried({ machines: [first] }: Plan, text: string): Promise<void> {
  if (first === undefined || !isHere(first)) return;
  const { failed, underWay, unreadable } = await readRecord(first);
  if (failed !== undefined && failed.settings === fingerprintOfText(text)) say(triedText(failed));
  if (underWay !== undefined) say(underWayText(underWay));
  if (unreadable !== undefined) say(unreadable);
}

/** Looks up how long starts took here, where a server starts on request. */
function startsOn({ machines }: Plan, file: string) {
  if (machines.every(({ together }) => together === undefined)) return {};
  return { startsOn: (machine: string) => keptStarts(file, machine) };
}

function evidence(options: PlanOptions, settings: StackSettings): Evidence {
  const machines = Object.keys(settings.machines);
  const given = (options.meminfo ?? []).map((each) => ofMachine(each, machines));
  const meminfo = given.map(
    ([machine, file]) => [machine, meminfoIn(file, readTextFile(file))] as const,
  );
  return { ...readEvidence(settings, projectOrProgram()), meminfo: Object.fromEntries(meminfo) };
}

/** The machine that a meminfo file belongs to: two machines share no page cache. */
function ofMachine(given: string, machines: readonly string[]): [machine: string, file: string] {
  const named = machines.find((name) => given.startsWith(`${name}=`));
  if (named !== undefined) return [named, given.slice(named.length + 1)];
  const [only = "", ...others] = machines;
  const [, other, file = ""] = /^([\w.-]+)=(.+)$/s.exec(given) ?? [];
  if (other !== undefined && !existsSync(given))
    throw new WrongUse(
      `--meminfo ${given}: the stack file has no machine ${other}. Write --meminfo ${only}=${file}${others.length === 0 ? "" : `, or another of ${machines.join(", ")}`}.`,
    );
  if (others.length === 0) return [only, given];
  throw new WrongUse(
    `--meminfo ${given}: whose? The stack file has ${machines.join(", ")}; write --meminfo ${only}=${given}, once for each machine.`,
  );
}

/**
 * Writes every rendered file to DIR/<machine>/<role>, and each container as `docker run`. Returns
 * what was written.
 */
function writePlan(plan: Plan, folder: string): string[] {
  return plan.machines.flatMap((machine) => [
    ...machine.files.map((file) => write(join(folder, machine.name, file.role), file.text)),
    ...machine.containers.map((container) =>
      write(
        join(folder, machine.name, `${container.name}.docker-run.sh`),
        `${dockerRun(container)}\n`,
      ),
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
