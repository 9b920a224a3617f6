import { CHAT_PATH, holdsCallAsText, isCutOff, parsersFor, parserToSet } from "../answers";
import { LOOK, type OfServer, toWrite } from "../rule";
import { type Exchange, failedWith, followUps, type ServerSeen } from "../serverSeen";
import { alreadyDeclared, optionOtherwise, serverSetting, startedAsPlanned } from "./asPlanned";

/** An answer to a request with tools that came to its end without a structured call. */
const uncalled = ({ tools, answer }: Exchange): boolean =>
  tools > 0 && answer !== undefined && answer.calls === 0 && !isCutOff(answer.stop);

const WITHOUT_CHOICE = /tool choice requires --enable-auto-tool-choice/;

const THINK_TAGS = /<\/?think(ing)?>/;

/** An answer whose thoughts are in its text: no parser took them out. */
const thoughtsInText = ({ answer, thinking }: Exchange): boolean =>
  answer !== undefined && thinking !== false && THINK_TAGS.test(answer.text);

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
  !holdsCallAsText(exchange.answer.reasoning) &&
  exchange.answer.completion > 0;

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

function parserAdvice(seen: ServerSeen, written: string): string {
  const { toolParser: declared, vllm } = seen.declared;
  const setting = serverSetting(seen, "tools.parser");
  const reads = parsersFor(written);
  if (reads.length === 0) return `Set ${setting} to the parser of the model's family.`;
  const wanted = parserToSet(written, declared, seen.running.version ?? vllm);
  const fits = declared !== null && reads.includes(declared);
  if (wanted === undefined || (fits && optionOtherwise(seen, "tool-call-parser") !== undefined))
    return alreadyDeclared(seen, "tool-call-parser", `${setting}, which gives ${declared}`);
  return `${toWrite(`${setting}: ${wanted}`)}.`;
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
        (answer.reasoning.trim() !== "" || THINK_TAGS.test(answer.text));
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
