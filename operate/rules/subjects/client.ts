import { CLIENTS, MESSAGES_CLIENT } from "../../../components/clients";
import { objectOr } from "../../../faults/json";
import { modelFolder } from "../../../machines/hubCache";
import { READY, sign } from "../../sees/log/sign";
import {
  firstGroup,
  machineEdit,
  numberOf,
  type Picture,
  type Sighting,
  seen,
  serverOf,
  setting,
  textSetting,
} from "../picture";
import type { Row, WeighingRule } from "../rule";
import { APPLY_STACK_FILE } from "./asPlanned";
import { windowText } from "./identity";

const DOUBLED_V1 = sign("/v1/v1/", /(?:GET|POST|HEAD) \/v1\/(v1\/\S*)/);
const MISSING_V1 = sign(
  [" /chat/completions", " /responses", " /messages"],
  /"(?:GET|POST) \/((?:chat\/completions|responses|messages)\S*) HTTP\/[\d.]+" 404/,
);
const TRUNCATED = sign(
  ["truncation", "max_length"],
  /"truncation\w*"\s*:.{0,2000}"(?:model_)?max_length"\s*:\s*2048\b|"(?:model_)?max_length"\s*:\s*2048\b.{0,2000}"truncation\w*"\s*:|tokenizer with truncation at 2048/,
);
const TRUNCATION_KEY = sign('"truncation', /"truncation\w*"\s*:/);
const MAX_LENGTH = sign('max_length"', /(?:^|\s)"(?:model_)?max_length"\s*:\s*2048\b/);

const TIERS = new Set<string>(MESSAGES_CLIENT.modelVariables);

/** Refused requests that make a client out of somebody who tries. */
const AGAIN_AND_AGAIN = 3;

/** Somebody may ask a server that serves for anything; a client asks again and again. */
const isOneTry = ({ hit }: { readonly hit: Sighting }): boolean =>
  hit.log.hits.has(READY) && hit.count < AGAIN_AND_AGAIN;

/**
 * vLLM renderers/params.py. It stops counting a prompt that is far too long (`at least`), or counts
 * only its characters: such a figure is of no use.
 */
const BEYOND_WINDOW = sign(
  ["maximum context length is", "cannot be greater than max_model_len="],
  /maximum context length is ([\d,]+) tokens\.(?: However, you requested ([\d,]+) output tokens and your prompt contains ([\d,]+) input tokens)?|tokens=[\d,]+ cannot be greater than max_model_len=(?:max_total_tokens=)?([\d,]+)/,
);

/** The window of the server that refuses a request as too long. */
const windowIn = (hit: Sighting): number => numberOf(hit, 0) || numberOf(hit, 3);

/** A window is raised in steps of this many tokens. */
const WINDOW_STEP = 1024;

/** A tokenizer.json printed over several lines. */
function splitTruncation(picture: Picture) {
  const key = seen(picture, TRUNCATION_KEY);
  const length = seen(picture, MAX_LENGTH);
  return key !== undefined && key.log === length?.log ? length : undefined;
}

