import { clause } from "@local-serving/base/faults/quoting";
import { sign } from "../../sees/log/sign";
import { isOneTry } from "../oneTry";
import { type Sighting, seen } from "../picture";
import { isHarmless, type WeighingRule } from "../rule";

/** An answer that says why a request failed, as JSON or as Python prints that, escaped or not. */
const ANSWER = sign(
  ['error"', "error'", 'error\\"', 'detail"', "detail'", 'detail\\"'],
  /[{,]\s*\\?["'](?:error\\?["']\s*:\s*(?:\{.{0,120}?\\?["']message\\?["']\s*:\s*)?|object\\?["']\s*:\s*\\?["']error\\?["'],\s*\\?["']message\\?["']\s*:\s*|detail\\?["']\s*:\s*(?:\[\{.{0,200}?\\?["']msg\\?["']\s*:\s*)?)\\?(["'])(.{3,600}?)\\?\1\s*[,}]/,
);
/** Its status, in the answer or in front of it. */
const STATUS =
  /["'](?:code|status|status_code)\\?["']\s*:\s*\\?["']?([45]\d\d)\b|\b(?:status|[Ee]rror code|HTTP\/[\d.]+"?|API Error):? ?([45]\d\d)\b/;

/** Characters of an answer that are shown. */
const SHOWN = 300;

/** Where to look, by the status. */
const LOOK_AT: readonly (readonly [is: RegExp, advice: string])[] = [
  [/^40[13]$/, "No setting to change: see which key the client sends, and which the server wants."],
  [
    /^404$/,
    "No setting to change: see which address and which model the client asks for; `serving plan --format json` has both.",
  ],
  [/^429$/, "No setting to change: it has too much to do. Let the client ask again later."],
  [/^5/, "No setting to change: the server's own log says at that moment why. Give doctor that."],
];
const OTHERWISE =
  "No setting to change where the server is well: look at what the client sends. `serving verify` asks as the clients do, and says what this server takes.";

const statusOf = ({ line }: Sighting): string | undefined => {
  const [, inside, before] = STATUS.exec(line) ?? [];
  return inside ?? before;
};

/** What a server answered to a request, where no known line explains it. */
export const answerSaid: WeighingRule = {
  id: "answer-said",
  explain(picture, before) {
    const hit = seen(picture, ANSWER);
    if (hit === undefined || isOneTry({ hit })) return undefined;
    // Whatever else is wrong there explains such an answer better than its words.
    if (before.some((each) => each.rule.is !== "version" && !isHarmless(each))) return undefined;
    const status = statusOf(hit);
    const [, said = ""] = hit.groups;
    return {
      cause: `A server answers a request with an error${status === undefined ? "" : ` (${status})`}: ${clause(said.slice(0, SHOWN))}.`,
      evidence: hit.line,
      advice: LOOK_AT.find(([is]) => is.test(status ?? ""))?.[1] ?? OTHERWISE,
      command: "serving verify",
      hit,
    };
  },
};
