import type { MachineChange } from "./changesOf";

/**
 * Says which servers of a machine an update makes that only requests start; `undefined` where it
 * makes none. Nobody has seen them start: not their model, nor the kernels that they compile.
 */
export function neverStartedText({ machine, containers }: MachineChange): string | undefined {
  const made = containers.filter(
    ({ kind, startsByRequest }) => kind === "created" && startsByRequest,
  );
  if (made.length === 0) return undefined;
  return `${machine}: never started: ${made.map(({ key }) => key).join(", ")}. ${PROVE}`;
}

/** What proves servers that nothing has started. */
export const PROVE =
  "`serving verify --each` starts each once, which compiles its kernels, and tests it.";
