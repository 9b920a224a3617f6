import type { MachinePlan } from "../plan";
import { keyFault, newKey } from "../planned";

type SecretFiles = Pick<MachinePlan, "secretFiles">;

/** A variable of the operator's shell that `up` needs and that holds no such secret. */
export interface FaultyVariable {
  readonly name: string;
  /** A clause: `is not set`. */
  readonly fault: string;
}

/** The variables from which secret files take their values, as far as a shell doesn't have them. */
export function faultyVariables(
  machine: SecretFiles,
  environment: NodeJS.ProcessEnv = process.env,
): FaultyVariable[] {
  const names = new Set(machine.secretFiles.map(({ variable }) => variable));
  return [...names].flatMap((name) => {
    const value = environment[name] ?? "";
    const fault = isKey(machine, name) || value === "" ? keyFault(value) : undefined;
    return fault === undefined ? [] : [{ name, fault }];
  });
}

/** The command that sets a variable of a secret file: a key can be any, and the rest is known to its owner. */
export const exportOf = (machine: SecretFiles, name: string): string =>
  isKey(machine, name) ? newKey(name) : `export ${name}=...`;

/** What to type before `up` in a shell that lacks variables which it needs. */
export const exportsFor = (machine: SecretFiles): string[] =>
  faultyVariables(machine).map(({ name }) => exportOf(machine, name));

const isKey = ({ secretFiles }: SecretFiles, name: string): boolean =>
  secretFiles.some((file) => file.isKey && file.variable === name);
