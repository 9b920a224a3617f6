import { defined } from "../../faults/defined";
import { appAddress } from "./appRules";
import { effectiveFloors } from "./coverageRules";
import { type DerivingKind, type Mapping, type Requirement, requirementsOfKind } from "./mapping";
import type { PresetReading } from "./preset";
import type { Registry } from "./registry";
import { type ReviewOverride, reviewLimits } from "./reviewLimits";
import type { ConfigView } from "./ruleContext";
import type { AutomationConfig } from "./schema";

type Verification = NonNullable<AutomationConfig["verification"]>;
type Coverage = NonNullable<Verification["coverage"]>;

/** A valid config with everything that it leaves to other places filled in: what later gates read, and nothing else. */
export interface AutomationContract extends Omit<AutomationConfig, "verification" | "routing"> {
  readonly verification: Omit<Verification, "coverage" | "app"> & {
    readonly coverage?: Coverage & {
      /** Digest of the preset file that supplied floors; `null` when none did. */
      readonly preset_sha256: string | null;
    };
    readonly app?: NonNullable<Verification["app"]> & {
      /** Where evaluators reach the app: `interface`, else `ready.url`. */
      readonly address: string;
    };
  };
  readonly routing?: NonNullable<AutomationConfig["routing"]> & {
    /** Profiles that both the registry and this config allow; absent when no registry was given. */
    readonly effective_profiles?: readonly string[];
  };
  /** What the verification mapping requires; `null` when no mapping was given. */
  readonly required: { readonly conformance: boolean; readonly visual: boolean } | null;
  /** The requirements that each consumer of the running app must judge. */
  readonly criteria: {
    readonly conformance: readonly Requirement[];
    readonly visual: readonly Requirement[];
  };
}

export interface ResolutionInputs {
  readonly preset?: PresetReading;
  readonly mapping?: Mapping;
  readonly registry?: Registry;
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
  const criteria = (kind: DerivingKind) => (mapping === undefined ? [] : requirementsOfKind(mapping, kind));
  const conformance = criteria("runtime_conformance");
  const visual = criteria("visual");
  return {
    ...rest,
    review: reviewLimits(rest.review, inputs.review),
    verification: {
      ...blocks,
      ...defined({
        coverage: coverage && {
          ...coverage,
          ...effectiveFloors(view, preset),
          preset_sha256: preset !== undefined && "sha256" in preset ? preset.sha256 : null,
        },
        app: app === undefined || address === undefined ? undefined : { ...app, address },
      }),
    },
    ...defined({ routing: routing && { ...routing, ...effectiveProfiles(routing, registry) } }),
    required:
      mapping === undefined ? null : { conformance: conformance.length > 0, visual: visual.length > 0 },
    criteria: { conformance, visual },
  };
}

function effectiveProfiles(
  routing: NonNullable<AutomationConfig["routing"]>,
  registry: Registry | undefined,
): { effective_profiles?: string[] } {
  if (registry === undefined) return {};
  const allowed = routing.allowed_profiles;
  return {
    effective_profiles: registry.profiles.filter((id) => allowed === undefined || allowed.includes(id)),
  };
}
