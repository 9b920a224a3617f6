import { log, type Output, runtime, secret } from "@pulumi/pulumi";
import { plainError } from "../preflight/plainError";

/** The value of a variable of the operator's shell, as a secret. An update stops where it is not set. */
export function secretFromShell(variable: string, purpose: string): Output<string> {
  const value = process.env[variable] ?? "";
  if (value !== "") return secret(value);
  const missing = `${variable} is not set in this shell. It holds ${purpose}`;
  if (!runtime.isDryRun()) throw plainError(`${missing}: export it, then run the update again.`);
  // A reviewer need not know the key to read a preview.
  log.warn(`${missing}: what depends on it is previewed as if it had changed.`);
  return secret("");
}
