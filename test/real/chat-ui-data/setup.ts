import type { TestProject } from "vitest/node";
import { alreadyThere, fromPyPI, type Program } from "../programs";

/** Two versions between which the database is migrated, each of 2 GB or more. */
export const VERSIONS = { old: "0.11.3", newer: "0.12.4" } as const;

declare module "vitest" {
  interface ProvidedContext {
    openWebUis: { readonly old: Program; readonly newer: Program };
  }
}

/** A program that is there already, by a variable such as OPEN_WEBUI_0_11_3, or PyPI's. */
async function openWebUi(version: string): Promise<Program> {
  const variable = `OPEN_WEBUI_${version.replaceAll(".", "_")}`;
  return process.env[variable] === undefined
    ? fromPyPI(`open-webui==${version}`, "open-webui")
    : alreadyThere("open-webui", variable);
}

/** Installs these and no other program. */
export default async function setup(project: TestProject): Promise<void> {
  const old = await openWebUi(VERSIONS.old);
  project.provide("openWebUis", { old, newer: await openWebUi(VERSIONS.newer) });
}
