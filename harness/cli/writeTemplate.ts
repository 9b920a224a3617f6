import { EXIT, explainWriting } from "../../commandLine/exit";
import { type Format, printResult } from "../../commandLine/output";
import { createFile } from "../files/replaceFile";

/** Writes a template where there is no file yet, and says so; an existing file is never touched. */
export function writeTemplate(format: Format, file: string, text: string): void {
  const written = create(file, text);
  printResult(format, { written, file }, () =>
    written ? `${file}: written` : `${file} is there already and stays as it is; name another file`,
  );
  process.exitCode = written ? EXIT.fine : EXIT.faults;
}

function create(file: string, text: string): boolean {
  try {
    return createFile(file, text);
  } catch (error) {
    return explainWriting(file, error);
  }
}
