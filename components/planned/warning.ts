/** Something that will work, and that an operator should know before it runs. */
export interface Warning {
  readonly machine: string;
  readonly code: string;
  readonly message: string;
}
