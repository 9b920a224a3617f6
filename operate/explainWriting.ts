import { WrongUse } from "./exit";

/** Turns the file system's refusal to write into a mistake of the user's, which it is; anything else is thrown on. */
export function explainWriting(file: string, error: unknown): never {
  if (error instanceof Error && "syscall" in error) {
    throw new WrongUse(`${file} can't be written: ${error.message}`);
  }
  throw error;
}
