import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { planned as plannedMachine } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");

/**
 * Compiles a dashboard against the types that Grafana publishes of its own; what the compiler says
 * of it.
 */
function compilerSays(dashboard: unknown): string {
  const folder = temporaryFolder("dashboard-");
  const file = join(folder, "dashboard.ts");
  const types = require
    .resolve("@grafana/schema/package.json")
    .replace(/package\.json$/, "dist/types/raw/dashboard/x/types.gen");
  const declared = `import type { Dashboard, Panel } from ${JSON.stringify(types)};\n`;
  // Panels are a union, by which the compiler finds no unknown key: each is compiled by itself.
  const { panels, ...rest } = dashboard as { panels: unknown[] };
  const panelLines = panels.map(
    (panel, index) => `export const p${index}: Panel = ${JSON.stringify(panel)};\n`,
  );
  writeFileSync(
    file,
    `${declared}export const d: Dashboard = ${JSON.stringify(rest)};\n${panelLines.join("")}`,
  );
  const args = [
    join(PROJECT, "node_modules/typescript/bin/tsc"),
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    file,
  ];
  try {
    return execFileSync(process.execPath, args, { encoding: "utf8", cwd: folder });
  } catch (error) {
    return error instanceof Error && "stdout" in error ? String(error.stdout) : String(error);
  }
}

const { files } = plannedMachine({ monitoring: "scrape" });
const dashboard = JSON.parse(files.find(({ role }) => role === "grafana-dashboard")?.text ?? "{}");

it("the dashboard is one by Grafana's own schema", () => {
  expect(compilerSays(dashboard)).toBe("");
});

it("and the schema would say what is wrong with another", () => {
  const [first, ...panels] = dashboard.panels;
  expect(
    compilerSays({ ...dashboard, panels: [{ ...first, gridPos: { h: "8" } }, ...panels] }),
  ).toMatch(/TS2322|TS2739/);
  expect(compilerSays({ ...dashboard, refreshEvery: "15s" })).toMatch(/TS2353.*refreshEvery/);
});
