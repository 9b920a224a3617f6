import { styleText } from "node:util";
import { START_GATE } from "../../components/inference-server/startGate";
import { kvFacts } from "../../components/plan/kvFacts";
import { AGGREGATE_LIMIT, utilizationText } from "../../components/plan/ledger/utilization";
import type { MachinePlan, Plan, PlannedContainer, PlannedFile, ServerKv } from "../../components/plan/types";
import { dockerRun } from "./dockerRun";
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
export function planText(plan: Plan, verdicts: readonly Verdict[]): string {
  return [...plan.machines.map(machineText), policyText(verdicts), warningText(plan), summary(plan, verdicts)]
    .filter(Boolean)
    .join("\n\n");
}

function machineText(machine: MachinePlan): string {
  const { hostInstance } = machine;
  return [
    styleText("bold", `Machine ${machine.name}`),
    hostInstance === "none"
      ? "  instance A: none"
      : `  instance A: port ${hostInstance.port}, utilization ${hostInstance.gpuMemoryUtilization}, declared only: nothing here touches it`,
    "",
    ledgerText(machine),
    "",
    ...Object.entries(machine.kv).flatMap(([container, kv]) => kvText(container, kv)),
    heading("Reached at"),
    ...table(machine.endpoints.map((endpoint) => [endpoint.name, endpoint.url])),
    ...machine.containers.flatMap((container) => [
      "",
      heading(`Container ${container.name}`),
      ...gateText(machine, container),
      indent(dockerRun(ungated(container))),
    ]),
    ...machine.files.flatMap((file) => ["", heading(fileHeading(machine, file)), ...fileText(file)]),
    ...machine.secretFiles.flatMap((file) => [
      "",
      heading(`File ${file.path} (mode ${file.mode})`),
      indent(`the value of ${file.variable}, which is in no plan`),
    ]),
    ...(machine.commands.length === 0
      ? []
      : ["", heading("To be run by you"), ...machine.commands.map((command) => indent(command))]),
  ].join("\n");
}

function fileHeading(machine: MachinePlan, file: PlannedFile): string {
  const byHand = file.role === "simple-server-dropin" && machine.elevate === "none";
  return `File ${file.path} (mode ${file.mode})${byHand ? ": needs root, so by you" : ""}`;
}

/** The applied plan is this plan once more, and a launcher is mostly the same checks as the next: `--out` writes them. */
function fileText(file: PlannedFile): string[] {
  if (file.role === "applied-plan") return [indent("this plan as JSON")];
  if (!file.role.startsWith("launcher-")) return [indent(file.text)];
  const [, purpose = ""] = file.text.split("\n");
  return [
    indent(`${purpose}\n# ${file.text.trimEnd().split("\n").length} lines of sh: \`--out DIR\` writes them.`),
  ];
}

function ledgerText({ ledger, admission }: MachinePlan): string {
  const free = ledger.totalGiB - ledger.sumGiB;
  const fits = Object.entries(ledger.largestUtilization);
  return [
    heading("Memory"),
    `  ${memoryBar(ledger)}`,
    ...table([
      ...ledger.lines.map((line, index) => [
        `${letterOf(index)} ${line.name}`,
        `${line.gib.toFixed(2).padStart(8)} GiB`,
        `${line.basis}: ${line.source}`,
      ]),
      ["  sum", `${ledger.sumGiB.toFixed(2).padStart(8)} GiB`, `of ${ledger.totalGiB.toFixed(2)} GiB`],
      free < 0
        ? ["  missing", `${(-free).toFixed(2).padStart(8)} GiB`, styleText("red", "does not fit")]
        : ["  left", `${free.toFixed(2).padStart(8)} GiB`, ""],
    ]),
    `  aggregate utilization ${utilizationText(ledger.aggregateUtilization)}, limit ${utilizationText(AGGREGATE_LIMIT)}`,
    ...fits.map(
      ([name, { bySum, byAggregate }]) =>
        `  largest utilization that fits for ${name}: ${Math.min(bySum, byAggregate).toFixed(2)} (${bySum.toFixed(2)} by the sum, ${byAggregate.toFixed(2)} by the limit)`,
    ),
    ...admission.map(
      ({ name, wantedGiB, availableGiB, admitted }) =>
        `  ${name} ${admitted ? "would start" : styleText("red", "would not start")}: ${wantedGiB.toFixed(2)} GiB wanted, ${availableGiB.toFixed(2)} GiB available by this meminfo`,
    ),
  ].join("\n");
}

function kvText(container: string, kv: ServerKv | null): string[] {
  const facts = kv === null ? ["    not known, see the warnings"] : table(kvFacts(kv));
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

function policyText(verdicts: readonly Verdict[]): string {
  const marks = { warned: styleText("yellow", "warned "), refused: styleText("red", "REFUSED") };
  const passed = verdicts.filter((each) => each.verdict === "pass").map((each) => each.name);
  return [
    styleText("bold", "Policies"),
    `  ${styleText("green", "pass   ")} ${passed.join(", ")}`,
    ...verdicts.flatMap(({ verdict, name, resource, message }) =>
      verdict === "pass" ? [] : [`  ${marks[verdict]} ${name} (${resource})\n${indent(message, 10)}`],
    ),
  ].join("\n");
}

function warningText({ warnings }: Plan): string {
  if (warnings.length === 0) return "";
  return [
    styleText("bold", "Warnings"),
    ...warnings.map((each) => `  ${styleText("yellow", "!")} ${each.machine}: ${each.message}`),
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

function indent(text: string, by = 4): string {
  return text.trimEnd().replaceAll(/^/gm, " ".repeat(by));
}

function table(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    `    ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
}
