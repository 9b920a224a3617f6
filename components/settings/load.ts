import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  dotted,
  errorAt,
  type Fault,
  FaultyInput,
  hasErrors,
} from "@local-serving/base/faults/fault";
import { isRecord, objectOr } from "@local-serving/base/faults/json";
import { faultsOnce, secretFaults } from "@local-serving/base/faults/schemaFaults";
import { readTextFile } from "@local-serving/base/faults/textFile";
import {
  parseYaml,
  readYamlFile,
  type SourceDocument,
} from "@local-serving/base/faults/yamlDocument";
import { STACK_FILE_VARIABLE } from "@local-serving/machines/update/variables";
import { AN_OPTION, isProto, PROTO } from "../planned/fields";
import { crossFaults } from "./crossFaults";
import { rememberGoneKeys, takeGoneKeys } from "./goneKeys";
import { rememberDocument } from "./places";
import { sizeFaults } from "./sizeFaults";
import { NAMESPACE, type StackSettings, stackSettings } from "./stackSettings";

/** Keys of a Pulumi stack file beside `config`; they are Pulumi's own. */
const PULUMI_KEYS = ["config", "secretsprovider", "encryptedkey", "encryptionsalt", "environment"];

/**
 * A secret is refused here and not by a policy, because a plan or preview would print its value.
 */
const SECRET =
  "This looks like a secret (not shown): plans, the state and `docker inspect` would show it. Use `huggingFaceTokenVariable` for a Hugging Face token, `keyVariable` for the bridge's key, and in a command a variable of its own shell. Otherwise write a placeholder.";

/**
 * Whether a stack file declares nothing, as `pulumi stack init` leaves it: it is empty, or has
 * Pulumi's own keys alone. `file` is its name in faults. Throws `UnreadableInput` when it is no
 * YAML.
 */
export const declaresNothing = (file: string, text: string): boolean =>
  isBlank(text) || isBare(parseYaml(file, text).value);

const isBlank = (text: string) => text.split("\n").every((line) => /^\s*(#|$)/.test(line));

function isBare(root: unknown): boolean {
  if (!isRecord(root) || Object.keys(root).some((key) => !PULUMI_KEYS.includes(key))) return false;
  const { config } = root;
  return (
    config === undefined ||
    config === null ||
    (isRecord(config) && Object.keys(config).length === 0)
  );
}

function nothingYet(file: string): FaultyInput {
  const name = /^Pulumi\.([\w.-]+)\.yaml$/.exec(basename(file))?.[1];
  const message = `Nothing is declared yet. \`serving init${name === undefined ? "" : ` --name ${name}`}\` looks at this machine and writes it down here.`;
  return new FaultyInput(file, [errorAt("config", "missing_key", message)]);
}

/**
 * Reads a stack file. Throws `UnreadableInput` when it is no YAML, `FaultyInput` with every fault
 * otherwise.
 */
export const loadStackFile = (file: string): StackSettings =>
  parseStackFile(file, readTextFile(file));

/**
 * Parses the text of a stack file; `file` is its name in faults. Throws as `loadStackFile` does.
 */
export function parseStackFile(file: string, text: string): StackSettings {
  if (isBlank(text)) throw nothingYet(file);
  const document = parseYaml(file, text);
  if (isBare(document.value)) throw nothingYet(file);
  return settingsOf(document);
}

function settingsOf(document: SourceDocument): StackSettings {
  const { file } = document;
  const root = document.value;
  if (!isRecord(root) || !isRecord(root.config)) {
    const message = `A stack file has a map \`config\` with keys such as \`${NAMESPACE}:machines\`.`;
    throw new FaultyInput(file, [errorAt("config", "missing_key", message, document.locate([]))]);
  }
  const bare = Object.keys(root.config).filter((key) => Object.hasOwn(stackSettings.shape, key));
  if (bare.length > 0)
    throw new FaultyInput(
      file,
      bare.map((key) =>
        errorAt(
          key,
          "unknown_key",
          `Write \`${NAMESPACE}:${key}\`: below \`config\` each key begins with the project it is for.`,
          document.locate(["config", key], "key"),
        ),
      ),
    );
  const faults = Object.keys(root)
    .filter((key) => !PULUMI_KEYS.includes(key))
    .map((key) => {
      const message = `Unknown key \`${key}\` beside \`config\`. Our settings go below \`config\`, as \`${NAMESPACE}:machines\`.`;
      return errorAt(key, "unknown_key", message, document.locate([key], "key"));
    });
  return parseSettings(file, ours(root.config), placesBelowConfig(document), faults);
}

/**
 * Parses the configuration as the engine hands it to the program: full keys, values as text, maps
 * as JSON. `document` is the stack file that it comes from, where there is one. Throws
 * `FaultyInput` with every fault.
 */
export function parseEngineConfig(config: EngineConfig, document?: SourceDocument): StackSettings {
  const file = document?.file ?? "stack configuration";
  const settings = ours(config, jsonOrText);
  if (Object.keys(settings).length === 0) throw nothingYet(file);
  return parseSettings(file, settings, document);
}

type EngineConfig = Readonly<Record<string, string>>;

/**
 * The stack file in a project's folder, or the one that a variable names, with the places of our
 * settings. The engine doesn't say which file it read, and with `--config-file` it is another:
 * `undefined` where ours isn't there, or doesn't hold this configuration.
 */
export function stackFileOf(
  config: EngineConfig,
  project: string,
  stack: string,
): SourceDocument | undefined {
  try {
    const named = process.env[STACK_FILE_VARIABLE];
    const document = readYamlFile(named ?? join(project, `Pulumi.${stack}.yaml`));
    const same = isDeepStrictEqual(
      ours(objectOr(objectOr(document.value).config)),
      ours(config, jsonOrText),
    );
    return same ? { ...placesBelowConfig(document), file: basename(document.file) } : undefined;
  } catch {
    return undefined; // The engine has read a good one elsewhere.
  }
}

/** Our keys of a configuration, without the namespace. */
function ours<T>(
  config: Readonly<Record<string, T>>,
  read: (value: T) => unknown = (value) => value,
) {
  const prefix = `${NAMESPACE}:`;
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), read(value)]] : [],
    ),
  );
}

