import { chatAnswer } from "../chatAnswer";
import { fail, pass, type ServerProbe } from "../probe";
import { answerTokens } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { CHAT, chatBody } from "./chat";
import { chatOnly } from "./completions";

const THINK_TAGS = /<\/?think(ing)?>/;

const answerWith = async (target: ServerTarget, thinking: boolean) =>
  chatAnswer(
    await target.api.json(
      CHAT,
      await chatBody(
        target,
        [{ role: "user", content: "Which is larger, 9.9 or 9.11? Answer with the number." }],
        {
          max_tokens: answerTokens(target.maxModelLen, true),
          chat_template_kwargs: { enable_thinking: thinking },
        },
      ),
    ),
  );

const thinkingSkip = (target: ServerTarget) =>
  chatOnly(target) ?? (target.server.model.thinking ? undefined : "its model has no thinking mode");

const fix = ({ setting }: ServerTarget) =>
  `${setting("reasoningParser")} (auto takes the family's) and ${setting("model.thinking")}.`;

const thinkingOn: ServerProbe = {
  name: "thinking-on",
  about: "with thinking on, the thoughts are in `reasoning` and the answer in `content`",
  skip: thinkingSkip,
  fix,
  run: async (target) => {
    const answer = await answerWith(target, true);
    if (THINK_TAGS.test(answer.content)) {
      return fail(
        `the thoughts stand in \`content\`: \`${quote(answer.content)}\``,
        `${target.setting("reasoningParser")}: auto, so that the family's parser is passed.`,
      );
    }
    if (answer.reasoning === "") return fail("`reasoning` is empty with thinking on", fix(target));
    if (answer.content.trim() === "") return fail("the answer is missing behind the thoughts", fix(target));
    return pass(`${answer.reasoning.length} characters of reasoning, then \`${quote(answer.content)}\``);
  },
};

const thinkingOff: ServerProbe = {
  name: "thinking-off",
  about: "with `enable_thinking: false`, there are no thoughts",
  skip: thinkingSkip,
  fix: ({ setting }) => `The model's template decides: see ${setting("chatTemplate")}.`,
  run: async (target) => {
    const answer = await answerWith(target, false);
    if (answer.reasoning.trim() !== "" || THINK_TAGS.test(answer.content)) {
      return fail(
        `it thinks although it was told not to: \`${quote(answer.reasoning || answer.content)}\``,
        `The template ignores \`enable_thinking\`: see ${target.setting("chatTemplate")}, and set no \`disable_thinking\` in the harness's profile.`,
      );
    }
    if (answer.content.trim() === "") return fail("the answer is empty", fix(target));
    return pass(`\`${quote(answer.content)}\``);
  },
};

export const thinkingProbes: readonly ServerProbe[] = [thinkingOn, thinkingOff];
