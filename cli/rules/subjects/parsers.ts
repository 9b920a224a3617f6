import { parserByName, parserInstead } from "../../../components/inference-server";
import {
  CHAT_PATH,
  holdsCallAsText,
  holdsThinkMark,
  holdsThoughts,
  isCutOff,
  isWholeCall,
  parsersFor,
  parserToSet,
  SHORTEST_CALL,
} from "../answers";
import { LOOK, type OfServer, toWrite } from "../rule";
import { type Exchange, failedWith, followUps, type ServerSeen } from "../serverSeen";
import { alreadyDeclared, optionOtherwise, serverSetting, startedAsPlanned } from "./asPlanned";

/** An answer to a request with tools that came to its end without a structured call. */
const uncalled = ({ tools, answer }: Exchange): boolean =>
  tools > 0 && answer !== undefined && answer.calls === 0 && !isCutOff(answer.stop);

const WITHOUT_CHOICE = /tool choice requires --enable-auto-tool-choice/;

/**
 * An answer with marks of thoughts in its text: no parser took them out. With thinking off such a
 * mark alone shows no thoughts, but a parser that leaves or writes it.
 */
const thoughtsInText = ({ answer, thinking }: Exchange): boolean =>
  answer !== undefined &&
  holdsThinkMark(answer.text) &&
  (thinking !== false || (answer.reasoning.trim() === "" && !holdsThoughts(answer.text)));

/** A stream that lost what the whole answer has: a reasoning parser that never sees an end. */
function lostInStream({ failed, exchanges }: ServerSeen): string[] {
  const passed = (name: string) =>
    !failed.includes(name) && exchanges.some(({ probe }) => probe === name);
  return failed.filter(
    (name) => name.endsWith("-tools-stream") && passed(name.replace(/-stream$/, "")),
  );
}

/** An answer of which the tool parser left nothing; what a reasoning parser took is its doing. */
const swallowed = (exchange: Exchange): boolean =>
  uncalled(exchange) &&
  exchange.answer?.text.trim() === "" &&
  exchange.answer.reasoning.trim() === "" &&
  exchange.answer.completion >= SHORTEST_CALL;

const TOOL_PARSER = /\b\w*tool[\s_-]*(?:call[\s_-]*)?parser/i;
const REASONING_PARSER = /\b\w*reasoning[\s_-]*parser/i;

/** The parser that a refusal is of, by its words. */
export function namesParser(refusal: string): "tool" | "reasoning" | undefined {
  if (WITHOUT_CHOICE.test(refusal)) return undefined;
  if (REASONING_PARSER.test(refusal)) return "reasoning";
  return TOOL_PARSER.test(refusal) ? "tool" : undefined;
}

/** Whether words name a parser, by its class or by how its makers write it. */
const isNamedIn = (words: string, parser: string): boolean =>
  words
    .toLowerCase()
    .replace(/[\s_-]/g, "")
    .includes(parser.replace(/[_-]/g, ""));

/** A server's words, to be put before a full stop. */
export const withoutStop = (words: string): string => words.replace(/[.\s]+$/, "");

/** What to do about a parser that doesn't read this model, where its own calls don't tell which. */
function otherParser(seen: ServerSeen, what: "tool" | "reasoning", refusal = ""): string {
  const { declared } = seen;
  const key = what === "tool" ? "tools.parser" : "reasoningParser";
  const option = what === "tool" ? "tool-call-parser" : "reasoning-parser";
  const setting = serverSetting(seen, key);
  const set = what === "tool" ? declared.toolParser : declared.reasoningParser;
  if (set === null) return `Set ${setting} to the parser of the model's family.`;
  const instead = parserInstead(declared.model, what, set);
  if (instead !== undefined)
    return `${toWrite(`${setting}: ${instead}`)}. It is the one of ${declared.model}'s family.`;
  const declaredOne = alreadyDeclared(seen, option, `${setting}, which gives ${set}`);
  const isRight =
    !startedAsPlanned(seen, option) &&
    (parserByName(declared.model, what) === set || (refusal !== "" && !isNamedIn(refusal, set)));
  if (isRight || optionOtherwise(seen, option) !== undefined) return declaredOne;
  if (!startedAsPlanned(seen, option) && !isNamedIn(refusal, set))
    return `If the server runs with another parser than \`${set}\`, which ${setting} gives: \`serving up\`. If it runs with that one, set the parser of the family that the model really has.`;
  return `${setting} gives \`${set}\`, and that is what runs: set the parser of the family that the model really has, or \`auto\` with the right ${serverSetting(seen, "model.family")}.`;
}

/**
 * A call as the model writes it, by its tokens or by the text that a parser left; "" where the
 * parser took all of it, `undefined` where the model wrote none.
 */
