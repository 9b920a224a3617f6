import { objectOr } from "@local-serving/base/faults/json";
import { modelFolder } from "@local-serving/machines/hubCache";
import { CLIENTS, MESSAGES_CLIENT } from "../../../components/clients";
import { sign } from "../../sees/log/sign";
import { isOneTry } from "../oneTry";
import {
  firstGroup,
  machineEdit,
  type Picture,
  type Sighting,
  seen,
  serverOf,
  setting,
  textSetting,
} from "../picture";
import type { Row, Told, WeighingRule, Words } from "../rule";
import { APPLY_STACK_FILE } from "./asPlanned";
import { windowText } from "./identity";
import { contextFor } from "./ollama";

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

/**
 * A request that doesn't fit the window, as vLLM, llama.cpp (Ollama since 0.30), SGLang and Claude
 * Code say it. vLLM stops counting a prompt that is far too long (`at least`), or counts only its
 * characters: such a figure is of no use.
 */
const BEYOND_WINDOW = sign(
  [
    "maximum context length is",
    "context length is only",
    "cannot be greater than max_model_len=",
    "available context size",
    "model's context length",
    "rompt is too long",
    "reached its context window limit",
    "Current length is",
    "tokens exceeds maximum of",
  ],
  /(maximum context length is [\d,]+ tokens.{0,300}|passed [\d,]+ input tokens and requested [\d,]+ output tokens\..{0,300}|tokens=[\d,]+ cannot be greater than max_model_len=.{0,60}|\([\d,]+ tokens\) exceeds the available context size.{0,60}|\([\d,]+ tokens\) is longer than the model's context length.{0,60}|[Pp]rompt is too long(?!\w).{0,80}|reached its context window limit|[Pp]lease reduce the length of .{0,80}Current length is .{0,80}|with [\d,]+ tokens exceeds maximum of [\d,]+)/,
);

/** What such a text counts: of the window, of the prompt, and of the output that was asked for. */
const COUNTED: readonly RegExp[] = [
  /length is (?<window>[\d,]+) tokens\. However, you requested (?<output>[\d,]+) output tokens and your prompt contains (?<prompt>[\d,]+) input tokens/,
  /length is (?<window>[\d,]+) tokens\. However, you requested [\d,]+ tokens \((?<prompt>[\d,]+) in the messages, (?<output>[\d,]+) in the completion\)/,
  /length is (?<window>[\d,]+) tokens and your request has (?<prompt>[\d,]+) input tokens \((?<output>[\d,]+) > /,
  /passed (?<prompt>[\d,]+) input tokens and requested (?<output>[\d,]+) output tokens\. .{0,60}is only (?<window>[\d,]+) tokens/,
  /length is (?<window>[\d,]+) tokens\. However, your (?:messages|prompt) (?:resulted in|contains) (?<prompt>[\d,]+) /,
  /\((?<prompt>[\d,]+) tokens\) .{0,60}\((?<window>[\d,]+) tokens\)/,
  /too long: (?<prompt>[\d,]+) tokens > (?<window>[\d,]+) maximum/,
  /too long \W? the request is ~?(?<prompt>[\d,]+) tokens \(limit (?<window>[\d,]+)\)/,
  /with (?<prompt>[\d,]+) tokens exceeds maximum of (?<window>[\d,]+)/,
  /[Cc]urrent length is (?<prompt>[\d,]+) while limit is (?<window>[\d,]+)/,
  /length is (?<window>[\d,]+) tokens/,
  /max_model_len=(?:max_total_tokens=)?(?<window>[\d,]+)/,
];

/** The figures of a request that doesn't fit; 0 for what isn't said. */
function countedIn({ groups: [text = ""] }: Sighting) {
  const found = COUNTED.map((each) => each.exec(text)?.groups).find((each) => each !== undefined);
  const figure = (name: string) => Number((found?.[name] ?? "0").replaceAll(",", ""));
  return { window: figure("window"), prompt: figure("prompt"), output: figure("output") };
}

/** A window is raised in steps of this many tokens. */
const WINDOW_STEP = 1024;

/** What is said of a request that doesn't fit, by what its refusal counts. */
function beyondWindow({ picture, hit, server }: Told): Words {
  const { window, prompt, output } = countedIn(hit);
  const sized = window === 0 ? "the window" : `the window of ${window} tokens`;
  const cause =
    prompt > 0 && output === 0
      ? `A prompt of ${prompt} tokens is longer than ${sized}, so the server refuses the request.`
      : `The prompt and the requested output together exceed ${sized}, so the server refuses the request.`;
  if (ofOllama(picture, hit)) return { cause, ...longerContext(picture, prompt) };
  if (output === 0 || prompt === 0)
    return {
      cause,
      advice: `Raise \`maxModelLen\` if the KV plan has room, or lower the client's \`maxOutputTokens\`. A client that knows the window compacts in time: its launcher's file says it${window === 0 ? "" : ` (CLAUDE_CODE_MAX_CONTEXT_TOKENS, \`model_context_window\`, \`limit.context\`: ${window})`}.`,
      command: "serving plan",
    };
  const left = window - prompt;
  const boundedTo = (bound: number) =>
    CLIENTS.find(({ key }) => setting(picture, "clients", key, "maxOutputTokens") === bound);
  // The client that asked for so much, or one that has been bounded since.
  const client = boundedTo(output) ?? boundedTo(left);
  const fits =
    left > 0
      ? ` Or let the client ask for less: \`maxOutputTokens\` (CLAUDE_CODE_MAX_OUTPUT_TOKENS) of ${left} or less.`
      : "";
  const isBounded = client !== undefined && left > 0;
  return {
    cause,
    edits: [
      isBounded
        ? machineEdit(picture, ["clients", client.key, "maxOutputTokens"], left)
        : server.set(["maxModelLen"], Math.ceil((prompt + output) / WINDOW_STEP) * WINDOW_STEP),
    ],
    advice: `Agents send 30,000 to 40,000 tokens with every call; this prompt had ${prompt} and asked for ${output}.${isBounded ? "" : fits}`,
  };
}

/** llama.cpp's words, which Ollama passes on; vLLM has others. */
const ofOllama = ({ stack }: Picture, { groups: [text = ""] }: Sighting): boolean =>
  text.includes("available context size") && stack?.settings.simpleServer.mode !== "none";

function longerContext(picture: Picture, prompt: number): Pick<Words, "edits" | "advice"> {
  const needed = contextFor(prompt);
  const declared = Number(setting(picture, "simpleServer", "contextLength") ?? 0);
  const advice =
    "A longer context takes more memory: measure it again (`serving verify --only ollama-memory`) for `loadedGiB`.";
  return declared >= needed
    ? {
        advice: `No setting to change: ${declared} tokens are declared, so the drop-in isn't in effect, or the model has a shorter context of its own (\`ollama ps\`, \`ollama show MODEL\`).`,
      }
    : { edits: [machineEdit(picture, ["simpleServer", "contextLength"], needed)], advice };
}

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
          ? `A client's base URL ends in /v1, and the client adds /v1 itself: ${hit.groups[0]?.endsWith("messages") ? "a messages-style client takes the bare origin" : "take it away there"}.`
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
    unless({ hit, server: { settings }, picture }) {
      const { window } = countedIn(hit);
      return (
        isOneTry({ hit }) ||
        picture.stackIsAGuess === true ||
        window === 0 ||
        window >= (settings?.maxModelLen ?? 0)
      );
    },
    say: ({ hit, server: { settings } }) => ({
      cause: windowText(countedIn(hit).window, settings?.maxModelLen ?? 0),
      advice: APPLY_STACK_FILE,
    }),
  },
  {
    id: "window-exceeded",
    when: BEYOND_WINDOW,
    unless: isOneTry,
    say: beyondWindow,
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
