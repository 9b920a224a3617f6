import { parserInstead } from "../../../components/inference-server";
import { believedVllm } from "../../../components/supply";
import {
  holdsCallAsText,
  isCutOff,
  parsersFor,
  parserToSet,
  SHORTEST_CALL,
  SWALLOWED,
} from "../../rules/answers";
import { toWrite } from "../../rules/rule";
import { nonsenseIn, turnMarkIn } from "../../rules/sense";
import { quote } from "../../sees/answer";
import { fail, pass, type Verdict } from "../probe";
import type { Answer, Surface } from "../surfaces/surface";
import type { ServerTarget } from "../target";
import { callFault, type OfferedTool } from "../tools";
import { cutOff } from "./asking";

/** What a fix names; the parser that is set is known only for a server of ours. */
export type Settings = Pick<ServerTarget, "setting"> & Partial<Pick<ServerTarget, "server">>;

/** What of the two settings of tools is not as it should be, as far as the stack file tells. */
export function parserFix({ setting, server }: Settings): string {
  const set = server?.serve.toolParser ?? null;
  const choice = server?.container.command.includes("--enable-auto-tool-choice")
    ? []
    : [`${setting("tools.autoChoice")}: true`];
  const instead = set === null ? undefined : parserInstead(server?.model.id ?? "", "tool", set);
  const parser =
    set === null
      ? [`${setting("tools.parser")} to the parser of the model's family`]
      : instead === undefined
        ? []
        : [`${setting("tools.parser")}: ${instead}`];
  const open = [...choice, ...parser];
  return open.length > 0
    ? `Set ${open.join(", and ")}.`
    : `The stack file has ${setting("tools.autoChoice")}: true and ${setting("tools.parser")}, which gives ${set}. If the server was started with them, the model called no tool: ask it again, or try another build or quantization.`;
}

/** How an answer ends that came to its end, on each API. */
const WHOLE = ["stop", "completed", "end_turn"];

export function judgeText(answer: Answer, { setting, server }: Settings): Verdict {
  const { text, reasoning, stop, shape, tokens } = answer;
  const [nonsense, mark] = [nonsenseIn(text, isCutOff(stop)), turnMarkIn(text)];
  if (nonsense !== undefined)
    return fail(`the answer makes no sense, ${nonsense}: \`${quote(text)}\``);
  if (isCutOff(stop)) return cutOff(answer);
  if (mark !== undefined)
    return fail(`a mark of the chat template is in the text: \`${quote(text)}\``);
  if (text.trim() !== "") return pass(`\`${quote(text)}\``);
  const { completion } = tokens;
  if (reasoning === "") {
    const count =
      completion === 0 ? "" : `, ${completion} ${completion === 1 ? "token" : "tokens"}`;
    return fail(`no text (${quote(shape)}${count})`);
  }
  const thinks = server?.model.thinking !== false;
  const fix = `The reasoning parser takes the answer: see ${setting("reasoningParser")}.${thinks ? ` If the model has no thinking mode, set ${setting("model.thinking")}: false.` : ""}`;
  return fail(`no text, only reasoning (${quote(shape)})`, fix);
}

/** Judges a tool call: a coding client can use a server only if its calls are structured. */
export function judgeCall(
  { words, callStop }: Surface,
  tools: readonly OfferedTool[],
  answer: Answer,
  settings: Settings,
): Verdict {
  const { setting } = settings;
  const { text, reasoning, calls, stop, shape } = answer;
  if (isCutOff(stop)) return cutOff(answer);
  const otherParser = readFix(text, settings);
  const [first] = calls;
  if (first === undefined) {
    if (holdsCallAsText(reasoning)) {
      const fix = `The reasoning parser takes the call. If the model has no thinking mode, set ${setting("model.thinking")}: false and remove ${setting("reasoningParser")}.`;
      return fail(
        `${words.noCall}, the call is written as XML in ${words.reasoning}: \`${quote(reasoning)}\``,
        fix,
      );
    }
    if (holdsCallAsText(text))
      return fail(
        `${words.noCall}, the call is written as XML in ${words.text}: \`${quote(text)}\``,
        otherParser,
      );
    // The parser of another form takes a call that it can't read, and answers with nothing.
    const { completion } = answer.tokens;
    if (text.trim() === "" && completion > 0 && completion < SHORTEST_CALL)
      return fail(`${words.noCall}, and no text: it ended after ${completion} tokens`);
    if (text.trim() === "" && WHOLE.includes(stop))
      return fail(`${words.noCall}, and no text: ${SWALLOWED} (${quote(shape)})`, otherParser);
    return fail(
      `${words.noCall} (${quote(shape)}); it said \`${quote(text)}\``,
      parserFix(settings),
    );
  }
  const fault = calls.map((call) => callFault(tools, call)).find((each) => each !== undefined);
  if (fault !== undefined) return fail(fault, otherParser);
  if (holdsCallAsText(text))
    return fail(`the call is structured, but also written in ${words.text}`, otherParser);
  if (callStop !== undefined && stop !== callStop)
    return fail(
      `the call is structured, but the answer doesn't end as a call does (${quote(shape)})`,
      parserFix(settings),
    );
  return pass(`${first.name}(${quote(first.arguments)})`);
}

/** What to do about a call in this form that the parser didn't read. */
function readFix(written: string, { setting, server }: Settings): string {
  const set = server?.serve.toolParser ?? null;
  const vllm = server === undefined ? undefined : believedVllm(server.imageRecord);
  const wanted = parserToSet(written, set, vllm);
  if (wanted !== undefined) return `${toWrite(`${setting("tools.parser")}: ${wanted}`)}.`;
  if (parsersFor(written).length > 0)
    return `The stack file's ${setting("tools.parser")} (${set}) reads this form, so the server runs with an older or different configuration: \`serving up\`.`;
  const instead = set === null ? undefined : parserInstead(server?.model.id ?? "", "tool", set);
  if (set === null) return `Set ${setting("tools.parser")} to the parser of the model's family.`;
  return instead !== undefined
    ? `${toWrite(`${setting("tools.parser")}: ${instead}`)}.`
    : `The stack file has ${setting("tools.parser")}, which gives ${set}. If that is the parser of the model's family and the server runs with it, the model writes its calls wrongly: try another build or quantization.`;
}
