import { RunError } from "@pulumi/pulumi";

/**
 * An error that the engine prints as its message alone. The language host otherwise takes the stack trace apart frame by
 * frame, which costs a reader of no stack trace some 15 seconds.
 */
export function plainError(message: string): RunError {
  return Object.assign(new RunError(message), { stack: message });
}
