import {
  hanging,
  headed,
  heading,
  indented,
  table,
  titled,
  UNBOUNDED,
  type Width,
} from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { asItIs } from "@local-serving/base/commandLine/ownCommand";
import { counted } from "@local-serving/base/faults/quoting";
import { FEATURES } from "../../components/features";
import type { MachinePlan, Plan } from "../../components/plan";
import {
  type PlannedContainer,
  type PlannedFile,
  placesOf,
  serversOn,
} from "../../components/planned";
import { SIMPLE_SERVER } from "../../components/planned/fields";
import type { Judged } from "../../policies/judge";
import { rules } from "../../policies/rules";
import { type Named, ON_DEMAND } from "../stack/named";
import type { KeptStart } from "../verify/keptStarts";
import { dockerRun } from "./dockerRun";
import { kvOf, kvText, ledgerText } from "./memoryText";
import { onDemandText } from "./onDemandText";
import { countsText, findingsOf } from "./screen/findings";
import { togetherText } from "./togetherText";
import { verdictOf } from "./verdict";

/**
 * All of a plan as a person reads it: the memory line by line, KV caches, addresses, each container
 * and file, what every policy says, warnings and notes. The verdict comes last, where the eye rests.
 */
export function planText(
  { machines, warnings }: Plan,
  policies: readonly Judged[],
  width: Width = UNBOUNDED,
  {
    startsOn = () => () => undefined,
    typed = (text) => text,
  }: {
    /** How long starts took on a machine. */
    readonly startsOn?: (machine: string) => KeptStart;
    /** Advice with its commands as they are typed for this stack. */
    readonly typed?: (text: string) => string;
  } = {},
): string {
  const judged = policies.map((each) => ({ ...each, message: typed(each.message) }));
  const found = findingsOf({ machines, warnings }, policies, typed);
  const parts = [
    ...machines.map((machine) => machineText(machine, width, startsOn(machine.name))),
    policyText(judged, width),
    listText("Warnings", styled("yellow", "!"), found.warnings, width),
    notesText(found.notes, width),
    hanging(`${verdictOf(machines, policies)} ${countsText(found)}`, 0, width),
  ];
  return parts.filter(Boolean).join("\n\n");
}

/** Notes in full. */
export const notesText = (notes: Plan["warnings"], width: Width): string =>
  listText("Notes", "-", notes, width);

/**
 * One server or service with its `docker run`, its files and its KV cache, or what is known of one
 * that isn't ours.
 */
export function partText({ machine, key, container, server }: Named, width: Width): string {
  const resource =
    key === ON_DEMAND
      ? `${machine.name}-${ON_DEMAND}`
      : machine.services.find(({ name }) => name === key)?.resource;
  const isShown = ({ role, partOf }: PlannedFile) =>
    server === undefined ? partOf === resource : role === "start-gate";
  const kv = container && kvOf(machine, container.name);
  const parts = [
    ...(key === ON_DEMAND ? onDemandText(machine, () => undefined, width).slice(0, -1) : []),
    ...(container === undefined ? [] : containerText(machine, container)),
    ...(kv === undefined || container === undefined
      ? []
      : ["", ...kvText(container.name, kv, width)]),
    ...machine.files.filter(isShown).flatMap((file) => fileText(machine, file)),
    ...(key === SIMPLE_SERVER ? commandsText(machine) : []),
  ];
  return parts.length === 0 ? instanceText(machine, width) : parts.join("\n").trim();
}

function machineText(machine: MachinePlan, width: Width, keptStart: KeptStart): string {
  return [
    styled("bold", `Machine ${machine.name}`),
    instanceText(machine, width),
    "",
    ledgerText(machine, width),
    "",
    ...togetherText(machine, keptStart, width),
    ...onDemandText(machine, keptStart, width),
    ...Object.keys(machine.kv).flatMap((container) =>
      kvText(container, kvOf(machine, container) ?? null, width),
    ),
    ...adaptersText(machine, width),
    heading(
      machine.endpoints.length > 0
        ? "Reached at"
        : `Nothing here answers${serversOn(machine).length > 0 ? ": the head of the ranks does" : ""}`,
    ),
    ...table(
      machine.endpoints.map(({ name, url, network }) => [
        name,
        network === undefined ? url : `${url}, from the network ${network}`,
      ]),
      width,
    ),
    ...wholeText(machine),
  ].join("\n");
}

/** The adapters of each server that has any: where each is from, and the slots for all. */
function adaptersText({ inferenceServers }: MachinePlan, width: Width): string[] {
  return inferenceServers.flatMap(({ container, adapters = [], adapterSlots }) => {
    if (adapters.length === 0 || adapterSlots === undefined) return [];
    const { rank, count: slots } = adapterSlots;
    const rows = adapters.map(({ name, path, id, revision }) => [
      name,
      path ?? `${id} at ${revision?.slice(0, 12)}`,
    ]);
    const used = `${counted(slots, "slot")} of rank ${rank}, the most in use at once`;
    return titled(`Adapters of ${container.name}`, [...rows, ["", used]], width);
  });
}

const wholeText = (machine: MachinePlan) => [
  ...machine.containers.flatMap((container) => containerText(machine, container)),
  ...machine.files.flatMap((file) => fileText(machine, file)),
  ...machine.secretFiles.flatMap((file) => [
    "",
    heading(`File ${file.path} (mode ${file.mode})`),
    indented(`the value of ${file.variable}, which no plan shows`),
  ]),
  ...commandsText(machine),
];

