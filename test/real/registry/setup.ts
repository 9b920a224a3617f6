import type { TestProject } from "vitest/node";
import { fromNpm, type Program } from "../programs";

declare module "vitest" {
  interface ProvidedContext {
    verdaccio: Program;
  }
}

/** Installs the registry, before the tests are named. Later releases of it want Node 22. */
export default async function setup(project: TestProject): Promise<void> {
  const program = ["verdaccio", "bin", "verdaccio"];
  const overrides = { "node-fetch": "2.7.0" };
  project.provide("verdaccio", await fromNpm("verdaccio", "6.8.0", program, overrides));
}