/**
 * Parses settings; `input` is their name in faults. Throws `FaultyInput` with every fault, after
 * those that were found `earlier`.
 */
export function parseSettings(
  input: string,
  value: Record<string, unknown>,
  document?: SourceDocument,
  earlier: readonly Fault[] = [],
): StackSettings {
  const large = sizeFaults(value, document);
  if (large.length > 0) throw new FaultyInput(input, [...earlier, ...large]);
  const gone = takeGoneKeys(value);
  const result = stackSettings.safeParse(gone.kept);
  const proto = protoPath(value);
  const judged = result.success
    ? crossFaults(result.data, document)
    : faultsOnce(stackSettings, gone.kept, result.error.issues, document);
  const found = [
    ...earlier,
    ...(proto === undefined
      ? []
      : [errorAt(dotted(proto), "unknown_key", PROTO, document?.locate(proto, "key"))]),
    ...judged.filter(({ path }) => proto === undefined || path !== dotted(proto)),
  ];
  // A key in PEM form also begins with dashes. The fault that calls it a key says more.
  const exact = found.filter((each) => !each.message.startsWith(AN_OPTION));
  const secrets = secretFaults(value, exact, { code: "secret_value", message: SECRET }, document);
  const faults = [
    ...found.filter((each) => exact.includes(each) || !samePath(each, secrets)),
    ...secrets,
  ];
  if (!result.success || hasErrors(faults)) throw new FaultyInput(input, faults);
  if (document !== undefined) rememberDocument(result.data, document);
  if (gone.found.length > 0) rememberGoneKeys(result.data, gone.found);
  return result.data;
}

const samePath = ({ path }: Fault, others: readonly Fault[]) =>
  others.some((each) => each.path === path);

/** Finds the path of a key `__proto__`, which no schema sees. */
function protoPath(value: unknown, path: readonly string[] = []): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, each] of Object.entries(value)) {
    const found = isProto(key) ? [...path, key] : protoPath(each, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Paths of settings (`machines.dgx`) looked up where they stand in the file
 * (`config."local-serving:machines".dgx`).
 */
const placesBelowConfig = (document: SourceDocument): SourceDocument => ({
  ...document,
  locate: ([first, ...rest], part) =>
    document.locate(
      first === undefined ? ["config"] : ["config", `${NAMESPACE}:${String(first)}`, ...rest],
      part,
    ),
});

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
