import { type Output, secret } from "@pulumi/pulumi";
import type { SecretFile } from "../plan/types";
import type { HostFileArgs } from "./hostFile";

/**
 * The arguments of a host file that holds the value of a variable of the operator's shell. The preflight has refused an
 * update without the variable; a preview without it shows a file with nothing in it.
 */
export function secretFileArgs(file: SecretFile, env: NodeJS.ProcessEnv = process.env): HostFileArgs {
  const { role, path, mode } = file;
  const secretText: Output<string> = secret(env[file.variable] ?? "");
  return { file: { role, path, mode, text: "" }, secretText };
}
