import { isRecord, type JsonObject, jsonIn } from "@local-serving/base/faults/json";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { toWrite } from "../../rules/rule";
import { BadAnswer, quote } from "../../sees/answer";
import { refusalText } from "../../sees/api";
import { readMetrics } from "../../sees/metrics";
import { messagesClient } from "../bridgeTargets";
import { fail, pass, type Verdict } from "../probe";
import { MESSAGES, messagesTool, userTurn } from "../surfaces/messages";
import type { Question } from "../surfaces/surface";
import type { ProbesOf, ServerTarget } from "../target";
import { AGENT_TOOLS, TOOL_REQUEST } from "../tools";
import { asAgent, asItSays, chatOnly, questionOf } from "./asking";
import { noReuse, reuseAsTheClient } from "./longPrompts";

/** The way of the messages-style client in the stack file. */
const SETTING = "clients.claudeCode.via";

/** The client that our file keeps from sending a system element behind the user turn. */
const SINCE = "Claude Code from 2.1.329 on, with the file that we write for `via: native`,";

const REMINDER = "The user's terminal is 120 columns wide.";
const REMINDED = { role: "system", content: REMINDER };

/** The specification's request: plain texts. */
const specified = ({ model, maxTokens }: Question): JsonObject => ({
  model,
  max_tokens: maxTokens,
  system: "You are a coding agent.",
  tools: AGENT_TOOLS.map(messagesTool),
  messages: [{ role: "user", content: TOOL_REQUEST }, REMINDED],
});

/** The same as Claude Code sends it: lists of blocks everywhere. */
function asTheClientSends(question: Question): JsonObject {
  const reminder = { role: "system", content: [{ type: "text", text: REMINDER }] };
  const turns = [userTurn(TOOL_REQUEST), reminder];
  const { temperature: _, ...body } = MESSAGES.ask({ ...question, turns, tools: AGENT_TOOLS });
  return body;
}

/**
 * The runs. At temperature 0 one run of each form says nearly all; at the default temperature an
 * affected build was reported to fail in nine runs out of ten, so three miss it once in a thousand.
 */
const RUNS: readonly ((question: Question) => JsonObject)[] = [
  (question) => ({ ...specified(question), temperature: 0 }),
  (question) => ({ ...asTheClientSends(question), temperature: 0 }),
  specified,
  asTheClientSends,
  specified,
];

/**
 * The native-path test: tools, a user turn, and then an element of role `system` as the last of
 * messages[]. PASS is a tool_use block; then the bridge can be dropped. The server's version
 * doesn't tell the outcome.
 */
export const nativePathProbes: ProbesOf<"inference-server"> = [
  {
    name: "native-messages-path",
    about: "a system element behind the user turn: does the tool call stay structured?",
    skip: chatOnly,
    fix: asItSays,
    run: async (target) => {
      const question = await questionOf(target, asAgent(target));
      const outcomes: Outcome[] = [];
      for (const form of RUNS) outcomes.push(await attempt(target, form(question)));
      return outcomes.every(({ outcome }) => outcome === "passed")
        ? await passedVerdict(outcomes.length, target)
        : verdict(outcomes, target);
    },
  },
];

interface Outcome {
  /**
   * `undecided`: neither a tool_use block nor a turn that ended with text, so nothing is known
   * about the build.
   */
  readonly outcome: "passed" | "failed" | "undecided";
  readonly seen: string;
}

async function attempt({ api }: ServerTarget, body: JsonObject): Promise<Outcome> {
  const answer = await api.post(MESSAGES.path, body);
  if (answer.status !== 200) {
    const refused = answer.status === 400 || answer.status === 422;
    return {
      outcome: refused ? "failed" : "undecided",
      seen: `${answer.status}: ${refusalText(answer)}`,
    };
  }
  const value = jsonIn(answer.text);
  if (!isRecord(value)) throw new BadAnswer(`${MESSAGES.path} answered 200 without a JSON object`);
  const { calls, stop, shape, text } = MESSAGES.read(value);
  if (calls.length > 0) return { outcome: "passed", seen: "" };
  const seen = `${quote(shape)}; it said \`${quote(text)}\``;
  return { outcome: stop === "end_turn" ? "failed" : "undecided", seen };
}

