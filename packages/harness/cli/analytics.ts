import { existsSync } from "node:fs";
import { command } from "@local-serving/base/commandLine/command";
import { explainWriting, WrongUse } from "@local-serving/base/commandLine/exit";
import { columns, say } from "@local-serving/base/commandLine/output";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { type Fault, hasErrors, listed, UnreadableInput } from "@local-serving/base/faults/fault";
import { isRecord } from "@local-serving/base/faults/json";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { Argument, type Command, Option } from "commander";
import {
  type AnalyticsSources,
  configureAnalytics,
  renderDocument,
  setKey,
  shownDocument,
  shownValues,
} from "../analytics/configuration";
import { readDotenv, repositoryDotenv } from "../analytics/variables";
import { type Harness, harnessFile } from "../harness";
import { checked, checkOutcome, checkResult, issueLines } from "./checkResult";
import { harnessOptions } from "./options";

export function checkAnalyticsCommand(): Command {
  return command({
    name: "analytics",
    description: "Check a session-analytics file and the variables that override it.",
    arguments: [new Argument("[file]", "the file (default: the one in the harness's folder)")],
    options: [
      new Option("--dotenv <file>", "a .env file whose variables are checked as well"),
      ...harnessOptions(),
    ],
    example: "harness check analytics ~/.hx/session-analytics.json --dotenv .env",
    run: (options: Harness & { readonly dotenv?: string }, given: string | undefined) => {
      const file = given ?? harnessFile(options.home, "analytics");
      return checked(file, () => {
        const configuration = configureAnalytics({
          prefix: options.prefix,
          document: readJsonFile(file),
          dotenv: dotenvSource(options.dotenv),
          environment: process.env,
          settings: [],
        });
        return checkOutcome(file, checkResult(configuration.faults, shownDocument(configuration)));
      });
    },
  });
}

interface LayerOptions extends Harness {
  readonly config?: string;
  readonly dotenv?: string;
  readonly set?: readonly string[];
}

export function showAnalyticsCommand(): Command {
  return command({
    name: "analytics",
    description: "Show every effective value and its layer: default < file < dotenv < env < cli.",
    options: [
      new Option(
        "--config <file>",
        "the session-analytics file (default: the one in the harness's folder, if any)",
      ),
      new Option(
        "--dotenv <file>",
        "the .env file (default: the one at the repository's root, if any)",
      ),
      new Option("--set <key=value>", "value of a key that has a variable; repeatable").argParser(
        (text: string, earlier: readonly string[] = []) => [...earlier, text],
      ),
      ...harnessOptions(),
    ],
    example: "harness show analytics --set embedding.workers=2 --format json",
    run: (options: LayerOptions & { readonly format: string }) => {
      const sources = readSources(options);
      const configuration = configureAnalytics(sources);
      const values = shownValues(configuration);
      const issues = configuration.faults;
      for (const line of issueLines(issues, sources.document?.file ?? "settings")) say(line);
      const rows = Object.entries(values).map(([name, { value, layer }]) => [
        name,
        layer,
        typeof value === "string" ? value : JSON.stringify(value),
      ]);
      return {
        result: { values, issues: listed(issues) },
        // A wrong argument must be corrected first: without it the table answers another question.
        text: configuration.wrongArguments ? "" : columns(rows).join("\n"),
        failed: hasErrors(issues),
      };
    },
  });
}

export function setAnalyticsCommand(): Command {
  return command({
    name: "analytics",
    description: "Set one key of the session-analytics file in one step; secrets are refused.",
    arguments: [
      new Argument("<key>", "the dotted key, such as embedding.workers"),
      new Argument("<value>", "its value; separate a list's items by commas, or give a JSON array"),
    ],
    options: [
      new Option(
        "--config <file>",
        "the file (default: the one in the harness's folder); made if missing",
      ),
      ...harnessOptions(),
    ],
    example: "harness set analytics judge.default.model qwen3-coder-next",
    run: (options: Harness & { readonly config?: string }, key: string, value: string) => {
      const file = options.config ?? harnessFile(options.home, "analytics");
      const set = setKey(readObject(file), key, value, options.prefix);
      const issues: Fault[] = "fault" in set ? [set.fault] : [];
      if ("document" in set) writeDocument(file, renderDocument(set.document));
      const written = issues.length === 0;
      const text = written
        ? [`${file}: ${key} is set`]
        : [...issueLines(issues, file), `${file} is unchanged`];
      return { result: { written, file, key, issues }, text: text.join("\n"), failed: !written };
    },
  });
}

function writeDocument(file: string, text: string): void {
  try {
    replaceFile(file, text);
  } catch (error) {
    explainWriting(file, error);
  }
}

/** Reads the layers. A file that an option names must exist; the default ones need not. */
function readSources(options: LayerOptions): AnalyticsSources {
  const settings = (options.set ?? []).map(keyAndValue);
  const own = harnessFile(options.home, "analytics");
  const file = options.config ?? (existsSync(own) ? own : undefined);
  return {
    prefix: options.prefix,
    document: file === undefined ? undefined : readJsonFile(file),
    dotenv: dotenvSource(options.dotenv ?? repositoryDotenv(process.cwd())),
    environment: process.env,
    settings,
  };
}

const dotenvSource = (file: string | undefined): AnalyticsSources["dotenv"] =>
  file === undefined ? undefined : { file, variables: readDotenv(file) };

function keyAndValue(setting: string): { key: string; value: string } {
  const equals = setting.indexOf("=");
  // The setting is not repeated: it might be a secret that belongs elsewhere.
  if (equals < 1) throw new WrongUse("--set takes KEY=VALUE, such as --set embedding.workers=2");
  return { key: setting.slice(0, equals), value: setting.slice(equals + 1) };
}

function readObject(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  const { value, duplicates } = readJsonFile(file);
  if (!isRecord(value)) throw new UnreadableInput(file, "is not a JSON object");
  const [twice] = duplicates;
  // Writing the file would silently drop one of the two.
  if (twice !== undefined)
    throw new UnreadableInput(file, "gives a key twice; remove one of them first", twice.place);
  return value;
}
