import { nearOf } from "@local-serving/base/faults/quoting";
import { AnalyzerService } from "@pulumi/pulumi/proto/analyzer_grpc_pb";
import { type ConfigureAnalyzerRequest, EnforcementLevel } from "@pulumi/pulumi/proto/analyzer_pb";
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
    if (unknown.length > 0) return refused(request, unknown.map(unknownText).join(" "));
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

/**
 * A configuration that the SDK can't read, for this reason: it tells the engine, which prints it and
 * ends. Of an error that is thrown before, gRPC would keep the words.
 */
function refused(request: ConfigureAnalyzerRequest, why: string): ConfigureAnalyzerRequest {
  request.getPolicyconfigMap = () => {
    throw Object.assign(new Error(why), { stack: why });
  };
  return request;
}

const unknownText = (name: string): string =>
  `The policy configuration sets a level of \`${name}\`, which is no rule. ${nearOf(name, LEVEL_NAMES)}`;
