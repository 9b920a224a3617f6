/** The two ways to turn hidden reasoning off that a request can carry. */
export type ThinkingSwitch = "chat_template" | "thinking";

/** What each switch adds to a chat-completions request. */
export const SWITCH_FIELDS: Readonly<Record<ThinkingSwitch, Readonly<Record<string, unknown>>>> = {
  chat_template: { chat_template_kwargs: { enable_thinking: false } },
  thinking: { thinking: { type: "disabled" } },
};

/** Both switches: what is sent first. */
export const BOTH_SWITCHES: readonly ThinkingSwitch[] = ["chat_template", "thinking"];

/**
 * The switches of the request to send after a server has answered 400 to all of `refused`, or `undefined` when even
 * a request without any was refused. The switch that the server complains of is left out first.
 */
export function nextSwitches(
  refused: readonly (readonly ThinkingSwitch[])[],
  complaint = "",
): readonly ThinkingSwitch[] | undefined {
  const named = complainedOf(complaint);
  const singles: (readonly ThinkingSwitch[])[] =
    named === "chat_template" ? [["thinking"], ["chat_template"]] : [["chat_template"], ["thinking"]];
  const order = [BOTH_SWITCHES, ...singles, []];
  const tried = new Set(refused.map((switches) => switches.join()));
  return order.find((switches) => !tried.has(switches.join()));
}

/** Which one switch an error message names; `undefined` when none, or both. */
function complainedOf(message: string): ThinkingSwitch | undefined {
  const template = /chat_template|enable_thinking/.test(message);
  const thinking = /(?<![A-Za-z_])thinking(?![A-Za-z_])/.test(message);
  if (template === thinking) return undefined;
  return template ? "chat_template" : "thinking";
}
