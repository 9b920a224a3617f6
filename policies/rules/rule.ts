import { withoutKeys } from "@local-serving/base/faults/secrets";
import type { SettingToChange } from "../../components/planned";
import type { DeclaredResource } from "../lib/container";
import { byMachine, type MachineGroup } from "../lib/machines";

/** How a rule's violation is taken: the run fails, it is only said, or the rule does not run. */
export type Level = "mandatory" | "advisory" | "disabled";

/** A rule's complaint about one resource. */
export interface Finding {
  readonly resource: DeclaredResource;
  /** `violation` counts as the rule's level says; `advice` is never more than a warning. */
  readonly kind: "violation" | "advice";
  /** Names the resource, the value, the limit and the remedy; never a secret. */
  readonly message: string;
  /** What to write in the stack file, where one setting of ours mends it. */
  readonly change?: Change;
  /** Advice that is only good to know: nothing is at risk. */
  readonly note?: true;
  /**
   * Found of everything together, and stands in place of what the rule found of the resource alone:
   * it says that too.
   */
  readonly instead?: true;
}

/**
 * A setting of the resource that a finding is about, such as `tools.parser`, and its new value
 * where that is known.
 */
export interface Change {
  /** Name of another container that has the setting. */
  readonly server?: string;
  readonly setting: string;
  readonly value?: SettingToChange["value"];
}

/** What is found of something: nothing, one finding, or several. */
export type Found = undefined | Finding | readonly Finding[];

/** What a rule that judges single resources finds of one. */
export function findingsOf({ judgeResource, of }: Rule, resource: DeclaredResource): Finding[] {
  if (of !== undefined && of !== resource.type) return [];
  return [judgeResource?.(resource) ?? []]
    .flat()
    .map((found) => (typeof found === "string" ? violation(resource, found) : found));
}

/**
 * What a rule finds of everything together; `undefined` for one that judges single resources alone.
 */
export function stackJudge({ judgeStack, judgeMachine }: Rule): Rule["judgeStack"] {
  if (judgeMachine === undefined) return judgeStack;
  return (resources) => byMachine(resources).flatMap((group) => judgeMachine(group) ?? []);
}

/**
 * One rule about what may run. Pure and free of @pulumi/policy, since the program, `serving plan`
 * and the tests evaluate the same objects that the policy pack hands to the engine.
 */
export interface Rule {
  /** Kebab-case; the name that a policy configuration uses. */
  readonly name: string;
  readonly description: string;
  readonly level: "mandatory" | "advisory";
  /** The level can't be lowered by a policy configuration. */
  readonly fixed?: true;
  /**
   * The rule also gives advice, which the engine must show as a warning even when the rule is
   * mandatory.
   */
  readonly advises?: true;
  /** No stack file can break it: it is for containers that a program declares by hand. */
  readonly byHand?: true;
  /**
   * Another rule that refuses the same: where it names the same line and value, people read it once,
   * in the other's words.
   */
  readonly saidBy?: string;
  /** Type of a resource without which there is nothing to judge, and no verdict is shown. */
  readonly concerns?: string;
  /** Type of the resources that `judgeResource` is asked about; all if it is absent. */
  readonly of?: string;
  /**
   * Judges one resource by its inputs, before it is touched. A text is a violation of that
   * resource.
   */
  judgeResource?(resource: DeclaredResource): string | Found | readonly string[];
  /** Judges all resources of a run together. */
  judgeStack?(resources: readonly DeclaredResource[]): Finding[];
  /** In its place: judges what shares one machine. */
  judgeMachine?(group: MachineGroup): Found;
}

const finding =
  (kind: Finding["kind"]) =>
  (resource: DeclaredResource, message: string, change?: Change): Finding => ({
    resource,
    kind,
    message: withoutKeys(message),
    ...(change && { change }),
  });

export const violation = finding("violation");
export const advice = finding("advice");

/** Advice that is only good to know. */
export const note = (...said: Parameters<typeof advice>): Finding => ({
  ...advice(...said),
  note: true,
});
