import { startSign } from "../../sees/log/sign";
import { APPLY, type Row } from "../diagnosis";

/** What a server ends of that got no file from the hub. */
const NOTHING_CAME =
  /\b429\b|couldn't connect|LocalEntryNotFound|[Cc]annot find the requested files/;

/** The hub that models are fetched from. */
export const hub: readonly Row[] = [
  {
    id: "hub-busy",
    when: startSign(["429 Client Error", "HTTP Error 429", "Rate limited. Waiting"]),
    // It asks again, and may end of something else.
    unless: ({ hit: { log } }) =>
      log.raised?.isEnd === true &&
      !NOTHING_CAME.test(`${log.raised.said} ${log.raised.first ?? ""}`),
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
];
