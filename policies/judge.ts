import { type DeclaredResource, withPlainProps } from "./lib/declaredResource";
import { rules } from "./rules";
import type { Finding, Level, Rule } from "./rules/rule";

/** What one rule says: an entry for each finding, or one `pass` when there is none. */
export interface Verdict {
  /** The rule's name. */
  readonly name: string;
  /** The level that was in force. */
  readonly level: Level;
  readonly verdict: "pass" | "refused" | "warned";
  /** Empty for a pass. */
  readonly message: string;
  /** Name of the resource, empty for a pass. */
  readonly resource: string;
}

/** Levels set by the operator, by rule name; `all` stands for every rule that has no level of its own. */
export type Levels = Readonly<Record<string, Level>>;

/** The level in force for a rule. A fixed rule keeps its own, whatever is asked. */
function levelOf(rule: Rule, levels: Levels = {}): Level {
  if (rule.fixed) return rule.level;
  return levels[rule.name] ?? levels.all ?? rule.level;
}

/** Judges everything that a program declares. Disabled rules are left out. */
export function judge(resources: readonly DeclaredResource[], levels: Levels = {}): Verdict[] {
  const plain = resources.map(withPlainProps);
  return rules.flatMap((rule): Verdict[] => {
    const level = levelOf(rule, levels);
    if (level === "disabled") return [];
    const findings = [
      ...plain.flatMap((resource) => rule.judgeResource?.(resource) ?? []),
      ...(rule.judgeStack?.(plain) ?? []),
    ];
    if (findings.length === 0)
      return [{ name: rule.name, level, verdict: "pass", message: "", resource: "" }];
    return findings.map((finding) => ({
      name: rule.name,
      level,
      verdict: verdictOf(finding, level),
      message: finding.message,
      resource: finding.resource.name,
    }));
  });
}

function verdictOf(finding: Finding, level: Level): "refused" | "warned" {
  return finding.kind === "violation" && level === "mandatory" ? "refused" : "warned";
}
