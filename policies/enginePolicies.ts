import { defined } from "@local-serving/base/faults/defined";
import { list, wordsOf } from "@local-serving/vllm/argv/unknown";
import type {
  Policies,
  PolicyResource,
  ReportViolation,
  ResourceValidationArgs,
  StackValidationArgs,
} from "@pulumi/policy";
import { refusedMark, TYPE } from "../components/planned";
import { type Locate, placed } from "../components/settings";
import { settingOf } from "./judge";
import { type DeclaredResource, knownText, withPlainProps } from "./lib/container";
import { type Finding, findingsOf, type Rule, stackJudge } from "./rules/rule";

/**
 * Turns rules into policies of the engine. Each rule becomes a policy for single resources and one
 * for the stack under one name; a rule that also advises gets a sibling that only warns, since a
 * policy has one level for all it says. `locate` finds the lines of the stack file.
 */
export function enginePolicies(rules: readonly Rule[], locate?: Locate): Policies {
  const inputs = new Inputs();
  return rules.flatMap((rule, index) => {
    // Disabled policies are not asked. The first rule is fixed, so it always meets a resource
    // before the others.
    const read = (args: ResourceValidationArgs) =>
      index === 0 ? inputs.remember(args) : inputs.met(args);
    const kinds: readonly Finding["kind"][] = rule.advises
      ? ["violation", "advice"]
      : ["violation"];
    return kinds.map((kind) => policy(rule, kind, { inputs, locate, read }));
  });
}

/** What a policy says of a violation of which the program tells all. */
const TOLD = "The program's error says what to change, and where.";

/** What lies below our component in somebody's program has its settings, and no stack file. */
const placesOf = (urn: string | undefined) =>
  urn?.includes(`${TYPE.localServing}$`) === true ? "settings" : undefined;

/** How a policy reads resources, and the lines of the stack file. */
interface Reading {
  readonly inputs: Inputs;
  readonly locate: Locate | undefined;
  readonly read: (args: ResourceValidationArgs) => DeclaredResource;
}

/** A rule as a policy of its own for violations and, under a name of its own, for advice. */
function policy(
  rule: Rule,
  kind: Finding["kind"],
  { inputs, locate, read }: Reading,
): Policies[number] {
  const report = (findings: readonly Finding[], reportViolation: ReportViolation) => {
    for (const finding of findings) {
      if (finding.kind === kind)
        reportViolation(
          kind === "violation" && inputs.isTold(rule, finding)
            ? TOLD
            : placed(finding.message, settingOf(finding), placesOf(finding.resource.urn) ?? locate)
                .message,
          finding.resource.urn,
        );
    }
  };
  // The engine passes every resource to each function again, so a policy only has the function that
  // its rule has.
  const judgeStack = stackJudge(rule);
  const { name, description, level } = rule;
  const validateResource = (args: ResourceValidationArgs, reportViolation: ReportViolation) =>
    report(findingsOf(rule, read(args)), reportViolation);
  const validateStack = (args: StackValidationArgs, reportViolation: ReportViolation) =>
    report(judgeStack?.(args.resources.map((each) => inputs.of(each))) ?? [], reportViolation);
  return {
    ...(kind === "violation"
      ? { name, description, enforcementLevel: level }
      : {
          name: `${name}-advice`,
          description: `Advice: ${description}`,
          enforcementLevel: "advisory",
        }),
    ...(rule.judgeResource && { validateResource }),
    ...(judgeStack && { validateStack }),
  } as Policies[number];
}

/**
 * The inputs of each resource, as they passed by one at a time. The stack's own view shows outputs,
 * in which every field that nobody set is unknown at a preview: judged by those, each container
 * without an entrypoint would be unreadable.
 */
class Inputs {
  private readonly byUrn = new Map<string, DeclaredResource>();
  /** What the program tells itself, of all machines that it declares. */
  private readonly told = new Set<unknown>();

  remember(args: ResourceValidationArgs): DeclaredResource {
    const resource = declared(args, args.opts.parent);
    this.byUrn.set(args.urn, resource);
    if (resource.type === TYPE.machine)
      for (const mark of wordsOf(list(resource.props.refused))) this.told.add(mark);
    return resource;
  }

  isTold({ name }: Rule, { resource }: Finding): boolean {
    return this.told.has(refusedMark(name, resource.name));
  }

  /** A resource that a policy before this one has read. */
  met(args: ResourceValidationArgs): DeclaredResource {
    return this.byUrn.get(args.urn) ?? this.remember(args);
  }

  /**
   * Falls back to the outputs where no inputs were seen, as for a component that was registered
   * without any.
   */
  of(resource: PolicyResource): DeclaredResource {
    const seen = this.byUrn.get(resource.urn);
    const hasInputs = seen !== undefined && Object.keys(seen.props).length > 0;
    if (hasInputs && resource.type !== TYPE.machine) return seen;
    const outputs = declared(resource, resource.parent?.urn ?? resource.opts.parent);
    // A machine's inputs don't say how its kernel was last booted.
    const bootId = knownText(outputs.props.bootId);
    return { ...(hasInputs ? seen : outputs), ...defined({ bootId }) };
  }
}

const declared = (
  {
    type,
    name,
    urn,
    provider,
    props,
  }: Pick<PolicyResource, "type" | "name" | "urn" | "provider" | "props">,
  parent: string | undefined,
): DeclaredResource =>
  withPlainProps({ type, name, urn, ...defined({ parent, provider: provider?.urn }), props });
