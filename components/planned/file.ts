/** A file that will be written on the machine. */
export interface PlannedFile {
  readonly role: string;
  readonly path: string;
  readonly mode: string;
  readonly text: string;
}

/** A file whose content is the value of a variable of the operator's shell. */
export interface SecretFile {
  readonly role: string;
  readonly path: string;
  readonly mode: "0600";
  /** Name of the variable. */
  readonly variable: string;
}
