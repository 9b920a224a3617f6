import { dotted } from "@local-serving/base/faults/fault";
import { isPlaceholder, isSecretName, secretPaths } from "@local-serving/base/faults/secrets";
import { isText, list, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import type { DeclaredResource } from "../lib/container";
import { readContainer, serversIn } from "../lib/inferenceServer";
import type { Rule } from "./rule";

const REMEDY =
  "Anyone who can read the state or `docker inspect` can read it. Keep it in a variable of your shell and pass it to the container as a file of mode 0600 (such as HF_TOKEN_PATH), or write a placeholder if the value is ignored.";

/**
 * Secrets are names: a value in a container's environment or arguments ends up in the state and in
 * `docker inspect`.
 */
export const secretValues: Rule = {
  name: "secret-values",
  description: "No container has a secret in its environment or arguments; placeholders are fine.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource: (resource) => [...inEnvironment(resource), ...inArguments(resource)],
};

function inEnvironment(resource: DeclaredResource): string[] {
  const entries = list(resource.props.envs);
  const isServer = () => readContainer(resource).kind !== "no";
  if (entries === UNKNOWN) return isServer() ? [unknown(resource, "`envs`")] : [];
  return entries.flatMap((entry, index) => {
    if (entry === UNKNOWN) return isServer() ? [unknown(resource, `\`envs[${index}]\``)] : [];
    const [name = "", ...value] = String(entry).split("=");
    if (secretPaths({ [name]: value.join("=") }).length === 0) return [];
    return `${nameOf(resource)} has a secret (not shown) in its variable ${name}. ${REMEDY}`;
  });
}

/**
 * What the server's own reading finds, abbreviated flags included; else what any argument, label or
 * check shows.
 */
function inArguments(resource: DeclaredResource): string[] {
  const flags = serversIn(resource)
    .flatMap(({ options }) => [...options])
    .filter(
      ([name, values]) =>
        isSecretName(name) && values.some((value) => !isText(value) || !isPlaceholder(value)),
    )
    .map(([name]) => `behind --${name}`);
  const { envs: _, ...props } = resource.props;
  const places =
    flags.length > 0 ? flags : secretPaths(props).map((path) => `in \`${dotted(path)}\``);
  return places.map((place) => `${nameOf(resource)} has a secret (not shown) ${place}. ${REMEDY}`);
}

const unknown = (resource: DeclaredResource, what: string): string =>
  `A variable of ${nameOf(resource)} is not known before the update. Give ${what} of an inference server as plain text: it may hold a secret.`;
