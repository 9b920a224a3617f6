/** An assignment as a shell has it: `NAME=value`. */
const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/;

/** The name and value of an assignment, or of a variable without a value. */
export function assigned(word: string): [name: string, value: string] {
  const [, name = word, value = ""] = ASSIGNMENT.exec(word) ?? [];
  return [name, value];
}

export const isAssignment = (word: string): boolean => ASSIGNMENT.test(word);
