import { cpSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

const PROJECT = resolve(__dirname, "../..");

const LEFT_OUT = [
  ".git",
  ".github",
  ".ci",
  ".pulumi-state",
  "coverage",
  "docs",
  "node_modules",
  "test",
];

/**
 * Copies a program, by default this project with its bundles. Packages are linked, stack files stay
 * behind.
 */
export function copyProgram(to: string, from = PROJECT): void {
  for (const name of readdirSync(from)) {
    if (LEFT_OUT.includes(name) || /^Pulumi\..+\.yaml$/.test(name)) continue;
    cpSync(join(from, name), join(to, name), { recursive: true });
  }
  symlinkSync(realpathSync(join(PROJECT, "node_modules")), join(to, "node_modules"));
}
