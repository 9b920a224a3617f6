import { believedVllm } from "../../../components/supply";
import { holdsCallAsText, isCutOff, parsersFor, parserToSet, SWALLOWED } from "../../rules/answers";
import { toWrite } from "../../rules/rule";
import { quote } from "../../sees/answer";
import { fail, pass, type Verdict } from "../probe";
import type { Answer, Surface } from "../surfaces/surface";
import type { ServerTarget } from "../target";
import { callFault, type OfferedTool } from "../tools";
import { cutOff } from "./asking";

/** What a fix names; the parser that is set is known only for a server of ours. */
export type Settings = Pick<ServerTarget, "setting"> & Partial<Pick<ServerTarget, "server">>;

export const parserFix = ({ setting }: Settings) =>
  `Set ${setting("tools.autoChoice")}: true, and ${setting("tools.parser")} to the parser of the model's family.`;

/** How an answer ends that came to its end, on each API. */
const WHOLE = ["stop", "completed", "end_turn"];

export function judgeText(answer: Answer, { setting }: Settings): Verdict {
  const { text, reasoning, stop, shape } = answer;
  if (isCutOff(stop)) return cutOff(answer);
  if (text.trim() !== "") return pass(`\`${quote(text)}\``);
  if (reasoning === "") return fail(`no text (${quote(shape)})`);
  const fix = `If the model has no thinking mode, set ${setting("model.thinking")}: false. Then no reasoning parser is passed.`;
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
    if (text.trim() === "" && WHOLE.includes(stop))
      return fail(`${words.noCall}, and no text: ${SWALLOWED} (${quote(shape)})`, otherParser);
    return fail(
      `${words.noCall} (${quote(shape)}); it said \`${quote(text)}\``,
      parserFix({ setting }),
    );
  }
  const fault = calls.map((call) => callFault(tools, call)).find((each) => each !== undefined);
  if (fault !== undefined) return fail(fault, otherParser);
  if (holdsCallAsText(text))
    return fail(`the call is structured, but also written in ${words.text}`, otherParser);
  if (callStop !== undefined && stop !== callStop)
    return fail(
      `the call is structured, but the answer doesn't end as a call does (${quote(shape)})`,
      parserFix({ setting }),
    );
  return pass(`${first.name}(${quote(first.arguments)})`);
}

/** What to do about a call in this form that the parser didn't read. */
function readFix(written: string, { setting, server }: Settings): string {
  const set = server?.serve.toolParser ?? null;
  const vllm = server === undefined ? undefined : believedVllm(server.imageRecord);
  const wanted = parserToSet(written, set, vllm);
  if (wanted !== undefined) return `${toWrite(`${setting("tools.parser")}: ${wanted}`)}.`;
  return parsersFor(written).length > 0
    ? `The stack file's ${setting("tools.parser")} (${set}) reads this form, so the server runs with an older or different configuration: \`serving up\`.`
    : `Set ${setting("tools.parser")} to the parser of the model's family.`;
}
