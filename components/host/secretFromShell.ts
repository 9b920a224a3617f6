import { type Output, runtime, secret } from "@pulumi/pulumi";
import { plainError } from "../preflight/plainError";

/** What a preview shows where the variable is not set: the value itself is not needed to see what would change. */
const NOT_SET = "";

/** The value of a variable of the operator's shell, as a secret. An update stops where it is not set. */
export function secretFromShell(variable: string, purpose: string): Output<string> {
  const value = process.env[variable] ?? NOT_SET;
  if (value === NOT_SET && !runtime.isDryRun())
    throw plainError(
      `${variable} is not set in this shell. It holds ${purpose}: export it, then run the update again.`,
    );
  return secret(value);
}
