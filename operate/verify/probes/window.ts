import { refusalText } from "../api";
import { fail, pass, type ServerProbe } from "../probe";
import { GREETING } from "../prompts";
import { CHAT, chatBody } from "./chat";
import { chatOnly } from "./completions";
import { servedWindow } from "./models";

/** prompt + max_tokens over the window is a 400 that names the window, never a silent cut. */
export const window: ServerProbe = {
  name: "window",
  about: "prompt + max_tokens over max_model_len is refused with 400, naming the maximum",
  skip: chatOnly,
  fix: ({ setting }) => `The window is ${setting("maxModelLen")}; what answers here may not be vLLM alone.`,
  run: async (target) => {
    const limit = await servedWindow(target);
    // The prompt is at least one token, so this is over the window whatever the tokenizer.
    const body = await chatBody(target, [{ role: "user", content: GREETING }], { max_tokens: limit });
    const answer = await target.api.post(CHAT, body);
    const said = refusalText(answer);
    if (answer.status === 400 && names(answer.text, limit)) return pass(`400: ${said}`);
    return fail(
      answer.status === 400
        ? `refused, without naming the maximum of ${limit} tokens: ${said}`
        : `a request of ${limit} tokens and more in a window of ${limit} was answered with ${answer.status}`,
      `Agents trim by that message. Ask the server directly (no proxy in between), and check ${target.setting("maxModelLen")}.`,
    );
  },
};

/** Whether a text holds this very number, thousands commas allowed: 8192 is not in 81920. */
function names(text: string, limit: number): boolean {
  return new RegExp(`(?<!\\d)(?:${limit}|${limit.toLocaleString("en-US")})(?!\\d)`).test(text);
}
