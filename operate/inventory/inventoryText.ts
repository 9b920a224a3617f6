import { columns } from "../../commandLine/output";
import type { Inventory } from "./inventory";

/** The inventory as tables, and the record as a diff of the stack file. */
export function inventoryText(found: Inventory, diff: string): string {
  const containers = found.containers.map(({ name, image, digest, status, ports, versions }) => [
    name,
    status,
    image.split("@")[0] ?? image,
    digest === "" ? "(no digest)" : digest.slice(0, "sha256:".length + 12),
    ports.map((port) => `${port.ip}:${port.host}`).join(" ") || "-",
    versions === null ? "" : versionText(versions),
  ]);
  const venvs = found.venvs.map(({ path, versions }) => [path, versionText(versions)]);
  return [
    `Machine ${found.machine}`,
    "",
    ...table(["container", "status", "image", "digest", "ports", "versions inside"], containers),
    "",
    ...table(["venv", "versions"], venvs),
    ...(found.problems.length === 0 ? [] : ["", ...found.problems.map((problem) => `not read: ${problem}`)]),
    ...(diff === ""
      ? []
      : ["", "What was read, for the stack file (apply with `git apply` or `patch -p1`):", diff]),
  ].join("\n");
}

function versionText(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}

function table(heads: readonly string[], rows: readonly string[][]): string[] {
  return rows.length === 0 ? [`${heads[0]}: none`] : columns([heads, ...rows]);
}