export function writtenCall(seen: ServerSeen): string | undefined {
  const asked = [...followUps(seen, CHAT_PATH), ...seen.exchanges.filter(uncalled)];
  const texts = asked.flatMap(({ answer }) => [answer?.written ?? "", answer?.text ?? ""]);
  const call = texts.find((text) => parsersFor(text).length > 0 || holdsCallAsText(text));
  return call ?? (asked.some(swallowed) ? "" : undefined);
}

/** Whether a chat that isn't streamed has a structured call: then the parser reads the model. */
const readsWhole = ({ exchanges }: ServerSeen): boolean =>
  exchanges.some(
    ({ path, streamed, answer }) =>
      path === CHAT_PATH && !streamed && answer !== undefined && answer.calls > 0,
  );

/** Characters of a call that are shown. */
const SHOWN = 120;

/** A model that doesn't think needs no parser of thoughts. */
function withoutReasoningParser(seen: ServerSeen): string {
  const setting = serverSetting(seen, "reasoningParser");
  return seen.declared.reasoningParser === null
    ? alreadyDeclared(seen, "reasoning-parser", `${setting} gives none`)
    : `The model has no thinking mode: remove ${setting}, then \`serving up\`.`;
}

function parserAdvice(seen: ServerSeen, written: string): string {
  const { toolParser: declared, vllm } = seen.declared;
  const setting = serverSetting(seen, "tools.parser");
  const reads = parsersFor(written);
  if (reads.length === 0) return otherParser(seen, "tool");
  const wanted = parserToSet(written, declared, seen.running.version ?? vllm);
  const fits = declared !== null && reads.includes(declared);
  if (wanted === undefined || (fits && optionOtherwise(seen, "tool-call-parser") !== undefined))
    return alreadyDeclared(seen, "tool-call-parser", `${setting}, which gives ${declared}`);
  return `${toWrite(`${setting}: ${wanted}`)}.`;
}

/** An answer that is all thought, though it came to its end. */
const allThought = ({ answer }: Exchange): boolean =>
  answer !== undefined &&
  answer.calls === 0 &&
  !isCutOff(answer.stop) &&
  answer.text.trim() === "" &&
  answer.reasoning.trim() !== "";

/**
 * The failed probes whose answers a parser took for thoughts as a whole: it does so where nobody
 * asked for thoughts, and leaves no text in any such answer.
 */
function takenForThoughts(seen: ServerSeen): string[] {
  // A stream is read piece by piece, and may come out right where a whole answer doesn't.
  const all = seen.exchanges.filter(
    ({ streamed, tools, thinking, answer }) =>
      !streamed &&
      tools === 0 &&
      thinking !== true &&
      answer !== undefined &&
      !isCutOff(answer.stop),
  );
  const chats = all.filter(({ path }) => path === CHAT_PATH);
  const plain = chats.length > 0 ? chats : all;
  return plain.some(allThought) && plain.every(allThought) ? failedWith(seen, allThought) : [];
}

const toldToThink = ({ path, thinking, answer }: Exchange): boolean =>
  path === CHAT_PATH && thinking === true && answer !== undefined;

/** Times the tokens of an answer without thoughts that one with thoughts has at least. */
const LONGER = 3;

/** Whether an answer with thinking on is much longer than with thinking off: thoughts in its text. */
function readsLikeThoughts({ exchanges }: ServerSeen): boolean {
  const tokens = (thinking: boolean) =>
    exchanges.find((each) => each.probe === (thinking ? "thinking-on" : "thinking-off"))?.answer
      ?.completion ?? 0;
  return tokens(false) > 0 && tokens(true) > LONGER * tokens(false);
}

