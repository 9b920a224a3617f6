import { styleText } from "node:util";
import { START_GATE } from "../../components/inference-server/startGate";
import { kvFacts } from "../../components/plan/kvFacts";
import { hundredths } from "../../components/plan/ledger/ledger";
import { AGGREGATE_LIMIT, utilizationText } from "../../components/plan/ledger/utilization";
import type { MachinePlan, Plan, PlannedContainer, PlannedFile, ServerKv } from "../../components/plan/types";
import { dockerRun } from "./dockerRun";
import { hanging, indented, table, UNBOUNDED, type Width } from "./layout";
import { letterOf, memoryBar } from "./memoryBar";

/** Verdict of one policy on one resource. */
export interface Verdict {
  readonly name: string;
  readonly level: string;
  readonly verdict: "pass" | "refused" | "warned";
  readonly message: string;
  readonly resource: string;
}

/** The whole plan as a person reads it: what would run, the memory, where it is reached, and what speaks against it. */
export function planText(plan: Plan, verdicts: readonly Verdict[], width: Width = UNBOUNDED): string {
  return [
    ...plan.machines.map((machine) => machineText(machine, width)),
    policyText(verdicts, width),
    warningText(plan, width),
    hanging(summary(plan, verdicts), 0, width),
  ]
    .filter(Boolean)
    .join("\n\n");
}

function machineText(machine: MachinePlan, width: Width): string {
  const { hostInstance } = machine;
  return [
    styleText("bold", `Machine ${machine.name}`),
    hostInstance === "none"
      ? "  instance A: none"
      : `  ${hanging(`instance A: port ${hostInstance.port}, utilization ${hostInstance.gpuMemoryUtilization}, declared only: nothing here touches it`, 4, width)}`,
    "",
    ledgerText(machine, width),
    "",
    ...Object.entries(machine.kv).flatMap(([container, kv]) => kvText(container, kv, width)),
    heading("Reached at"),
    ...table(
      machine.endpoints.map((endpoint) => [endpoint.name, endpoint.url]),
      width,
    ),
    ...machine.containers.flatMap((container) => [
      "",
      heading(`Container ${container.name}`),
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
  return `File ${file.path} (mode ${file.mode})${byHand ? ": needs root, so by you" : ""}`;
}

/** The applied plan is this plan once more, and a launcher is mostly the same checks as the next: `--out` writes them. */
function fileText(file: PlannedFile): string[] {
  if (file.role === "applied-plan") return [indented("this plan as JSON")];
  if (!file.role.startsWith("launcher-")) return [indented(file.text)];
  const [, purpose = ""] = file.text.split("\n");
  return [
    indented(
      `${purpose}\n# ${file.text.trimEnd().split("\n").length} lines of sh: \`--out DIR\` writes them.`,
    ),
  ];
}

function ledgerText({ ledger, admission }: MachinePlan, width: Width): string {
  const free = hundredths(hundredths(ledger.totalGiB) - ledger.sumGiB);
  const line = (text: string) => `  ${hanging(text, 4, width)}`;
  return [
    heading("Memory"),
    `  ${memoryBar(ledger)}`,
    ...table(
      [
        ...ledger.lines.map(({ gib, basis, source }, index) => [
          `${letterOf(index)} ${lineName(ledger, index)}`,
          gibColumn(gib),
          `${basis}: ${source}`,
        ]),
        ["  sum", gibColumn(ledger.sumGiB), `of ${ledger.totalGiB.toFixed(2)} GiB`],
        free < 0
          ? ["  missing", gibColumn(-free), styleText("red", "does not fit")]
          : ["  left", gibColumn(free), ""],
      ],
      width,
    ),
    line(
      `aggregate utilization ${utilizationText(ledger.aggregateUtilization)}, limit ${utilizationText(AGGREGATE_LIMIT)}`,
    ),
    ...Object.entries(ledger.largestUtilization).map(([name, { bySum, byAggregate }]) =>
      line(
        `largest utilization that fits for ${name}: ${Math.min(bySum, byAggregate).toFixed(2)} (${bySum.toFixed(2)} by the sum, ${byAggregate.toFixed(2)} by the limit)`,
      ),
    ),
    ...admission.map(({ name, wantedGiB, availableGiB, admitted }) =>
      line(
        `${name} ${admitted ? "would start" : styleText("red", "would not start")}: ${wantedGiB.toFixed(2)} GiB wanted, ${availableGiB.toFixed(2)} GiB available by this meminfo`,
      ),
    ),
  ].join("\n");
}

function gibColumn(gib: number): string {
  return `${gib.toFixed(2).padStart(8)} GiB`;
}

/** What belongs to a server stands below it, without its name once more. */
function lineName({ lines }: MachinePlan["ledger"], index: number): string {
  const { name = "" } = lines[index] ?? {};
  const owner = lines.slice(0, index).findLast((each) => name.startsWith(`${each.name}: `));
  return owner === undefined ? name : `  ${name.slice(owner.name.length + 2)}`;
}

function kvText(container: string, kv: ServerKv | null, width: Width): string[] {
  const facts = kv === null ? ["    not known, see the warnings"] : table(kvFacts(kv), width);
  return [heading(`KV cache of ${container}`), ...facts, ""];
}

/** The gate is a script of some length, so the command is shown without it; `--out` writes both. */
function gateText({ hostInstance }: MachinePlan, container: PlannedContainer): string[] {
  if (ungated(container) === container) return [];
  const beside = hostInstance === "none" ? "" : ", and instance A's too unless that answers";
  return [`    starts behind a gate: waits until MemAvailable covers its share${beside}`];
}

function ungated(container: PlannedContainer): PlannedContainer {
  return container.entrypoint?.[2] === START_GATE
    ? { ...container, entrypoint: ["vllm", "serve"] }
    : container;
}

function policyText(verdicts: readonly Verdict[], width: Width): string {
  const marks = { warned: styleText("yellow", "warned "), refused: styleText("red", "REFUSED") };
  const passed = verdicts.filter((each) => each.verdict === "pass").map((each) => each.name);
  return [
    styleText("bold", "Policies"),
    `  ${styleText("green", "pass   ")} ${hanging(passed.join(", "), 10, width)}`,
    ...verdicts.flatMap(({ verdict, name, resource, message }) =>
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
    styleText("bold", "Warnings"),
    ...warnings.map(
      (each) => `  ${styleText("yellow", "!")} ${hanging(`${each.machine}: ${each.message}`, 4, width)}`,
    ),
  ].join("\n");
}

/** Last, where a terminal leaves the eye after a long plan. */
function summary({ warnings }: Plan, verdicts: readonly Verdict[]): string {
  const refusedBy = verdicts.filter((each) => each.verdict === "refused").map((each) => each.name);
  const warned = warnings.length + verdicts.filter((each) => each.verdict === "warned").length;
  const verdict =
    refusedBy.length === 0
      ? "Nothing is refused."
      : styleText(
          "red",
          `REFUSED by ${[...new Set(refusedBy)].join(", ")}: \`up\` would stop before the first change.`,
        );
  return `${verdict} ${warned === 1 ? "1 warning" : `${warned} warnings`} above.`.replace(
    " 0 warnings above.",
    " No warnings.",
  );
}

function heading(text: string): string {
  return `  ${styleText("cyan", text)}`;
}
