import { basename } from "node:path";
import { shellWord } from "../../components/host/shellWords";

/** How the stack file was named on the command line; both are absent for the default. */
export interface Chosen {
  readonly stack?: string;
  readonly file?: string;
}

/** Stack that every command takes when none is named. */
const DEFAULT_STACK = "dgx";

/** Commands of `serving` that read a stack file and do not say which, and words of `npm run` that apply one. */
const READS = /\bserving (plan|verify|wait|doctor|inventory)\b(?! --(?:file|stack) )/g;
const APPLIES = /\bnpm run (preview|up)\b/g;

/** A proposed command for the stack that was looked at: without its name it would act on the default one. */
export function forStack(command: string, { stack, file }: Chosen): string {
  const name = file === undefined ? stack : /^Pulumi\.(.+)\.yaml$/.exec(basename(file))?.[1];
  const other = name !== undefined && name !== DEFAULT_STACK;
  const reads = file !== undefined ? ` --file ${shellWord(file)}` : other ? ` --stack ${name}` : "";
  return command
    .replace(READS, (found) => `${found}${reads}`)
    .replace(APPLIES, (found) => (other ? `${found} -- --stack ${name}` : found));
}