export const parsers: readonly OfServer[] = [
  /** vLLM refuses each request with tools until it may choose. */
  {
    id: "no-tool-choice",
    find(seen) {
      const setting = serverSetting(seen, "tools.autoChoice");
      const declared = seen.declared.argv.includes("--enable-auto-tool-choice");
      const refused = failedWith(seen, ({ refusal = "" }) => WITHOUT_CHOICE.test(refusal));
      // The responses API refuses nothing, and leaves the call in the text.
      const left = [...refused, ...failedWith(seen, uncalled)];
      return {
        cause:
          "The server runs without automatic tool choice, and refuses every request with tools.",
        advice: declared
          ? alreadyDeclared(seen, "enable-auto-tool-choice", `${setting}: true`)
          : `${toWrite(`${setting}: true`)}.`,
        probes: refused.length === 0 ? [] : seen.failed.filter((name) => left.includes(name)),
      };
    },
  },
  /** Thoughts that stay in the text, since no reasoning parser of the model's family reads them. */
  {
    id: "reasoning-parser",
    find(seen) {
      const taken = takenForThoughts(seen);
      if (taken.length > 0)
        return {
          cause:
            "The reasoning parser takes every answer for thoughts: `content` is empty, with thinking off too.",
          advice: seen.declared.thinking
            ? otherParser(seen, "reasoning")
            : withoutReasoningParser(seen),
          probes: taken,
        };
      const inText = failedWith(seen, thoughtsInText);
      if (!inText.includes("thinking-on")) return undefined;
      const { reasoningParser: declared } = seen.declared;
      const setting = serverSetting(seen, "reasoningParser");
      const known = startedAsPlanned(seen, "reasoning-parser");
      const advice =
        declared === null || known
          ? `${toWrite(`${setting}: auto`)}. It takes the family's parser${known ? `; \`${declared}\` does not read this model's thoughts` : ""}.`
          : alreadyDeclared(seen, "reasoning-parser", `${setting}, which gives ${declared}`);
      const lost = lostInStream(seen);
      return {
        cause:
          "The model's thoughts are in its text: no reasoning parser of its family takes them out.",
        advice,
        probes: seen.failed.filter((name) => inText.includes(name) || lost.includes(name)),
      };
    },
  },
  /** A parser that refuses to work with this model's tokenizer. */
  {
    id: "parser-refuses",
    find(seen) {
      const refused = seen.exchanges.find(
        ({ refusal = "", foreign }) => foreign === undefined && namesParser(refusal) !== undefined,
      );
      const { refusal = "" } = refused ?? {};
      const what = namesParser(refusal);
      if (what === undefined) return undefined;
      return {
        cause: `The ${what} parser that runs doesn't fit the model: ${withoutStop(refusal)}.`,
        advice: otherParser(seen, what, refusal),
        probes: failedWith(seen, (each) => namesParser(each.refusal ?? "") === what),
      };
    },
  },
  /** Calls that the model itself writes wrongly: no parser reads them. */
  {
    id: "broken-calls",
    find(seen) {
      const written = writtenCall(seen) ?? "";
      const { toolParser: declared, model } = seen.declared;
      const isItsForm = declared !== null && parsersFor(written).includes(declared);
      if (!isItsForm || isWholeCall(written) || readsWhole(seen)) return undefined;
      return {
        cause: `The model writes broken calls, which no parser reads: \`${written.replace(/\s+/g, " ").trim().slice(0, SHOWN)}\`.`,
        advice: `${serverSetting(seen, "tools.parser")} is right: \`${declared}\` reads this form. Try another build or quantization of ${model}, \`kvCacheDtype: auto\` if another is set, and the chat template that belongs to it (${serverSetting(seen, "chatTemplate")}).`,
        command: "serving models",
        probes: failedWith(seen, uncalled),
      };
    },
  },
  /** Calls that the model writes and the tool parser doesn't read. */
  {
    id: "tool-parser",
    find(seen) {
      const written = writtenCall(seen);
      const failed = failedWith(
        seen,
        ({ path, ...each }) => path === CHAT_PATH && uncalled({ path, ...each }),
      );
      if (written === undefined || failed.length === 0 || readsWhole(seen)) return undefined;
      const [reader] = parsersFor(written);
      return {
        cause:
          reader === undefined
            ? "The model writes calls, but the parser that runs reads none of them."
            : `The model writes its calls in the form that \`${reader}\` reads, but the parser that runs doesn't read it.`,
        advice: parserAdvice(seen, written),
        probes: failedWith(seen, uncalled),
      };
    },
  },
  /** A model that was told to think, and answers at once. */
  {
    id: "no-thoughts",
    find(seen) {
      const asked = seen.exchanges.filter(toldToThink);
      const thinks = asked.some(
        ({ answer }) => answer !== undefined && answer.reasoning !== "" && answer.text !== "",
      );
      if (asked.length === 0 || thinks) return undefined;
      if (readsLikeThoughts(seen)) return undefined;
      return {
        cause: "The model answers without thinking, but the stack file says that it thinks.",
        advice: `${toWrite(`${serverSetting(seen, "model.thinking")}: false`)}. Then no reasoning parser is passed.`,
        probes: failedWith(seen, (each) => toldToThink(each) || each.thinking === undefined),
      };
    },
  },
  /** A template that thinks whatever a request says. */
  {
    id: "always-thinks",
    find(seen) {
      const unasked = ({ thinking, answer }: Exchange) =>
        thinking === false &&
        answer !== undefined &&
        (answer.reasoning.trim() !== "" || holdsThinkMark(answer.text));
      const probes = failedWith(seen, unasked);
      if (!probes.includes("thinking-off")) return undefined;
      const setting = serverSetting(seen, "chatTemplate");
      const otherwise = optionOtherwise(seen, "chat-template");
      return {
        cause:
          "The model thinks even when a request switches that off: its template ignores `enable_thinking`.",
        advice:
          otherwise === undefined
            ? `See ${setting}, and set no \`disable_thinking\` in the harness's profile.`
            : alreadyDeclared(seen, "chat-template", setting),
        ...(otherwise === undefined ? { command: LOOK } : {}),
        probes,
      };
    },
  },
];