const keyOf = ({ machine }: ServerTarget) => `machines.${machine.name}.${SETTING}`;

/**
 * A build that passes is still slower than the bridge if a new system element makes it read the
 * whole prompt anew.
 */
async function passedVerdict(runs: number, target: ServerTarget): Promise<Verdict> {
  const key = keyOf(target);
  const way = target.messagesVia;
  const passed = `PASS (${runs} of ${runs} runs with a tool_use block)`;
  // Without its counters a server can't tell what it found again.
  const counts =
    noReuse(target) === undefined && (await readMetrics(target.api).then(Boolean, () => false));
  const reuse = counts
    ? await reuseAsTheClient(target.api, target.api, await questionOf(target))
    : undefined;
  if (reuse !== undefined && !reuse.reused) {
    const seen = `${passed}, but with a new system element behind the user turn ${reuse.seen}`;
    if (way === "bridge") return pass(`${seen}. Keep the bridge, as the stack file does.`);
    if (way === undefined)
      return pass(`${seen}. A messages-style client needs the bridge (\`${key}: bridge\`).`);
    const fix = `${toWrite(`${key}: bridge`)}; or write \`${tolerant(target)}\` instead. vLLM moves the element to the beginning of the prompt unless the template takes it where it stands. ${SINCE} sends no such element.`;
    return fail(seen, fix);
  }
  const seen = reuse === undefined ? passed : `${passed}; ${reuse.seen}`;
  if (way !== "bridge") return pass(seen);
  // A client of another server gains nothing by what this one can.
  if (messagesClient(target.machine)?.server !== target.server.key)
    return pass(`${seen}; the stack file uses the bridge, for another server`);
  const lines = [`${key}: native`, ...(hasTemplate(target) ? [] : [tolerant(target)])];
  const needless = hasTemplate(target) ? "" : ` ${SINCE} needs no such template.`;
  return pass(
    `${seen}; the stack file uses the bridge, which can be dropped`,
    `${toWrite(...lines)}: Claude Code then talks to the server directly.${needless}`,
  );
}

/** What a native client's server needs: without it, the plan warns of prompts read anew. */
const tolerant = ({ setting }: ServerTarget) => `${setting("chatTemplate")}: tolerant`;

const hasTemplate = ({ server }: ServerTarget) =>
  readServerArguments(server.container.command).options.has("chat-template");

/**
 * The outcome against the stack file. A build that fails is fine as long as the bridge is used
 * instead.
 */
function verdict(outcomes: readonly Outcome[], target: ServerTarget): Verdict {
  const failed = outcomes.find(({ outcome }) => outcome === "failed");
  const open = outcomes.find(({ outcome }) => outcome === "undecided");
  const passed = outcomes.filter(({ outcome }) => outcome === "passed").length;
  const key = keyOf(target);
  const runs = `${passed} of ${outcomes.length} runs with a tool_use block`;
  const bridged = target.messagesVia === "bridge";
  const kept = bridged && !target.alone;
  if (failed !== undefined) {
    const seen = `FAIL (${runs}); ${failed.seen}`;
    if (kept) return pass(`${seen}. Keep the bridge, as the stack file does.`);
    if (bridged) return fail(seen, `Keep \`${key}: bridge\`, as in the stack file.`);
    return fail(
      seen,
      `${toWrite(`${key}: bridge`)}: messages-style clients must not use this server directly. ${SINCE} sends no such element, and was seen to work with a server that refuses it.`,
    );
  }
  const fix = `There was neither a call nor the end of a turn: first fix what chat-tools and messages-tools report, then repeat this test.${kept ? "" : ` Until then write \`${key}: bridge\` in the stack file.`}`;
  return fail(`undecided (${runs}); ${open?.seen}`, fix);
}
