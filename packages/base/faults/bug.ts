import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative } from "node:path";
import { version } from "../package.json";
import { PROGRAM_FOLDER } from "../programFolder";
import { plainText } from "./plainText";
import { redactSecrets } from "./secrets";

/**
 * Places that are shown of a stack, and characters of a message: enough to find the line, short
 * enough to be read.
 */
const PLACES = 12;
const LONGEST_MESSAGE = 600;

/**
 * Describes an unexpected error, which is a fault of this program alone. It names the version, the
 * `command` and the places in our sources, and holds no secret that is recognized by its form or
 * name.
 */
export function bugText(error: unknown, command: string): string {
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: "" };
  const said =
    message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)} ...` : message;
  const lines = [
    `This is a bug in local-serving ${version}: ${said}`,
    `  command: ${command}`,
    `  Node.js ${process.version} on ${process.platform} ${process.arch}`,
    ...placesIn(stack ?? "").map((place) => `  at ${place}`),
    "Please report it: open an issue of local-serving with these lines and what you did before.",
  ];
  return redactSecrets(plainText(lines.join("\n")));
}

/** The command line of this process, as a person typed it. */
export const commandOf = (program: string): string => [program, ...process.argv.slice(2)].join(" ");

/** A line of a stack: `at name (file:1:2)` or `at file:1:2`. */
const FRAME =
  /^\s*at (?:(?<name>.+) \()?(?:file:\/\/)?(?<file>\/[^()]*):(?<line>\d+):(?<column>\d+)\)?$/;

function placesIn(stack: string): string[] {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (file: string) => {
    if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
    return maps.get(file);
  };
  const places = stack.split("\n").flatMap((frame) => {
    const { name, file, line, column } = FRAME.exec(frame)?.groups ?? {};
    if (file === undefined) return [];
    const origin = mapOf(file)?.findOrigin(Number(line), Number(column));
    const isMapped = origin !== undefined && "fileName" in origin;
    const place = isMapped
      ? `${origin.fileName.replace(/^(?:\.\.\/)+/, "")}:${origin.lineNumber}:${origin.columnNumber}`
      : `${relative(PROGRAM_FOLDER, file)}:${line}:${column}`;
    if (/^\.\.\/|(?:^|\/)node_modules\//.test(place)) return [];
    return name === undefined ? place : `${name} (${place})`;
  });
  return places.slice(0, PLACES);
}

/** A map is read only here, so that no start waits for it. */
function readMap(file: string): SourceMap | undefined {
  try {
    if (!existsSync(file)) return undefined;
    return new SourceMap(
      JSON.parse(readFileSync(file, "utf8")) as ConstructorParameters<typeof SourceMap>[0],
    );
  } catch {
    return undefined; // A stack with the bundle's own lines is better than none.
  }
}