const instanceText = ({ hostInstance }: MachinePlan, width: Width) =>
  hostInstance === "none"
    ? "  instance A: none"
    : `  ${hanging(`instance A: port ${hostInstance.port}, utilization ${hostInstance.gpuMemoryUtilization}, declared only: nothing here touches it`, 4, width)}`;

const commandsText = ({ commands }: MachinePlan) =>
  commands.length === 0
    ? []
    : ["", heading("To be run by you"), ...commands.map((command) => indented(command))];

const containerText = (machine: MachinePlan, container: PlannedContainer) => [
  "",
  heading(`Container ${container.name}`),
  ...featureText(machine, container),
  ...gateText(machine, container),
  ...titlesText(machine, container),
  indented(asItIs(dockerRun(ungated(container)))),
];

/**
 * The applied plan repeats this plan, and launchers mostly repeat each other: `--out` writes them.
 */
export function fileText(
  { elevate }: MachinePlan,
  { role, purpose, path, mode, here, text }: PlannedFile,
): string[] {
  const byHand = role === "simple-server-dropin" && elevate === "none";
  const where = `File ${path} (mode ${mode}${here ? ", on this computer" : ""})${byHand ? ": needs root, so you write it" : ""}`;
  const shown =
    role === "applied-plan"
      ? "this plan as JSON"
      : role.startsWith("launcher-")
        ? `# ${purpose}\n# ${text.trimEnd().split("\n").length} lines of sh: \`--out DIR\` writes them.`
        : asItIs(text);
  return ["", heading(where), indented(shown)];
}

/** What features say of the server in a container. */
const featureText = (machine: MachinePlan, { name }: PlannedContainer): string[] =>
  serversOn(machine)
    .filter(({ container }) => container.name === name)
    .flatMap((server) => FEATURES.flatMap((each) => each.texts.lines(server)))
    .map((line) => `    ${line}`);

/** Whether the server in a container has others, with which it starts. */
const startsWithOthers = (machine: MachinePlan, { name }: PlannedContainer): boolean =>
  serversOn(machine).some(
    (server) => server.container.name === name && placesOf(machine.name, server).length > 1,
  );

/** The gate is a long script, so the command is shown without it; `--out` writes both. */
function gateText(machine: MachinePlan, container: PlannedContainer): string[] {
  const { hostInstance } = machine;
  if (!container.gate) return [];
  const beside = hostInstance === "none" ? "" : ", plus instance A's share while A doesn't answer";
  const together = startsWithOthers(machine, container) ? ", and until all ranks can start" : "";
  return [
    `    starts behind a gate: waits until MemAvailable covers what it takes${beside}${together}`,
  ];
}

/** Who writes the titles of chats, where that is chosen, or where every model thinks for them, too. */
function titlesText(
  { chatUi, inferenceServers }: MachinePlan,
  { role, env }: PlannedContainer,
): string[] {
  if (role !== "chat-ui" || chatUi === null) return [];
  if (env.ENABLE_TITLE_GENERATION === "False") return ["    writes no titles, tags and follow-ups"];
  const { TASK_MODEL_EXTERNAL: named } = env;
  if (named !== undefined) return [`    titles, tags and follow-ups are by ${named}`];
  const thinks = (key: string) =>
    inferenceServers.some((server) => server.key === key && server.model.thinking);
  return chatUi.servers.length > 0 && chatUi.servers.every(thinks)
    ? [
        "    titles, tags and follow-ups: each chat's own model thinks for them, too; `chatUi.taskModel` names",
        "    another model, or leaves them out (`none`)",
      ]
    : [];
}

const ungated = (container: PlannedContainer): PlannedContainer =>
  container.gate ? { ...container, entrypoint: container.gate.starts } : container;

function policyText(policies: readonly Judged[], width: Width): string {
  const marks = { warned: styled("yellow", "warned "), refused: styled("red", "REFUSED") };
  const byHand = rules.flatMap((rule) => (rule.byHand ? [rule.name] : []));
  const passed = policies
    .filter(({ verdict, name }) => verdict === "pass" && !byHand.includes(name))
    .map(({ name }) => name);
  const noted = [...new Set(policies.filter(isNote).map((each) => each.name))];
  return headed(styled("bold", "Policies"), [
    `${styled("green", "pass   ")} ${hanging(passed.join(", "), 10, width)}`,
    ...(noted.length === 0
      ? []
      : [`note    ${hanging(`${noted.join(", ")}: below in Notes`, 10, width)}`]),
    ...policies.flatMap((each) =>
      each.verdict === "pass" || isNote(each)
        ? []
        : [
            `${marks[each.verdict]} ${each.name} (${each.resource})\n${indented(hanging(saidText(each), 10, width).replaceAll(/^ +/gm, ""), 10)}`,
          ],
    ),
  ]);
}

const saidText = ({ saidBy, message }: Judged): string =>
  saidBy === undefined ? message : `The same as ${saidBy} says, of the same line.`;

const isNote = ({ note }: Judged) => note === true;

function listText(
  title: string,
  mark: string,
  warnings: readonly Plan["warnings"][number][],
  width: Width,
): string {
  if (warnings.length === 0) return "";
  const lines = warnings.map(
    ({ machine, message }) => `${mark} ${hanging(`${machine}: ${message}`, 4, width)}`,
  );
  return headed(styled("bold", title), lines);
}
