import { defined } from "@local-serving/base/faults/defined";
import { closeIds, readKnownStarts } from "../../components/catalogue";
import { readModels } from "../../components/evidence";
import { type MachinePlan, type Plan, plan } from "../../components/plan";
import type { Evidence } from "../../components/planned";
import { judgeMachine, type MachineFacts } from "../../components/preflight";
import {
  NAMESPACE,
  parseEngineConfig,
  parseStackFile,
  type StackSettings,
} from "../../components/settings";
import { mendsByReading, unreadEntries } from "../pin/unread";
import { judgedPlan } from "../plan/judgedPlan";
import type { HostFacts } from "../sees/computer/facts";
import { pageFromProject, projectOrProgram } from "../stack/stackFile";
import { commented, commentedYaml } from "../stackEdit/commentedYaml";
import { found } from "./found";
import { machineName, newServers, settingsFor, shareOfA, type Wanted } from "./settings";
import { withServers } from "./withServers";

/**
 * Writes, plans and judges a stack file. `home` is that of the operator where the facts are of this
 * computer: then the model cache is read; else nothing of this computer is. `toMend` is said in the
 * file.
 */
export function draft(
  facts: HostFacts,
  wanted: Wanted,
  home?: string,
  toMend: readonly string[] = [],
) {
  const { text, settings } = writtenDraft(facts, wanted, toMend);
  const { planned, policies } = judgedPlan(settings, draftEvidence(settings, home));
  const machine = machineOf(planned, wanted);
  const refused = policies.filter(({ verdict }) => verdict === "refused");
  const unread = unreadEntries(settings);
  /** What `up` refuses, whatever it reads in images. */
  const lasting = refused.filter((each) => !mendsByReading(each, unread, { plan: planned }));
  /** What the preflight of `up` would find of it on this machine. */
  const findings = judgeMachine(machine, machineFacts(facts, machine, wanted));
  /** Why servers may not start, in the plan's own words. */
  const doubts = planned.warnings
    .filter(({ code }) => code === "kv-room")
    .map(({ message }) => message);
  return { text, settings, machine, refused, lasting, findings, doubts };
}

/** The text of a stack file, and what it says. Throws `FaultyInput`. */
function writtenDraft(facts: HostFacts, wanted: Wanted, toMend: readonly string[] = []) {
  const text = stackText(facts, wanted, toMend);
  return { text, settings: parseStackFile(`Pulumi.${wanted.name}.yaml`, text) };
}

/**
 * What a stack file would say: a new one without its text, so that no fault of it has a line. Throws
 * `FaultyInput`.
 */
export function readDraft(facts: HostFacts, wanted: Wanted): StackSettings {
  const { into, server } = wanted;
  if (into !== undefined)
    return parseStackFile(into.file, withServers(into, newServers(facts, wanted, server ?? [])));
  const machines = { [machineName(wanted)]: settingsFor(facts, wanted).settings };
  return parseEngineConfig({ [`${NAMESPACE}:machines`]: JSON.stringify(machines) });
}

/** A stack file that is planned, and judged by no policy; `home` as for `draft`. */
export function plannedDraft(facts: HostFacts, wanted: Wanted, home?: string) {
  const settings = readDraft(facts, wanted);
  return { settings, machine: machineOf(plan(settings, draftEvidence(settings, home)), wanted) };
}

function machineOf({ machines }: Pick<Plan, "machines">, { name, into }: Wanted): MachinePlan {
  const own = into?.name ?? machineName({ name });
  const machine = machines.find((each) => each.name === own);
  if (machine === undefined) throw new Error("a stack file plans the machine that it declares");
  return machine;
}

/** What a draft is planned by; `home` as for `draft`. */
export function draftEvidence(settings: StackSettings, home?: string): Evidence {
  const project = projectOrProgram();
  const models = readModels(settings, project, home);
  const found = { home: home ?? "/home/operator", models, starts: readKnownStarts() };
  return { ...found, closeIds: closeIds(settings, found, project) };
}

/** What the preflight would read of the machine, as far as it was. */
function machineFacts(
  { docker, memory, servers, ports, device, ...kernel }: HostFacts,
  machine: MachinePlan,
  { lowerA }: Wanted,
): MachineFacts {
  const [a] = servers;
  const released = a === undefined || lowerA === undefined ? 0 : shareOfA(a, memory) - lowerA;
  const availableGiB = memory.availableGiB + released * memory.totalGiB;
  const ours = docker.reachable ? docker.ours.filter((each) => each.machine === machine.name) : [];
  const containers = ours.map((each) =>
    defined({ ...each, ports: each.ports.map((host) => ({ host })) }),
  );
  const listeners = ports.map((port) =>
    defined({ port, argv: servers.find((server) => server.port === port)?.argv }),
  );
  return {
    docker: docker.reachable ? defined({ ...docker, containers }) : docker,
    memory: { ...memory, availableGiB },
    listeners,
    directories: [],
    fileFolders: [],
    faultyVariables: [],
    kernel,
    ...defined({ device }),
  };
}

function stackText(facts: HostFacts, wanted: Wanted, toMend: readonly string[]): string {
  const list = (title: string, sentences: readonly string[]) =>
    sentences.length === 0
      ? ""
      : `#\n# ${title}:\n${sentences.map((each) => commented(each, "", "- ")).join("")}`;
  const { settings, comments } = settingsFor(facts, wanted);
  return [
    `# yaml-language-server: $schema=${pageFromProject("docs/reference/stack-file.schema.json")}\n#\n`,
    commented(
      `${facts.host} as it should be. \`serving init\` looked at it on ${facts.readAt.slice(0, 10)} and wrote this file once; now it is yours. Edit, read the preview (\`serving preview\`), apply (\`serving up\`). ${pageFromProject("docs/reference/stack-file.md")} describes every key.`,
    ),
    list("Found", found(facts)),
    list("Not carried over from the command", wanted.leftOut ?? []),
    list("Fix before `serving up`", toMend),
    `config:\n  local-serving:machines:\n    ${machineName(wanted)}:\n`,
    commentedYaml(settings, comments, "      "),
  ].join("");
}
