import { existsSync, readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { explained } from "../../components/fetch/causes";
import { jsonIn, objectOr, textOr } from "../../faults/json";

/** The provider's words for an image that it could not pull. */
const FAILED_PULL = /pull(?:ing)? (?:image )?"?([^\s"]+?)"?: (.*)/s;

/** What to run next for each image that an update could not pull, by the engine's own log of it. */
export function failedPulls(eventLog: string): string[] {
  const lines = existsSync(eventLog) ? readFileSync(eventLog, "utf8").split("\n") : [];
  const said = lines.flatMap((line) => {
    const { severity, message } = objectOr(objectOr(jsonIn(line)).diagnosticEvent);
    const [, name, words] = FAILED_PULL.exec(stripVTControlCharacters(textOr(message))) ?? [];
    if (severity !== "error" || name === undefined || words === undefined) return [];
    return [explained({ kind: "image", name }, words, "`npm run up` again (`serving fetch` loads everything first)")];
  });
  return [...new Set(said)];
}
