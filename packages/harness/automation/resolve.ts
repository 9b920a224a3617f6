import { defined } from "@local-serving/base/faults/defined";
import { appAddress } from "./appRules";
import { effectiveFloors, type PresetReading } from "./coverageRules";
import { type DerivingKind, type Mapping, type Requirement, requirementsOfKind } from "./mapping";
import type { RoutingRegistry } from "./namesElsewhere";
import type { ConfigView } from "./ruleContext";
import type { AutomationConfig } from "./schema";

/**
 * A valid config with everything that it leaves to other places filled in: what later gates read,
 * and nothing else.
 */
export interface AutomationContract extends Omit<AutomationConfig, "verification" | "routing"> {
  readonly verification: Omit<Verification, "coverage" | "app"> & {
    /**
     * `preset_sha256` is the digest of the preset file that supplied floors; `null` when none did.
     */
    readonly coverage?: Coverage & { readonly preset_sha256: string | null };
    /** `address` is where evaluators reach the app: `interface`, else `ready.url`. */
    readonly app?: App & { readonly address: string };
  };
  readonly routing?: Routing & { readonly effective_profiles?: readonly string[] };
  /** What the verification mapping requires; `null` when no mapping was given. */
  readonly required: Readonly<Record<"conformance" | "visual", boolean>> | null;
  /** The requirements that each consumer of the running app must judge. */
  readonly criteria: Readonly<Record<"conformance" | "visual", readonly Requirement[]>>;
}

type Verification = NonNullable<AutomationConfig["verification"]>;
type Coverage = NonNullable<Verification["coverage"]>;
type App = NonNullable<Verification["app"]>;
type Routing = NonNullable<AutomationConfig["routing"]>;

interface ResolutionInputs {
  readonly preset?: PresetReading;
  readonly mapping?: Mapping;
  readonly registry?: RoutingRegistry;
  readonly review: ReviewOverride;
}

/** Resolves a config that has no faults. */
export function resolveContract(
  config: AutomationConfig,
  view: ConfigView,
  inputs: ResolutionInputs,
): AutomationContract {
  const { verification = {}, routing, ...rest } = config;
  const { coverage, app, ...blocks } = verification;
  const { preset, mapping, registry } = inputs;
  const address = appAddress(view);
  const criteria = (kind: DerivingKind) =>
    mapping === undefined ? [] : requirementsOfKind(mapping, kind);
  const conformance = criteria("runtime_conformance");
  const visual = criteria("visual");
  // Profiles that both the registry and this config allow; absent when no registry was given.
  const allowed = routing?.allowed_profiles;
  const effective_profiles = registry?.profiles.filter((id) => allowed?.includes(id) ?? true);
  return {
    ...rest,
    review: { ...rest.review, ...defined({ max_rounds: inputs.review.rounds }) },
    verification: {
      ...blocks,
      ...defined({
        coverage: coverage && {
          ...coverage,
          ...effectiveFloors(view, preset),
          preset_sha256: preset?.sha256 ?? null,
        },
        app: app === undefined || address === undefined ? undefined : { ...app, address },
      }),
    },
    ...defined({ routing: routing && { ...routing, ...defined({ effective_profiles }) } }),
    required:
      mapping === undefined
        ? null
        : { conformance: conformance.length > 0, visual: visual.length > 0 },
    criteria: { conformance, visual },
  };
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says of `review.max_rounds`. */
export interface ReviewOverride {
  readonly variable: string;
  readonly rounds?: number;
  /** What is wrong with the variable's value. */
  readonly wrong?: string;
}

/**
 * Reads `<prefix>REVIEW_MAX_ROUNDS`; no rounds when it is unset, faulty, or empty, which counts as
 * not set.
 */
export function reviewOverride(environment: Environment, prefix: string): ReviewOverride {
  const variable = `${prefix}REVIEW_MAX_ROUNDS`;
  const text = environment[variable]?.trim() ?? "";
  if (text === "") return { variable };
  const rounds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(rounds) && rounds >= 1) return { variable, rounds };
  const wrong = `The environment variable ${variable} overrides this key and must be a whole number of at least 1.`;
  return { variable, wrong };
}
