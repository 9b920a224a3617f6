import { isMap, isScalar, parseDocument } from "yaml";
import { NAMESPACE } from "../../components/settings";
import { commented } from "../stackEdit/commentedYaml";
import { BEGINS_REASON } from "./serverValues";

/** A server of a stack file. */
interface Place {
  readonly machine: string;
  readonly server: string;
}

/** A text without the reasons that were written above a server's values. */
export function withoutReasons(text: string, place: Place): string {
  const [start, end] = linesOfServer(text, place);
  let isReason = false;
  const kept = text
    .slice(start, end)
    .split("\n")
    .filter((line) => {
      isReason = BEGINS_REASON.test(line) || (isReason && /^ *# /.test(line));
      return !isReason;
    });
  return `${text.slice(0, start)}${kept.join("\n")}${text.slice(end)}`;
}

/** A text with the reason of each of a server's values above it; reasons by dotted path. */
export function withReasons(
  text: string,
  place: Place,
  reasons: ReadonlyMap<string, string>,
): string {
  const [start, end] = linesOfServer(text, place);
  const lines = text
    .slice(start, end)
    .split("\n")
    .flatMap((line) => {
      const [, indent = "", key = ""] = /^( *)([A-Za-z]+):/.exec(line) ?? [];
      const why = [...reasons].find(([of]) => of === key || of.startsWith(`${key}.`));
      return why === undefined ? [line] : [`${commented(why[1], indent)}${line}`];
    });
  return `${text.slice(0, start)}${lines.join("\n")}${text.slice(end)}`;
}

/** Where the lines of a server begin and end. */
function linesOfServer(text: string, { machine, server }: Place): readonly [number, number] {
  const path = ["config", `${NAMESPACE}:machines`, machine, "inferenceServers"];
  const servers = parseDocument(text).getIn(path, true);
  const pair = isMap(servers)
    ? servers.items.find(({ key }) => isScalar(key) && key.value === server)
    : undefined;
  if (!isScalar(pair?.key) || !isMap(pair.value) || pair.value.flow === true) return [0, 0];
  // The block of YAML begins at its first key, behind that key's indentation and comments.
  const [, name = 0] = pair.key.range ?? [];
  const [, end = 0] = pair.value.range ?? [];
  return [text.indexOf("\n", name) + 1, end];
}
