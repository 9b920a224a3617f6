import { list, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { isPlaceholder, isSecretName } from "../../components/settings/secretValue";
import { displayName } from "../lib/container";
import type { DeclaredResource } from "../lib/declaredResource";
import { readContainer } from "../lib/inferenceServer";
import { type Finding, type Rule, violation } from "./rule";

/** Options of vLLM whose value is a secret. */
const SECRET_OPTIONS = ["api-key", "hf-token"];
const REMEDY =
  "Anyone who may read the state or `docker inspect` can read it. Name a variable that holds it and hand it to the " +
  "container as a file of mode 0600 (such as HF_TOKEN_PATH), or use a placeholder where the value is ignored.";

/** Secrets are names: a value in a container's environment or arguments ends up in the state and in `docker inspect`. */
export const secretValues: Rule = {
  name: "secret-values",
  description: "No secret stands in a container's environment or arguments; placeholders are fine.",
  level: "mandatory",
  judgeResource(resource) {
    if (resource.type !== TYPE.container) return [];
    return [...inEnvironment(resource), ...inArguments(resource)];
  },
};

function inEnvironment(resource: DeclaredResource): Finding[] {
  const entries = list(resource.props.envs);
  const isServer = () => readContainer(resource).kind !== "no";
  if (entries === UNKNOWN) return isServer() ? [unknown(resource, "`envs`")] : [];
  return entries.flatMap((entry, index) => {
    if (entry === UNKNOWN) return isServer() ? [unknown(resource, `\`envs[${index}]\``)] : [];
    const [name = "", ...value] = String(entry).split("=");
    if (!isSecretName(name) || isPlaceholder(value.join("="))) return [];
    return [
      violation(
        resource,
        `${displayName(resource)} has a value for the secret-like variable ${name} in its environment. ${REMEDY}`,
      ),
    ];
  });
}

function inArguments(resource: DeclaredResource): Finding[] {
  const reading = readContainer(resource);
  if (reading.kind !== "yes") return [];
  return reading.servers.flatMap((server) =>
    SECRET_OPTIONS.filter((option) =>
      server.options.get(option)?.some((value) => typeof value !== "string" || !isPlaceholder(value)),
    ).map((option) =>
      violation(resource, `${displayName(resource)} has a value behind --${option}. ${REMEDY}`),
    ),
  );
}

function unknown(resource: DeclaredResource, what: string): Finding {
  return violation(
    resource,
    `${displayName(resource)}: ${what} is not known before the update, so it may hold a secret. Give the ` +
      "variables of an inference server as plain text.",
  );
}
