import { shellWord, shellWords } from "@local-serving/base/faults/shellWords";
import { HERE, isOverSsh } from "@local-serving/machines/address";
import { impliedStack, isInProject, type StackFileOptions, stackOf } from "./stackFile";

/** A command on a machine, as a person types it here. */
export function typedOn(
  { dockerHost }: { readonly dockerHost: string },
  words: readonly string[],
): string {
  if (isOverSsh({ dockerHost })) return shellWords(["ssh", "-t", dockerHost, shellWords(words)]);
  const [program = "", ...rest] = words;
  return shellWords(
    program === "docker" && dockerHost !== HERE ? [program, "--host", dockerHost, ...rest] : words,
  );
}

/**
 * Commands that read a stack file without naming it, and those that give one to the engine. The
 * words of a start gate name `drift`.
 */
const READS =
  /\bserving (plan|fetch|verify|logs|doctor|drift|start|stop|status|backup|restore|models use)\b(?! --(?:file|stack|help)\b)/g;
/** Looking into an image needs no stack file, but writing what was found does. */
const WRITES = /\bserving pin [^`&;\n]*?--write\b(?! --(?:file|stack|help)\b)/g;
const APPLIES = /\bserving (preview|up|down|refresh)\b(?! --stack )/g;

/** The options by which a command line named its stack file, to be put behind another command. */
export const givenOptions = ({ stack, file }: StackFileOptions): string =>
  file !== undefined ? ` --file ${shellWord(file)}` : stack ? ` --stack ${stack}` : "";

/**
 * A proposed command for the stack that was looked at: without its name it would act on the default
 * one.
 */
export const forStack = (command: string, options: StackFileOptions): string =>
  typedFor(options)(command);

/** The same for many commands: the project's folder is looked at once. */
export function typedFor({ stack, file }: StackFileOptions): (command: string) => string {
  const name = file === undefined ? stack : stackOf(file);
  // Without a project there is no stack but the one in the file.
  const other = name !== undefined && isInProject() && name !== impliedStack();
  const reads = file !== undefined ? ` --file ${shellWord(file)}` : other ? ` --stack ${name}` : "";
  return (command) =>
    command
      .replace(READS, (found) => `${found}${reads}`)
      .replace(WRITES, (found) => `${found}${reads}`)
      .replace(APPLIES, (found) => (other ? `${found} --stack ${name}` : found));
}
