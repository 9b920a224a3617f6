import type { DataOf } from "@local-serving/base/data/dataOf";
import type { fileSchema, secretFileSchema } from "./schema/files";

/** What a file is for; part of its resource's name. Each client has roles of its own. */
export type FileRole =
  | "applied-plan"
  | "bridge-config"
  | "grafana-dashboard"
  | "harness-analytics"
  | "harness-providers"
  | "on-demand-config"
  | "on-demand-declared"
  | "on-demand-unit"
  | "on-demand-wrapper"
  | "scrape-targets"
  | "simple-server-dropin"
  | "start-gate";

/** A file that will be written on the machine. */
export type PlannedFile<Role extends string = string> = DataOf<typeof fileSchema> & {
  readonly role: Role;
};

/** A file whose content is the value of a variable of the operator's shell. */
export type SecretFile = DataOf<typeof secretFileSchema>;
