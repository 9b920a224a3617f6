import { styled } from "../../commandLine/output";
import { START_GATE } from "../../components/inference-server/startGate";
import { type MachinePlan, type Plan, serversOn } from "../../components/plan/types";
import type { PlannedContainer } from "../../components/planned/container";
import type { PlannedFile } from "../../components/planned/file";
import type { Judged } from "../../policies/judge";
import { dockerRun } from "./dockerRun";
import { hanging, heading, indented, table, UNBOUNDED, type Width } from "./layout";
import { graveWarnings, kvText, ledgerText } from "./memoryText";

/** The whole plan as a person reads it: what would run, the memory, the addresses, and any reason not to apply it. */
export function planText(plan: Plan, findings: readonly Judged[], width: Width = UNBOUNDED): string {
  return [
    ...plan.machines.map((machine) => machineText(machine, width)),
    policyText(findings, width),
    warningText(plan, width),
    hanging(summary(plan, findings), 0, width),
  ]
    .filter(Boolean)
    .join("\n\n");
}

function machineText(machine: MachinePlan, width: Width): string {
  const { hostInstance } = machine;
  return [
    styled("bold", `Machine ${machine.name}`),
    hostInstance === "none"
      ? "  instance A: none"
      : `  ${hanging(`instance A: port ${hostInstance.port}, utilization ${hostInstance.gpuMemoryUtilization}, declared only: nothing here touches it`, 4, width)}`,
    "",
    ledgerText(machine, width),
    "",
    ...Object.entries(machine.kv).flatMap(([container, kv]) => kvText(container, kv, width)),
    heading(machine.endpoints.length === 0 ? "Nothing here answers: a rank's head does" : "Reached at"),
    ...table(
      machine.endpoints.map(({ name, url, network }) => [
        name,
        network === undefined ? url : `${url}, from the network ${network}`,
      ]),
      width,
    ),
    ...machine.containers.flatMap((container) => [
      "",
      heading(`Container ${container.name}`),
      ...rankText(machine, container),
      ...gateText(machine, container),
      indented(dockerRun(ungated(container))),
    ]),
    ...machine.files.flatMap((file) => ["", heading(fileHeading(machine, file)), ...fileText(file)]),
    ...machine.secretFiles.flatMap((file) => [
      "",
      heading(`File ${file.path} (mode ${file.mode})`),
      indented(`the value of ${file.variable}, which is in no plan`),
    ]),
    ...(machine.commands.length === 0
      ? []
      : ["", heading("To be run by you"), ...machine.commands.map((command) => indented(command))]),
  ].join("\n");
}

function fileHeading(machine: MachinePlan, file: PlannedFile): string {
  const byHand = file.role === "simple-server-dropin" && machine.elevate === "none";
  return `File ${file.path} (mode ${file.mode}${file.here ? ", on this computer" : ""})${byHand ? ": needs root, so by you" : ""}`;
}

/** The applied plan repeats this plan, and launchers mostly repeat each other: `--out` writes them. */
function fileText(file: PlannedFile): string[] {
  if (file.role === "applied-plan") return [indented("this plan as JSON")];
  if (!file.role.startsWith("launcher-")) return [indented(file.text)];
  const [, purpose = ""] = file.text.split("\n");
  return [indented(`${purpose}\n# ${file.text.trimEnd().split("\n").length} lines of sh: \`--out DIR\` writes them.`)];
}

const rankOf = (machine: MachinePlan, name: string) =>
  serversOn(machine).find(({ container }) => container.name === name)?.rank;

/** Where the other ranks of a container's server are, and the link between them. */
function rankText(machine: MachinePlan, { name }: PlannedContainer): string[] {
  const rank = rankOf(machine, name);
  if (rank === undefined) return [];
  const { index, nodes, link } = rank;
  const others = nodes.flatMap(({ machine, address, container }, at) =>
    at === index ? [] : [`rank ${at} is ${container} on ${machine} (${address})`],
  );
  const by = link.hcas.length === 0 ? "sockets" : `RDMA on ${link.hcas.join(" and ")}, GID ${link.gidIndex}`;
  return [
    `    rank ${index} of ${nodes.length}${index === 0 ? ", the head, which has the API" : ""}; ${others.join(", ")}`,
    `    link: ${link.interface}, ${link.address}, by ${by}; no other computer may be on it`,
  ];
}

/** The gate is a long script, so the command is shown without it; `--out` writes both. */
function gateText(machine: MachinePlan, container: PlannedContainer): string[] {
  const { hostInstance } = machine;
  if (ungated(container) === container) return [];
  const beside = hostInstance === "none" ? "" : ", and instance A's share too unless that answers";
  const together = rankOf(machine, container.name) === undefined ? "" : ", and until all ranks can start";
  return [`    starts behind a gate: waits until MemAvailable covers what it takes${beside}${together}`];
}

function ungated(container: PlannedContainer): PlannedContainer {
  return container.entrypoint?.[2] === START_GATE ? { ...container, entrypoint: ["vllm", "serve"] } : container;
}

function policyText(findings: readonly Judged[], width: Width): string {
  const marks = { warned: styled("yellow", "warned "), refused: styled("red", "REFUSED") };
  const passed = findings.filter((each) => each.verdict === "pass").map((each) => each.name);
  return [
    styled("bold", "Policies"),
    `  ${styled("green", "pass   ")} ${hanging(passed.join(", "), 10, width)}`,
    ...findings.flatMap(({ verdict, name, resource, message }) =>
      verdict === "pass"
        ? []
        : [
            `  ${marks[verdict]} ${name} (${resource})\n${indented(hanging(message, 10, width).replaceAll(/^ +/gm, ""), 10)}`,
          ],
    ),
  ].join("\n");
}

function warningText({ warnings }: Plan, width: Width): string {
  if (warnings.length === 0) return "";
  return [
    styled("bold", "Warnings"),
    ...warnings.map((each) => `  ${styled("yellow", "!")} ${hanging(`${each.machine}: ${each.message}`, 4, width)}`),
  ].join("\n");
}

/** Comes last, where the eye rests after a long plan. */
function summary({ machines, warnings }: Plan, findings: readonly Judged[]): string {
  const refusedBy = findings.filter((each) => each.verdict === "refused").map((each) => each.name);
  const warned = warnings.length + findings.filter((each) => each.verdict === "warned").length;
  const grave = machines.flatMap(graveWarnings);
  const verdict =
    refusedBy.length === 0
      ? grave.length === 0
        ? "Nothing is refused."
        : styled("red", `Nothing is refused, BUT ${grave.join(", and ")}.`)
      : styled("red", `REFUSED by ${[...new Set(refusedBy)].join(", ")}: \`up\` would stop before the first change.`);
  if (warned === 0) return `${verdict} No warnings.`;
  return `${verdict} ${warned === 1 ? "1 warning" : `${warned} warnings`} above.`;
}
