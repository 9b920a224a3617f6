import { AnalyzerService } from "@pulumi/pulumi/proto/analyzer_grpc_pb";
import { EnforcementLevel } from "@pulumi/pulumi/proto/analyzer_pb";
import { nearOf } from "../faults/quoting";
import { LEVEL_NAMES } from "./levels";
import type { Rule } from "./rules/rule";

/**
 * Keeps the level of fixed rules, and refuses a name that no rule has. For the engine a policy
 * configuration (`--policy-pack-config`) outranks what a policy says of itself and may even disable
 * it, it passes on any name, and the SDK asks nobody; so the configuration is corrected where the
 * pack receives it, before the SDK reads it. Must run before
 * the pack is built. A run without the pack is out of its reach; there the program's own evaluation
 * holds the same rules.
 */
export function keepFixedLevels(rules: readonly Rule[]): void {
  const fixed = rules.filter((rule) => rule.fixed);
  const { configure } = AnalyzerService;
  const read = configure.requestDeserialize;
  configure.requestDeserialize = (bytes) => {
    const request = read(bytes);
    const unknown = [...request.getPolicyconfigMap().keys()].filter(
      (name) => !LEVEL_NAMES.includes(name),
    );
    // The engine prints it as the reason why the pack can't be configured, and ends.
    if (unknown.length > 0) throw new Error(unknown.map(unknownText).join(" "));
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

const unknownText = (name: string): string =>
  `The policy configuration sets a level of \`${name}\`, which is no rule. ${nearOf(name, LEVEL_NAMES)}`;
