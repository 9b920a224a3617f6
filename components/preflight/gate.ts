import { log, runtime } from "@pulumi/pulumi";
import { plainError } from "./plainError";

/** What a policy or the preflight has to say. */
export interface GateFinding {
  readonly name: string;
  readonly verdict: "pass" | "refused" | "warned";
  readonly message: string;
}

/**
 * Says every finding. At preview a refusal is only announced; at update it stops the program before the first resource,
 * so that nothing is half done. A plain `pulumi up` runs no policy pack, and this is what protects it.
 */
export function gate(findings: readonly GateFinding[]): void {
  const said = (verdict: GateFinding["verdict"]) =>
    findings.filter((each) => each.verdict === verdict).map((each) => `${each.name}: ${each.message}`);
  for (const warning of said("warned")) log.warn(warning);
  const refused = said("refused");
  if (runtime.isDryRun()) {
    for (const refusal of refused) log.warn(`\`up\` would refuse this. ${refusal}`);
  } else if (refused.length > 0) {
    throw plainError(["Refused, and nothing was changed:", ...refused.map((each) => `- ${each}`)].join("\n"));
  }
}
