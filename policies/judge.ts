import { list, map, UNKNOWN } from "../components/inference-server/argv/unknown";
import { TYPE } from "../components/planned/type";
import { defined } from "../faults/defined";
import { type DeclaredResource, ofType, withPlainProps } from "./lib/declaredResource";
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
  /** The setting of the stack file that mends it, with its line where the file is known, and what to write there. */
  readonly path?: string;
  readonly line?: number;
  readonly value?: string | number;
}

/** Where a setting is in the stack file. */
export type Locate = (path: readonly string[]) => { readonly line?: number };

/** Levels set by the operator, by rule name; `all` is for every rule without a level of its own. */
export type Levels = Readonly<Record<string, Level>>;

/** The level in force for a rule. A fixed rule keeps its own, whatever is asked. */
function levelOf(rule: Rule, levels: Levels = {}): Level {
  if (rule.fixed) return rule.level;
  return levels[rule.name] ?? levels.all ?? rule.level;
}

/** Judges everything that a program declares. Disabled rules are left out. */
export function judge(
  resources: readonly DeclaredResource[],
  levels: Levels = {},
  locate: Locate = () => ({}),
): Verdict[] {
  const plain = resources.map(withPlainProps);
  const servers = serverPaths(plain);
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
      resource: finding.resource.name,
      ...placed(finding, servers, locate),
    }));
  });
}

function verdictOf(finding: Finding, level: Level): "refused" | "warned" {
  return finding.kind === "violation" && level === "mandatory" ? "refused" : "warned";
}

/** A finding's message with what to write where, and the same as data. */
function placed(
  { message, change }: Finding,
  servers: ReadonlyMap<string, readonly string[]>,
  locate: Locate,
) {
  const server = change && servers.get(change.server);
  if (change === undefined || server === undefined) return { message };
  const { setting, value } = change;
  const steps = [...server, ...setting.split(".")];
  const path = steps.join(".");
  const { line } = locate(steps);
  const where = line === undefined ? "" : `, line ${line}`;
  return defined({
    message: `${message} In the stack file${where}: \`${path}: ${value}\`.`,
    path,
    line,
    value,
  });
}

/** Path in the stack file of each server of ours, by the name of its container. */
function serverPaths(resources: readonly DeclaredResource[]): Map<string, readonly string[]> {
  const paths = new Map<string, readonly string[]>();
  for (const { props, name } of ofType(resources, TYPE.machine)) {
    const servers = list(props.servers);
    for (const entry of servers === UNKNOWN ? [] : servers) {
      const server = map(entry);
      if (server === undefined || server === UNKNOWN || typeof server.key !== "string") continue;
      paths.set(String(server.name), ["machines", name, "inferenceServers", server.key]);
    }
  }
  return paths;
}
