import { defined } from "@local-serving/base/faults/defined";
import { faultsIn, hasErrors, inFileOrder } from "@local-serving/base/faults/fault";
import { readBy, secretFaults } from "@local-serving/base/faults/schemaFaults";
import { DEFAULT_HARNESS } from "../harness";
import { readProfile } from "../providers/profile";
import { appFaults } from "./appRules";
import { artifactFaults } from "./artifactPath";
import { commandFaults } from "./commandRules";
import { coverageFaults, readPreset } from "./coverageRules";
import { readMapping, requiredFaults } from "./mapping";
import { evaluatorFaults, readRegistry, registryFaults } from "./namesElsewhere";
import { refusedKeyFaults } from "./refusedKeys";
import { type Environment, resolveContract, reviewOverride } from "./resolve";
import { ConfigView, readYamlOrJson } from "./ruleContext";
import { automationSchema } from "./schema";

/** The files that an automation config is checked with; all but the config itself are optional. */
export interface AutomationFiles {
  readonly config: string;
  /** Verification mapping, from which required blocks are derived. */
  readonly mapping?: string;
  readonly presets?: string;
  readonly registry?: string;
  /** The providers profile, which says what the evaluator can do. */
  readonly providers?: string;
  /** The project's directory, in which symlinks on the way to an artifact are resolved. */
  readonly project?: string;
}

const SECRET = "This looks like a secret (not shown): name a variable that holds it.";

/**
 * Checks an automation config and resolves it: every fault at once, in the order of their places.
 * `resolved` is there exactly when it is valid.
 * @param prefix prefix of the harness's variables, by default `HX_`; `<prefix>REVIEW_MAX_ROUNDS` is
 * read from `environment`. Throws `UnreadableInput` when a file can't be read, or isn't YAML, JSON
 * or TOML.
 */
export function checkAutomation(
  files: AutomationFiles,
  environment: Environment,
  prefix = DEFAULT_HARNESS.prefix,
) {
  const document = readYamlOrJson(files.config);
  const at = faultsIn(document);
  const config = new ConfigView(document.value);
  const preset = readPreset(config, files.presets);
  const mapping = files.mapping === undefined ? undefined : readMapping(files.mapping);
  const registry = files.registry === undefined ? undefined : readRegistry(files.registry);
  const providers = files.providers === undefined ? undefined : readProfile(files.providers);
  const review = reviewOverride(environment, prefix);
  const { data, faults: formal } = readBy(automationSchema, document.value, document);
  const named = [
    ...refusedKeyFaults(document.value, at),
    ...coverageFaults(config, preset, at),
    ...appFaults(config, at),
    ...artifactFaults(config, files.project, at),
    ...commandFaults(config, at),
    ...(mapping === undefined ? [] : requiredFaults(config, mapping, at)),
    ...(registry === undefined ? [] : registryFaults(config, registry, at)),
    ...(providers === undefined ? [] : evaluatorFaults(config, providers, at)),
    ...(review.wrong === undefined
      ? []
      : [at.error(["review", "max_rounds"], "wrong_variable", review.wrong)]),
  ];
  // A rule that speaks of a key by name says more than the schema does of the same key.
  const known = new Set(
    named.filter(({ severity }) => severity === "error").map(({ path }) => path),
  );
  const secret = secretFaults(
    document.value,
    [...named, ...formal],
    { code: "secret_in_file", message: SECRET },
    document,
  );
  const issues = [
    ...inFileOrder([...named, ...formal.filter(({ path }) => !known.has(path)), ...secret]),
    ...(mapping?.faults ?? []),
    ...(registry?.faults ?? []),
  ];
  if (data === undefined || hasErrors(issues)) return { valid: false, issues, resolved: null };
  const resolved = resolveContract(data, config, {
    review,
    ...defined({ preset, mapping, registry }),
  });
  return { valid: true, issues, resolved };
}
