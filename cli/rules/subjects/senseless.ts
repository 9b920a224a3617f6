import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { CHAT_PATH, isCutOff } from "../answers";
import type { FoundOfServer, OfServer } from "../rule";
import { nonsenseIn, turnMarkIn } from "../sense";
import {
  type Answered,
  type Exchange,
  failedWith,
  isEndless,
  type ServerSeen,
} from "../serverSeen";
import { cacheTypeInstead, serverSetting } from "./asPlanned";

/** Characters of an answer that a cause shows. */
const SHOWN = 60;

const shown = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN)}...`;
};

/** Answers to questions without tools that came to their end. */
const talks = ({ exchanges }: ServerSeen): readonly (Exchange & { readonly answer: Answered })[] =>
  exchanges.flatMap((each) =>
    each.answer !== undefined && each.tools === 0 ? [{ ...each, answer: each.answer }] : [],
  );

const senseless = ({ answer }: Exchange): string | undefined =>
  answer === undefined || answer.calls > 0
    ? undefined
    : nonsenseIn(answer.text, isCutOff(answer.stop));

/** An answer that came to its end, and has a word or a call. */
const endsInSense = ({ answer, ...each }: Exchange): boolean =>
  answer !== undefined &&
  !isCutOff(answer.stop) &&
  (answer.calls > 0 || /\p{L}{3}/u.test(answer.text)) &&
  senseless({ answer, ...each }) === undefined;

/** Questions with codes in their prompt, which the answer repeats. */
const LOOKS_FOR_CODES = ["needle", "long-prompt"];
const CODE = /QX-[0-9A-F]{6}/;

/** The question whose answer stands in a tool's result, and that result. */
const [RESULT_PROBE, RESULT] = ["chat-tool-result", /spark-1/i];

/** How answers have nothing to do with the questions, though the prompts arrived. */
function besideTheQuestion(seen: ServerSeen): string | undefined {
  const { exchanges, failed } = seen;
  const lost = exchanges.find(
    ({ probe, answer }) =>
      LOOKS_FOR_CODES.includes(probe) && answer?.stop === "stop" && !CODE.test(answer.text),
  );
  const result = exchanges.find(({ probe }) => probe === RESULT_PROBE)?.answer;
  if (lost?.answer === undefined || result === undefined || !failed.includes(lost.probe))
    return undefined;
  const isTold = RESULT.test(result.text) || result.calls > 0 || result.text.trim() === "";
  const isLost = (seen.parts ?? []).some(({ part, times }) => part === "result" && times === 0);
  if (isTold || isLost || lost.answer.text.trim() === "") return undefined;
  return alwaysTheSame(seen)
    ? "the same text whatever is asked"
    : "they have nothing to do with the questions";
}

/** Those of the API that all others rest on; all where it wasn't asked. */
function ofChat<E extends Exchange>(exchanges: readonly E[]): readonly E[] {
  const chats = exchanges.filter(({ path }) => path === CHAT_PATH);
  return chats.length > 0 ? chats : exchanges;
}

/** Answers to different questions that are the same text. */
function alwaysTheSame({ exchanges }: ServerSeen): boolean {
  const told = exchanges.filter(
    ({ answer }) => answer !== undefined && answer.calls === 0 && !isCutOff(answer.stop),
  );
  const texts = new Set(told.map(({ answer }) => answer?.text));
  return new Set(told.map(({ probe }) => probe)).size >= SEVERAL && texts.size === 1;
}

/** Questions to which one text may be the answer by chance. */
const SEVERAL = 3;

/** What of the stack file may have made garbage, as it is set. */
function suspects(seen: ServerSeen): string {
  const { argv, model } = seen.declared;
  const experts = String(readServerArguments(argv).options.get("moe-backend")?.[0] ?? "auto");
  const cache = cacheTypeInstead(argv, serverSetting(seen, "kvCacheDtype"));
  return [
    `another image (${serverSetting(seen, "image")})`,
    ...(cache === undefined ? [] : [cache]),
    `another \`${serverSetting(seen, "moeBackend")}\`${experts === "auto" ? "" : ` (it is ${experts})`} if the model has experts`,
    `another build or quantization of ${model}, once \`serving fetch --check\` has found its files whole`,
  ].join("; ");
}

const MESSAGES_PATH = "/v1/messages";

/** Who else may answer always the same. */
const kept = (seen: ServerSeen): string =>
  alwaysTheSame(seen)
    ? "Something between that keeps answers would do so, too: ask vLLM itself (--base-url). "
    : "";

/** Most tokens of an answer that ends before it has begun. */
const NOTHING = 2;

