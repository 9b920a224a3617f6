import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { errorAt, type Fault, warningAt } from "@local-serving/base/faults/fault";
import { nearOf } from "@local-serving/base/faults/quoting";
import { readTextFile } from "@local-serving/base/faults/textFile";
import {
  analyticsKeys,
  type ConcreteKey,
  concrete,
  findKey,
  isFree,
  SOURCE_VARIABLE,
  valueFromText,
} from "./keys";
import { KEYLESS_VARIABLES } from "./schema";

/** Variables by name, as an environment or a `.env` file holds them. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables of one layer. `tools` are the ids that other layers have under `sources`,
 * which name further variables. An empty variable counts as not set. Values are returned by dotted
 * key, or by the variable's name if it belongs to no key.
 */
export function readVariables(
  variables: Variables,
  where: string,
  prefix: string,
  tools: readonly string[],
) {
  const values = new Map<string, unknown>();
  const faults: Fault[] = [];
  const byVariable = new Map(
    keysWithVariables(tools).map((key) => [`${prefix}${key.variable}`, key]),
  );
  for (const name of Object.keys(variables).sort()) {
    const text = variables[name];
    if (text === undefined || text === "" || !name.startsWith(prefix)) continue;
    const plain = name.slice(prefix.length);
    if (Object.hasOwn(KEYLESS_VARIABLES, plain)) {
      values.set(name, text);
      continue;
    }
    const key = byVariable.get(name) ?? unknownTool(plain);
    if (key === undefined) {
      if (plain.startsWith("SA_"))
        faults.push(unknownVariable(name, where, [...byVariable.keys()]));
      continue;
    }
    const read = valueFromText(key, text);
    if ("wrong" in read)
      faults.push(
        errorAt(
          key.name,
          "wrong_variable",
          `The variable \`${name}\` (${where}) can't set \`${key.name}\`: ${read.wrong}`,
        ),
      );
    else values.set(key.name, read.value);
  }
  return { values, faults };
}

/**
 * The variables of the default judge select its whole block: a backend from a variable never goes
 * with a model from the file, which is one of another backend. Returns the model's value where it
 * must be emptied, and in which layer.
 */
export function selectJudgeBlock(dotenv: Map<string, unknown>, env: Map<string, unknown>): void {
  const backend = "judge.default.backend";
  const model = "judge.default.model";
  const selecting = env.has(backend) ? env : dotenv.has(backend) ? dotenv : undefined;
  if (selecting !== undefined && !env.has(model) && !dotenv.has(model)) selecting.set(model, "");
}

function keysWithVariables(tools: readonly string[]): ConcreteKey[] {
  return analyticsKeys().flatMap((key) => {
    if (key.pattern.some(isFree))
      return key.pattern[0] === "sources" ? tools.map((id) => concrete(key, id)) : [];
    return key.variable === undefined ? [] : [concrete(key)];
  });
}

/** A folder for a tool that no layer has named yet: underscores mean dashes. */
function unknownTool(plain: string): ConcreteKey | undefined {
  if (!plain.startsWith(SOURCE_VARIABLE) || plain.length === SOURCE_VARIABLE.length)
    return undefined;
  return findKey(
    `sources.${plain.slice(SOURCE_VARIABLE.length).toLowerCase().replaceAll("_", "-")}`,
  );
}

function unknownVariable(name: string, where: string, known: readonly string[]): Fault {
  const hint = nearOf(name, known, "It sets nothing.");
  return warningAt(
    "",
    "unknown_variable",
    `The variable \`${name}\` (${where}) belongs to no key. ${hint}`,
  );
}

export function readDotenv(file: string): Variables {
  // A byte order mark would become a part of the first variable's name.
  return parseEnv(readTextFile(file).replace(/^\ufeff/, ""));
}

/**
 * The `.env` at the root of the repository that a folder is in, or of the folder itself where it is
 * in none.
 */
export function repositoryDotenv(folder: string): string | undefined {
  let root = resolve(folder);
  while (!existsSync(join(root, ".git")) && dirname(root) !== root) root = dirname(root);
  const file = resolve(existsSync(join(root, ".git")) ? root : folder, ".env");
  // Some keep a virtual environment in a folder of that name.
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? file : undefined;
}
