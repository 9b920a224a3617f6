import { extname } from "node:path";
import { type Fault, type FaultMaker, faultsIn } from "@local-serving/base/faults/fault";
import { isRecord, objectOr, textOr } from "@local-serving/base/faults/json";
import { nearOf } from "@local-serving/base/faults/quoting";
import { REQUEST_PLACEHOLDER } from "../providers/placeholders";
import type { ProfileDocument } from "../providers/profile";
import { type ConfigView, readToml, readYamlOrJson } from "./ruleContext";

/**
 * Faults of the evaluator that a config names: the profile must have it, with a command that tries
 * a running app.
 */
export function evaluatorFaults(
  config: ConfigView,
  { value, naive }: ProfileDocument,
  at: FaultMaker,
): Fault[] {
  const path = ["verification", "conformance", "evaluator"];
  const evaluator = config.text(path);
  if (evaluator === undefined) return [];
  const providers = objectOr(objectOr(value).providers);
  if (!Object.hasOwn(providers, evaluator)) {
    const message = `The providers profile has no provider \`${evaluator}\`. ${nearOf(evaluator, Object.keys(providers))}`;
    return [at.error(path, "unknown_provider", message)];
  }
  const command = textOr(objectOr(providers[evaluator]).conformance_command);
  const refused = (message: string) => [at.error(path, "no_conformance_command", message)];
  if (command === "")
    return refused(
      `Provider \`${evaluator}\` declares no \`conformance_command\`: it can review, but nothing shows that it can try a running app.`,
    );
  if (!command.includes(REQUEST_PLACEHOLDER))
    return refused(
      `The \`conformance_command\` of provider \`${evaluator}\` lacks ${REQUEST_PLACEHOLDER}, so it would never see the request.`,
    );
  // What runs is the command as the harness's own reader takes it.
  if (
    naive
      .get(`providers.${evaluator}`, "conformance_command")
      ?.text.includes(REQUEST_PLACEHOLDER) === true
  )
    return [];
  return refused(
    `The harness does not read the \`conformance_command\` of provider \`${evaluator}\` the way TOML does; \`serving harness check providers\` says why.`,
  );
}

/** What the user's routing registry offers, or the faults that keep it from being used. */
export interface RoutingRegistry {
  readonly profiles: readonly string[];
  readonly routes: readonly string[];
  readonly faults: readonly Fault[];
}

/**
 * Reads a routing registry: `profiles: [id, ...]` and `routes: [name, ...]`, as YAML, JSON or TOML.
 * Profiles may be tables with an `id`, routes a map by name (also called `route_classes`). Throws
 * `UnreadableInput`.
 */
export function readRegistry(file: string): RoutingRegistry {
  const document = extname(file).toLowerCase() === ".toml" ? readToml(file) : readYamlOrJson(file);
  const at = faultsIn(document, file);
  const { value } = document;
  if (!isRecord(value)) {
    const fault = at.error([], "wrong_type", "A registry is a map with `profiles` and `routes`.");
    return { profiles: [], routes: [], faults: [fault] };
  }
  const routesKey = "routes" in value ? "routes" : "route_classes";
  const profiles = namesOf(value.profiles);
  const routes = namesOf(value[routesKey]);
  const wrong = (key: string, names: string[] | undefined) =>
    names === undefined
      ? [at.error([key], "wrong_type", `\`${key}\` must be a list of names.`)]
      : [];
  return {
    profiles: profiles ?? [],
    routes: routes ?? [],
    faults: [...wrong("profiles", profiles), ...wrong(routesKey, routes)],
  };
}

/**
 * Faults of a config's routing block against a registry: it may only narrow what the registry has.
 */
export function registryFaults(
  config: ConfigView,
  registry: RoutingRegistry,
  at: FaultMaker,
): Fault[] {
  const allowed = ["routing", "allowed_profiles"];
  const profiles = config
    .texts(allowed)
    .flatMap(({ text, index }) =>
      registry.profiles.includes(text)
        ? []
        : [
            at.error(
              [...allowed, index],
              "unknown_profile",
              lacks("profile", text, registry.profiles),
            ),
          ],
    );
  const path = ["routing", "default_task_route"];
  const route = config.text(path);
  if (route === undefined || registry.routes.includes(route)) return profiles;
  return [...profiles, at.error(path, "unknown_route", lacks("route", route, registry.routes))];
}

const lacks = (what: string, name: string, known: readonly string[]): string =>
  `The routing registry has no ${what} \`${name}\`, and a repository can't add one. ${nearOf(name, known)}`;

function namesOf(value: unknown): string[] | undefined {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return isRecord(value) ? Object.keys(value) : undefined;
  const names = value.map((item: unknown) => (isRecord(item) && "id" in item ? item.id : item));
  return names.every((name) => typeof name === "string") ? names : undefined;
}