const isBlank = ({ answer }: Exchange): boolean =>
  answer !== undefined &&
  answer.calls === 0 &&
  !isCutOff(answer.stop) &&
  answer.text.trim() === "" &&
  answer.reasoning.trim() === "";

function answersNothing(seen: ServerSeen): FoundOfServer | undefined {
  const talked = ofChat(talks(seen).filter(({ answer }) => !isCutOff(answer.stop)));
  const blank = talked.filter(isBlank);
  if (blank.length === 0 || blank.length < talked.length) return undefined;
  const most = Math.max(...blank.map(({ answer }) => answer.completion));
  const { model } = seen.declared;
  const probes = failedWith(seen, isBlank);
  if (most > NOTHING)
    return {
      cause: `The model makes up to ${most} tokens, and none of them arrives as text.`,
      advice: `They are special tokens, or a parser takes them: see ${serverSetting(seen, "reasoningParser")}, and \`skip_special_tokens\` in the requests of ${model}'s own page. If the parsers are the family's, try another build or quantization.`,
      command: "serving models",
      probes,
    };
  return {
    cause: `The model answers nothing: its answers end after ${most === 1 ? "1 token" : `${most} tokens`}, before any text.`,
    advice: `It writes the token that ends a turn at once. See the end of the chat template (${serverSetting(seen, "chatTemplate")} sets another): it has to open the assistant's turn. Then compare \`eos_token_id\` in generation_config.json of ${model} with the token that ends its turns. If both are the model's own, its files are damaged or badly quantized: \`serving fetch --check\`, then another build.`,
    command: "serving fetch --check",
    probes,
  };
}

/** What an answer says, whatever its form is. */
export const senselessRules: readonly OfServer[] = [
  /** Garbage: the model computes nonsense, and every other failure follows from it. */
  {
    id: "garbage",
    find(seen) {
      const talked = talks(seen);
      const bad = talked.filter((each) => senseless(each) !== undefined);
      const [first] = bad;
      const isMost = bad.length * 2 >= talked.filter(({ answer }) => answer.text !== "").length;
      const how =
        first !== undefined && (isMost || !talked.some(endsInSense))
          ? senseless(first)
          : besideTheQuestion(seen);
      if (how === undefined) return undefined;
      const example = first ?? talked.find(({ probe }) => LOOKS_FOR_CODES.includes(probe));
      return {
        cause: `The model's answers are garbage: ${how}, such as \`${shown(example?.answer.text ?? "")}\`.`,
        advice: `${kept(seen)}Kernels, cache or checkpoint don't fit together here. Try one at a time, then \`serving verify\` again: ${suspects(seen)}.`,
        command: "serving fetch --check",
        probes: failedWith(seen, (each) => each.answer !== undefined || isEndless(seen, each)),
      };
    },
  },
  /** A model whose answers hold nothing. */
  { id: "answers-nothing", find: answersNothing },
  /** Marks of a template that a reader sees: template and tokenizer are of two families. */
  {
    id: "template-marks",
    find(seen) {
      const marked = ({ answer }: Exchange) =>
        answer !== undefined && turnMarkIn(answer.text) !== undefined;
      const mark = turnMarkIn(seen.exchanges.find(marked)?.answer?.text ?? "");
      if (mark === undefined) return undefined;
      return {
        cause: `The model's answers hold marks of a chat template (\`${mark}\`).`,
        advice: `Its tokenizer doesn't know them as special, so the template (${serverSetting(seen, "chatTemplate")}) or the tokenizer's files are of another family than ${seen.declared.model}. Use the model's own of both, in one revision.`,
        probes: failedWith(seen, marked),
      };
    },
  },
  /** A stream whose events clients can't put together. */
  {
    id: "stream-broken",
    find(seen) {
      const misfits = seen.exchanges.filter(({ misfit }) => misfit !== undefined);
      const [first] = misfits;
      if (first === undefined) return undefined;
      const paths = [...new Set(misfits.map(({ path }) => path))];
      const bridge = paths.includes(MESSAGES_PATH)
        ? " Until then keep clients.claudeCode.via: bridge."
        : "";
      return {
        cause: `The streams of ${paths.join(", ")} are broken: ${first.misfit}.`,
        advice: `Clients lose or mix up what they hold. If a proxy stands between, ask vLLM itself (--base-url). Else it is this vLLM with its parsers: try another release (${serverSetting(seen, "image")}).${bridge}`,
        command: "serving verify --only chat-stream,responses-stream,messages-stream",
        probes: failedWith(seen, ({ misfit }) => misfit !== undefined),
      };
    },
  },
];
