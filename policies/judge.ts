import { isDeepStrictEqual } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import type { SettingToChange } from "../components/planned";
import { type Locate, placed } from "../components/settings";
import { blockOf } from "./lib/block";
import { type DeclaredResource, ofType, withPlainProps } from "./lib/container";
import { rules } from "./rules";
import { type Finding, findingsOf, type Level, stackJudge } from "./rules/rule";

/** What one rule says: an entry for each finding, or one `pass` when there is none. */
export interface Judged {
  /** The rule's name. */
  readonly name: string;
  /** The level that was in force. */
  readonly level: Level;
  readonly verdict: "pass" | "refused" | "warned";
  /** Empty for a pass. */
  readonly message: string;
  /** Name of the resource, empty for a pass. */
  readonly resource: string;
  /**
   * The setting of the stack file that mends it, with its line where the file is known, and what to
   * write there.
   */
  readonly path?: string;
  readonly line?: number;
  readonly value?: SettingToChange["value"];
  /** Present if it is for information only: nothing is at risk. */
  readonly note?: true;
  /** The rule whose refusal says the same, of the same line: people read that one alone. */
  readonly saidBy?: string;
}

/** Levels set by the operator, by rule name; `all` is for every rule without a level of its own. */
export type Levels = Readonly<Record<string, Level>>;

/** Judges everything that a program declares. Disabled rules are left out. */
export function judge(
  resources: readonly DeclaredResource[],
  levels: Levels = {},
  locate?: Locate,
): Judged[] {
  const plain = resources.map(withPlainProps);
  const judged = rules.flatMap((rule): Judged[] => {
    // A fixed rule keeps its own level, whatever is asked.
    const level = rule.fixed ? rule.level : (levels[rule.name] ?? levels.all ?? rule.level);
    if (level === "disabled") return [];
    if (rule.concerns !== undefined && ofType(plain, rule.concerns).length === 0) return [];
    const together = stackJudge(rule)?.(plain) ?? [];
    const told = together.flatMap(({ instead, resource }) => (instead ? [resource] : []));
    const alone = plain.filter((resource) => !told.includes(resource));
    const findings = [...alone.flatMap((resource) => findingsOf(rule, resource)), ...together];
    if (findings.length === 0)
      return [{ name: rule.name, level, verdict: "pass", message: "", resource: "" }];
    return findings.map((finding) => ({
      name: rule.name,
      level,
      verdict: finding.kind === "violation" && level === "mandatory" ? "refused" : "warned",
      resource: finding.resource.name,
      ...placed(finding.message, settingOf(finding), locate),
      ...defined({ note: finding.note }),
    }));
  });
  return judged.map((each) => ({ ...each, ...defined({ saidBy: saidBy(each, judged) }) }));
}

/** The rule that refuses the same as this one does, with the same line and value. */
function saidBy({ name, verdict, resource, path, value }: Judged, all: readonly Judged[]) {
  const by = verdict === "refused" ? rules.find((rule) => rule.name === name)?.saidBy : undefined;
  if (by === undefined) return undefined;
  const isSaid = all.some(
    (each) =>
      each.name === by &&
      each.verdict === "refused" &&
      each.resource === resource &&
      each.path === path &&
      isDeepStrictEqual(each.value, value),
  );
  return isSaid ? by : undefined;
}

/**
 * Returns the path and new value in the stack file that fix a finding, if one setting of ours does.
 */
export function settingOf({ change, resource }: Finding): SettingToChange | undefined {
  const block = change && blockOf(resource, change.server);
  return block && defined({ path: [...block, ...change.setting.split(".")], value: change.value });
}
