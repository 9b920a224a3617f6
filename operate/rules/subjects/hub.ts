import type { LogReading } from "../../sees/log/scanLog";
import { startSign } from "../../sees/log/sign";
import { seen } from "../picture";
import { APPLY, type Row, type Told } from "../rule";
import { argumentsOf } from "./pointed";

/** What a server ends of that got no file from the hub. */
const NOTHING_CAME =
  /\b(?:429|5\d\d)\b|couldn't connect|LocalEntryNotFound|[Cc]annot find the requested files/;

/** A server that ended of something else: it had asked the hub again, and got an answer. */
const endedOtherwise = ({ hit: { log } }: Told): boolean =>
  log.raised?.isEnd === true && !NOTHING_CAME.test(`${log.raised.said} ${log.raised.first ?? ""}`);

/** Arguments that may name further models of the hub. */
const NAMES_A_MODEL = /^--(?:tokenizer|hf-config-path|generation-config)$/;
const HUB_ID = /^[^/]+\/[^/]+$/;

/** Arguments of a server that name another model than its own. */
const furtherModels = (log: LogReading): readonly string[] =>
  argumentsOf(log).flatMap(({ names, value, shown }) =>
    names.some((name) => NAMES_A_MODEL.test(name)) && HUB_ID.test(value) ? shown : [],
  );

/** What huggingface_hub logs of a request that got no answer. */
const THROWN = startSign("thrown while requesting", /'([^']{3,200})' thrown while requesting/);

const BUSY = startSign(["429 Client Error", "HTTP Error 429", "Rate limited. Waiting"]);
const OUT_OF_SERVICE = startSign("HTTP Error 5", /HTTP Error (5\d\d) thrown while requesting/);

/** The hub that models are fetched from. */
export const hub: readonly Row[] = [
  {
    id: "hub-busy",
    when: BUSY,
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
    id: "model-not-in-cache",
    when: startSign(
      ["huggingface.co", "LocalEntryNotFoundError", "OfflineModeIsEnabled"],
      /couldn't connect to 'https:\/\/huggingface\.co'|LocalEntryNotFoundError|OfflineModeIsEnabled/,
    ),
    unless: ({ picture }) => seen(picture, BUSY, OUT_OF_SERVICE) !== undefined,
    say({ hit: { log }, server, picture }) {
      const others = furtherModels(log);
      const thrown = seen(picture, THROWN)?.groups[0];
      const further =
        others.length === 0 ? "" : ` Besides its model it was started with ${others.join(", ")}.`;
      return {
        cause: `A model isn't in the cache, and the hub can't be reached to fetch it: there is no network, a proxy doesn't answer, or HF_HUB_OFFLINE is set${thrown === undefined ? "" : ` (${thrown})`}.${further}`,
        advice:
          "No setting to change, unless `modelCache` names the wrong directory, or a proxy's variable the wrong address: fill the cache while there is a network.",
        command: `hf download ${server.settings?.model.id ?? "<model>"}`,
      };
    },
  },
  {
    id: "hub-out-of-service",
    when: OUT_OF_SERVICE,
    unless: endedOtherwise,
    say: ({ hit: { groups } }) => ({
      cause: `The hub, or a proxy in front of it, is out of service (status ${groups[0]}), and the cache lacks a file of the model.`,
      advice:
        "No setting to change: wait, and load the model into the cache once. Later starts need no hub.",
      command: "serving fetch",
    }),
  },
];
