import { log, type Output, secret } from "@pulumi/pulumi";
import type { SecretFile } from "../planned/file";
import type { HostFileArgs } from "./hostFile";

/**
 * The arguments of a host file that holds the value of a variable of the operator's shell. The preflight has refused an
 * update without the variable; a preview without it says so, and shows the content as changed.
 */
export function secretFileArgs(
  file: SecretFile,
  env: NodeJS.ProcessEnv = process.env,
): HostFileArgs & { readonly secretText: Output<string> } {
  const { role, path, mode } = file;
  const value = env[file.variable] ?? "";
  if (value === "")
    log.warn(`${file.variable} is not set: ${path} is shown as changed, and \`up\` would refuse.`);
  const secretText: Output<string> = secret(value);
  return { file: { role, path, mode, text: "" }, secretText };
}
