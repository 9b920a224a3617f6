import { attempt } from "@local-serving/base/faults/defined";
import { inKeyOrder, jsonIn, objectOr } from "@local-serving/base/faults/json";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { sha256 } from "../shell";

/** Our keys in a stack file; Pulumi's own, such as the salt of its secrets, don't count. */
const OURS = "local-serving:";

/**
 * Tells one text of a stack file from another by the settings that it has: comments, the order of
 * keys and Pulumi's own keys make no difference.
 */
function fingerprint(config: Readonly<Record<string, unknown>>): string {
  const ours = Object.entries(config).filter(([key]) => key.startsWith(OURS));
  return sha256(JSON.stringify(inKeyOrder(Object.fromEntries(ours))));
}

/** The fingerprint of a stack file's text; `undefined` where that is no YAML. */
export const fingerprintOfText = (text: string): string | undefined => {
  const document = attempt(() => parseYaml("stack file", text).value);
  return document === undefined ? undefined : fingerprint(objectOr(objectOr(document).config));
};

/** The same of a configuration as the engine hands it to the program: texts, and maps as JSON. */
export const fingerprintOfConfig = (config: Readonly<Record<string, string>>): string =>
  fingerprint(
    Object.fromEntries(Object.entries(config).map(([key, text]) => [key, jsonIn(text) ?? text])),
  );
