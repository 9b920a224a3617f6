import { toWrite } from "../probe";
import { CHAT } from "../surfaces/chat";
import { alreadyDeclared, optionOtherwise, serverSetting } from "./asPlanned";
import { failedWith, type KnownCause } from "./cause";
import type { Exchange, Seen } from "./seen";

const THINK_TAGS = /<\/?think(ing)?>/;

const toldToThink = ({ path, thinking, answer }: Exchange): boolean =>
  path === CHAT.path && thinking === true && answer !== undefined;

/** Times the tokens of an answer without thoughts that one with thoughts has at least. */
const LONGER = 3;

/** Whether an answer with thinking on is much longer than with thinking off: thoughts in its text. */
function readsLikeThoughts({ exchanges }: Seen): boolean {
  const tokens = (thinking: boolean) =>
    exchanges.find((each) => each.probe === (thinking ? "thinking-on" : "thinking-off"))?.answer
      ?.completion ?? 0;
  return tokens(false) > 0 && tokens(true) > LONGER * tokens(false);
}

/** A model that was told to think, and answers at once. */
export const noThoughts: KnownCause = {
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
};

/** A template that thinks whatever a request says. */
export const alwaysThinks: KnownCause = {
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
      probes,
    };
  },
};
