import { bugText } from "@local-serving/base/faults/bug";
import { ResourceError, RunError } from "@pulumi/pulumi";

/**
 * Wraps the Pulumi program so that a failure of ours is reported as one: a sentence and the places
 * in our sources. The language host would take minutes over the stack trace of a bundle, and show
 * its code.
 */
export function tellingBugs<T>(program: () => Promise<T>): () => Promise<T> {
  return () => {
    // Ahead of the language host's own listeners, which print what escapes from callbacks.
    process.prependListener("uncaughtException", tell);
    process.prependListener("unhandledRejection", tell);
    return tellingOurBugs(program);
  };
}

/** The same for work inside somebody's program, whose other failures are not ours to tell. */
export async function tellingOurBugs<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    tell(error);
    throw error;
  }
}

/** Puts the words in the place of message and stack, which is all that the language host prints. */
function tell(error: unknown): void {
  if (!(error instanceof Error) || isToldAlready(error)) return;
  const text = bugText(error, "the Pulumi program");
  Object.assign(error, { message: text, stack: text });
}

/**
 * Whether the operator has already seen an error: ours, a resource's, or one of the connection to
 * the engine.
 */
const isToldAlready = (error: Error): boolean =>
  RunError.isInstance(error) ||
  ResourceError.isInstance(error) ||
  ("code" in error && "metadata" in error);
