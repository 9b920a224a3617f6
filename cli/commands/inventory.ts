import type { Outcome } from "@local-serving/base/commandLine/command";
import { Failed } from "@local-serving/base/commandLine/exit";
import { columns } from "@local-serving/base/commandLine/output";
import { shortDigest } from "@local-serving/machines/docker/imageReference";
import { operatorHome } from "../../components/evidence";
import { type Inventory, inventory } from "../inventory/inventory";
import { type Leftover, leftovers } from "../inventory/leftovers";
import { explainedByNothing, NOTHING_APPLIED, nothingApplied } from "../stack/nothingApplied";
import { readOneMachine } from "../stack/readStack";
import { type StackFileOptions, stackFile } from "../stack/stackFile";
import { applyEdits, unifiedDiff } from "../stackEdit/applyEdits";

type MachineOptions = StackFileOptions & { readonly machine?: string };

/** Lists what `down` or an earlier stack file left on a machine, and how to remove it. */
export async function leftoversOutcome(options: MachineOptions): Promise<Outcome> {
  const { name, machine, plan } = readOneMachine(stackFile(options), options.machine);
  const found = await explainedByNothing(plan.machines, options, leftovers(machine));
  return { result: { machine: name, leftovers: found }, text: leftoversText(name, found) };
}

/** Lists containers and venvs with their versions, and the record that the stack file should keep. */
export async function versionsOutcome(options: MachineOptions): Promise<Outcome> {
  const stack = readOneMachine(stackFile(options), options.machine);
  const nothing = await nothingApplied(stack.plan.machines, options);
  const found = await inventory(stack.machine, stack.settings, { home: operatorHome() });
  if (nothing !== undefined && found.problems.length > 0)
    throw new Failed(nothing, NOTHING_APPLIED);
  const diff = unifiedDiff(stack.file, stack.text, applyEdits(stack.text, found.record));
  return {
    result: { ...found, record: { edits: found.record, diff } },
    text: [...(nothing === undefined ? [] : [nothing]), inventoryText(found, diff)].join("\n\n"),
    failed: found.problems.length > 0,
  };
}

function leftoversText(machine: string, found: readonly Leftover[]): string {
  if (found.length === 0) return `Machine ${machine}: nothing is left that isn't in use.`;
  const rows = found.map(({ kind, name, size = "", what }) => [kind, size, name, what]);
  return [
    `Machine ${machine}`,
    "",
    ...columns([["left", "size", "name", "what"], ...rows]),
    "",
    "Nothing was removed. These commands remove each of them for good:",
    ...found.map(({ remove }) => `  ${remove}`),
  ].join("\n");
}

/** The inventory as tables, and the record as a diff of the stack file. */
function inventoryText(found: Inventory, diff: string): string {
  const containers = found.containers.map(({ name, image, digest, status, ports, versions }) => [
    name,
    status,
    image.split("@")[0] ?? image,
    digest === "" ? "(no digest)" : shortDigest(digest),
    ports.map((port) => `${port.ip}:${port.host}`).join(" ") || "-",
    versions === null ? "" : versionText(versions),
  ]);
  const gates = found.containers.flatMap(({ name, startGate }) =>
    startGate === undefined ? [] : [`start gate of ${name}: ${startGate}`],
  );
  const venvs = found.venvs.map(({ path, versions }) => [path, versionText(versions)]);
  return [
    `Machine ${found.machine}`,
    "",
    ...table(["container", "status", "image", "digest", "ports", "versions inside"], containers),
    ...gates,
    "",
    ...table(["venv", "versions"], venvs),
    ...(found.onDemand === undefined ? [] : ["", ...onDemandText(found.onDemand)]),
    ...(found.problems.length === 0
      ? []
      : ["", ...found.problems.map((problem) => `not read: ${problem}`)]),
    ...(diff === ""
      ? []
      : ["", "What was read, for the stack file (apply with `git apply` or `patch -p1`):", diff]),
  ].join("\n");
}

function onDemandText(found: NonNullable<Inventory["onDemand"]>): string[] {
  const { program, version, sha256, unit, state, config } = found;
  const sum = (hex: string | null) => (hex === null ? "not read" : hex.slice(0, 12));
  return columns([
    ["llama-swap", "version", "sha256", "configuration", "unit", "state"],
    [program, version ?? "not read", sum(sha256), sum(config), unit, state ?? "not read"],
  ]);
}

function versionText(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}

function table(heads: readonly string[], rows: readonly string[][]): string[] {
  return rows.length === 0 ? [`${heads[0]}: none`] : columns([heads, ...rows]);
}
