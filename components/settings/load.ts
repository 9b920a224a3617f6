import { dotted, type Fault, FaultyInput, hasErrors } from "../../faults/fault";
import { isRecord } from "../../faults/json";
import { schemaFaults, secretFaults } from "../../faults/schemaFaults";
import { parseYaml, readYamlFile, type SourceDocument } from "../../faults/yamlDocument";
import { crossFaults } from "./crossFaults";
import { rememberDocument } from "./places";
import { NAMESPACE, type StackSettings, stackSettings } from "./stackSettings";

/** Keys of a Pulumi stack file beside `config`; they are Pulumi's own. */
const PULUMI_KEYS = ["config", "secretsprovider", "encryptedkey", "encryptionsalt", "environment"];

/** Refused here and not by a policy: a plan or a preview of it would print the value. */
const SECRET =
  "This looks like a secret (not shown), which would stand in plans, in the state and in `docker inspect`. For a Hugging Face token use `huggingFaceTokenVariable`, for the bridge's key `keyVariable`, in a command a variable of its own shell; else give a placeholder.";

/** Reads a stack file. Throws `UnreadableInput` when it is no YAML, `FaultyInput` with every fault otherwise. */
export function loadStackFile(file: string): StackSettings {
  return settingsOf(readYamlFile(file));
}

/** Parses the text of a stack file; `file` is its name in faults. Throws as `loadStackFile` does. */
export function parseStackFile(file: string, text: string): StackSettings {
  return settingsOf(parseYaml(file, text));
}

function settingsOf(document: SourceDocument): StackSettings {
  const { file } = document;
  const root = document.value;
  if (!isRecord(root) || !isRecord(root.config)) {
    throw new FaultyInput(file, [
      {
        path: "config",
        code: "missing_key",
        message: `A stack file has a map \`config\` with keys such as \`${NAMESPACE}:machines\`.`,
        severity: "error",
        ...document.locate([]),
      },
    ]);
  }
  const faults = Object.keys(root)
    .filter((key) => !PULUMI_KEYS.includes(key))
    .map((key) => unknownTopLevel(key, document));
  const prefix = `${NAMESPACE}:`;
  const ours = Object.entries(root.config).filter(([key]) => key.startsWith(prefix));
  const settings = Object.fromEntries(ours.map(([key, value]) => [key.slice(prefix.length), value]));
  return parseSettings(file, settings, placesBelowConfig(document), faults);
}

/**
 * Parses the configuration as the engine hands it to the program: full keys, values as text, maps as JSON.
 * Throws `FaultyInput` with every fault.
 */
export function parseEngineConfig(config: Readonly<Record<string, string>>): StackSettings {
  const prefix = `${NAMESPACE}:`;
  const ours = Object.entries(config).filter(([key]) => key.startsWith(prefix));
  const settings = Object.fromEntries(
    ours.map(([key, text]) => [key.slice(prefix.length), jsonOrText(text)]),
  );
  return parseSettings("stack configuration", settings);
}

function parseSettings(
  input: string,
  value: Record<string, unknown>,
  document?: SourceDocument,
  earlier: readonly Fault[] = [],
): StackSettings {
  const result = stackSettings.safeParse(value);
  const proto = protoPath(value);
  const found = [
    ...earlier,
    ...(proto === undefined
      ? []
      : [
          {
            path: dotted(proto),
            code: "unknown_key",
            message: "JavaScript keeps the name `__proto__` for itself: write another one.",
            severity: "error" as const,
            ...document?.locate(proto, "key"),
          },
        ]),
    ...(result.success
      ? crossFaults(result.data, document)
      : schemaFaults(stackSettings, value, result.error.issues, document)),
  ];
  const faults = [...found, ...secretFaults(value, found, "secret_value", SECRET, document)];
  if (!result.success || hasErrors(faults)) throw new FaultyInput(input, faults);
  if (document !== undefined) rememberDocument(result.data, document);
  return result.data;
}

/** Where a key is `__proto__`, which no schema sees. */
function protoPath(value: unknown, path: readonly string[] = []): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, each] of Object.entries(value)) {
    const found = key === "__proto__" ? [...path, key] : protoPath(each, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Paths of settings (`machines.dgx`) looked up where they stand in the file (`config."local-serving:machines".dgx`). */
function placesBelowConfig(document: SourceDocument): SourceDocument {
  return {
    ...document,
    locate: ([first, ...rest], part) =>
      document.locate(
        first === undefined ? ["config"] : ["config", `${NAMESPACE}:${String(first)}`, ...rest],
        part,
      ),
  };
}

function unknownTopLevel(key: string, document: SourceDocument): Fault {
  return {
    path: key,
    code: "unknown_key",
    message: `Unknown key \`${key}\` beside \`config\`. Our settings go below \`config\`, as \`${NAMESPACE}:machines\`.`,
    severity: "error",
    ...document.locate([key], "key"),
  };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
