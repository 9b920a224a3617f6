import { startSign } from "../../sees/log/sign";
import { APPLY, type Row, type Told } from "../diagnosis";

/** What a server ends of that got no file from the hub. */
const NOTHING_CAME =
  /\b(?:429|5\d\d)\b|couldn't connect|LocalEntryNotFound|[Cc]annot find the requested files/;

/** A server that ended of something else: it had asked the hub again, and got an answer. */
const endedOtherwise = ({ hit: { log } }: Told): boolean =>
  log.raised?.isEnd === true && !NOTHING_CAME.test(`${log.raised.said} ${log.raised.first ?? ""}`);

/** The hub that models are fetched from. */
export const hub: readonly Row[] = [
  {
    id: "hub-busy",
    when: startSign(["429 Client Error", "HTTP Error 429", "Rate limited. Waiting"]),
    unless: endedOtherwise,
    say({ server }) {
      const cause =
        "The hub answers no more requests for now (429 Too Many Requests): its rate limit is used up.";
      if (server.settings?.huggingFaceTokenVariable !== undefined)
        return {
          cause,
          advice: "No setting to change: wait, or load the model into the cache once.",
          command: "serving fetch",
        };
      return {
        cause,
        edits: [server.set(["huggingFaceTokenVariable"], "HF_TOKEN")],
        advice:
          "A token raises the limit. Or wait, and load the model into the cache once (`serving fetch`). The stack file holds the variable's name, never the token.",
        command: `test -n "$HF_TOKEN" && ${APPLY}`,
      };
    },
  },
  {
    id: "hub-out-of-service",
    when: startSign("HTTP Error 5", /HTTP Error (5\d\d) thrown while requesting/),
    unless: endedOtherwise,
    say: ({ hit: { groups } }) => ({
      cause: `The hub, or a proxy before it, is out of service (status ${groups[0]}), and the cache lacks a file of the model.`,
      advice:
        "No setting to change: wait, and load the model into the cache once. From then on a start needs no hub.",
      command: "serving fetch",
    }),
  },
];
