import { log, RunError, runtime } from "@pulumi/pulumi";
import { plainText } from "../../faults/plainText";

/** What a policy or the preflight has to say. */
export interface GateFinding {
  readonly name: string;
  readonly verdict: "pass" | "refused" | "warned";
  readonly message: string;
}

/**
 * Says what the policies and the preflight found, unless the pack says it. At preview a refusal is only announced; at
 * update it stops the program before the first resource, so that nothing is half done. A plain `pulumi up` runs no
 * policy pack, and this is what protects it.
 */
export function gate(policies: readonly GateFinding[], onMachine: readonly GateFinding[], packSpeaks: boolean): void {
  const toSay = packSpeaks ? onMachine : [...policies, ...onMachine];
  for (const warning of sentences(toSay, "warned")) log.warn(warning);
  if (runtime.isDryRun()) {
    for (const refusal of sentences(toSay, "refused")) log.warn(`\`up\` would refuse this. ${refusal}`);
    return;
  }
  const refused = sentences([...policies, ...onMachine], "refused");
  if (refused.length > 0) {
    throw plainError(["Refused, and nothing was changed:", ...refused.map((each) => `- ${each}`)].join("\n"));
  }
}

function sentences(findings: readonly GateFinding[], verdict: GateFinding["verdict"]): string[] {
  return findings.filter((each) => each.verdict === verdict).map((each) => plainText(`${each.name}: ${each.message}`));
}

/**
 * An error that the engine prints as its message alone. The language host otherwise takes the stack trace apart frame by
 * frame, which costs a reader of no stack trace some 15 seconds.
 */
export function plainError(message: string): RunError {
  const text = plainText(message);
  return Object.assign(new RunError(text), { stack: text });
}