export const client: readonly (WeighingRule | Row)[] = [
  {
    id: "unpinned-tier",
    // A tier's own name reached a server, or a client says that it did.
    when: sign(
      ["claude-"],
      /The model `(claude-[\w.-]+)` does not exist|Invalid model name passed in model=(claude-[\w.-]+)|issue with the selected model \((claude-[\w.-]+)\)/,
    ),
    unless: isOneTry,
    say({ picture, hit }) {
      const path = ["clients", MESSAGES_CLIENT.key];
      const cause = `The client asked for ${firstGroup(hit) ?? "a tier"}, a tier that isn't pinned to the served name; the 404 looks like a network failure.`;
      if (setting(picture, ...path) === undefined) {
        const via = setting(picture, "bridge") === undefined ? "native" : "bridge";
        return { cause, edits: [machineEdit(picture, path, { via })] };
      }
      const own = Object.keys(objectOr(setting(picture, ...path, "environment"))).filter((name) =>
        TIERS.has(name),
      );
      const edits = own.map((name) =>
        machineEdit(picture, [...path, "environment", name], undefined),
      );
      if (edits.length > 0) return { cause, edits };
      return {
        cause,
        advice:
          "No setting to change: the file that the plan writes pins every tier, so this client was started without it. Use the launcher.",
        command: MESSAGES_CLIENT.launcher,
      };
    },
  },
  {
    id: "wrong-base-url",
    when: [DOUBLED_V1, MISSING_V1],
    unless: isOneTry,
    say({ picture, hit }) {
      const doubled = hit.groups[0]?.startsWith("v1/") === true;
      const path = ["clients", MESSAGES_CLIENT.key, "environment", MESSAGES_CLIENT.baseUrlVariable];
      return {
        cause: doubled
          ? "A client's base URL ends in /v1, and the client adds /v1 itself: a messages-style client takes the bare origin."
          : "A client's base URL lacks the /v1 that this kind of client does not add.",
        ...(doubled && setting(picture, ...path) !== undefined
          ? { edits: [machineEdit(picture, path, undefined)] }
          : {
              advice:
                "No setting to change: the files that the plan writes have the right base URL, so this client uses another one. Start it with its launcher.",
              command: "serving plan --format json | jq '.machines[].endpoints'",
            }),
      };
    },
  },
  {
    id: "other-window",
    when: BEYOND_WINDOW,
    unless: ({ hit, server: { settings }, picture }) =>
      isOneTry({ hit }) ||
      picture.stackIsAGuess === true ||
      windowIn(hit) >= (settings?.maxModelLen ?? 0),
    say: ({ hit, server: { settings } }) => ({
      cause: windowText(windowIn(hit), settings?.maxModelLen ?? 0),
      advice: APPLY_STACK_FILE,
    }),
  },
  {
    id: "window-exceeded",
    when: BEYOND_WINDOW,
    unless: isOneTry,
    say({ picture, hit, server }) {
      const [output, prompt] = [numberOf(hit, 1), numberOf(hit, 2)];
      const window = windowIn(hit);
      const cause = `The prompt and the requested output together exceed the window of ${window} tokens, so vLLM refuses the request.`;
      if (output === 0 || prompt === 0)
        return {
          cause,
          advice:
            "Raise `maxModelLen` if the KV plan has room, or lower the client's `maxOutputTokens`.",
          command: "serving plan",
        };
      const left = window - prompt;
      const boundedTo = (bound: number) =>
        CLIENTS.find(({ key }) => setting(picture, "clients", key, "maxOutputTokens") === bound);
      // The client that asked for so much, or one that has been bounded since.
      const client = boundedTo(output) ?? boundedTo(left);
      return {
        cause,
        edits: [
          client !== undefined && left > 0
            ? machineEdit(picture, ["clients", client.key, "maxOutputTokens"], left)
            : server.set(["maxModelLen"], Math.ceil((prompt + output) / WINDOW_STEP) * WINDOW_STEP),
        ],
        advice: `Agents send 30,000 to 40,000 tokens with every call; this prompt had ${prompt} and asked for ${output}.`,
      };
    },
  },
  {
    id: "tokenizer-truncation",
    explain(picture) {
      const hit = seen(picture, TRUNCATED) ?? splitTruncation(picture);
      if (hit === undefined) return undefined;
      const model = serverOf(picture, hit.log).settings?.model.id;
      const cache = textSetting(picture, "modelCache") ?? "~/.cache/huggingface";
      return {
        cause:
          "The model's tokenizer cuts every prompt at 2048 tokens, so the model never sees the rest.",
        evidence: hit.line,
        advice:
          "No setting to change, and no server flag helps: set `truncation` to null in the model's tokenizer.json, or take a corrected revision of the model.",
        command: `grep -l '"max_length": *2048' ${cache}/hub/models--${model === undefined ? "*" : modelFolder(model)}/snapshots/*/tokenizer*.json`,
      };
    },
  },
];
