import { AnalyzerService } from "@pulumi/pulumi/proto/analyzer_grpc_pb";
import { EnforcementLevel } from "@pulumi/pulumi/proto/analyzer_pb";
import type { Rule } from "./rules/rule";

/**
 * Keeps the level of fixed rules. For the engine a policy configuration (`--policy-pack-config`)
 * outranks what a policy says of itself and may even disable it, and the SDK asks nobody; so the
 * configuration is corrected where the pack receives it, before the SDK reads it. Must run before
 * the pack is built. A run without the pack is out of its reach; there the program's own evaluation
 * holds the same rules.
 */
export function keepFixedLevels(rules: readonly Rule[]): void {
  const fixed = rules.filter((rule) => rule.fixed);
  const { configure } = AnalyzerService;
  const read = configure.requestDeserialize;
  configure.requestDeserialize = (bytes) => {
    const request = read(bytes);
    for (const rule of fixed) {
      const config = request.getPolicyconfigMap().get(rule.name);
      const level =
        rule.level === "mandatory" ? EnforcementLevel.MANDATORY : EnforcementLevel.ADVISORY;
      if (config === undefined || config.getEnforcementlevel() === level) continue;
      config.setEnforcementlevel(level);
      console.error(
        `The policy ${rule.name} is fixed: it stays ${rule.level}, whatever the configuration says.`,
      );
    }
    return request;
  };
}
