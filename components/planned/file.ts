/** What a file is for; part of its resource's name. Each client has roles of its own. */
export type FileRole =
  | "applied-plan"
  | "bridge-config"
  | "grafana-dashboard"
  | "harness-analytics"
  | "harness-providers"
  | "scrape-targets"
  | "simple-server-dropin"
  | "start-gate";

export type SecretRole = "bridge-key" | "chat-ui-email" | "chat-ui-password" | `hugging-face-token-${string}`;

/** A file that will be written on the machine. */
export interface PlannedFile<Role extends string = string> {
  readonly role: Role;
  /** Set where it is written on the computer that runs this instead. */
  readonly here?: true;
  readonly path: string;
  readonly mode: string;
  readonly text: string;
}

/** A file whose content is the value of a variable of the operator's shell. */
export interface SecretFile {
  readonly role: SecretRole;
  readonly path: string;
  readonly mode: "0600";
  /** Name of the variable. */
  readonly variable: string;
}
