import { CHAT_PATH } from "../answers";
import type { OfServer } from "../rule";
import { type Exchange, failedWith, followUps, type ServerSeen } from "../serverSeen";
import { APPLY_STACK_FILE, optionOtherwise, serverSetting } from "./asPlanned";
import { writtenCall } from "./parsers";

/** Requests that must fail alike before their words are taken for one fault. */
const SEVERAL = 3;

const isRefusal = ({ probe, status = 200, refusal }: Exchange): boolean =>
  probe !== "" && status >= 400 && status !== 404 && refusal !== undefined;

/** What the most failed probes were refused with. */
export function commonRefusal(
  seen: Pick<ServerSeen, "failed" | "exchanges">,
): { refusal: string; probes: string[] } | undefined {
  const texts = new Set(seen.exchanges.filter(isRefusal).map(({ refusal = "" }) => refusal));
  return [...texts]
    .map((refusal) => ({
      refusal,
      probes: failedWith(seen, (each) => isRefusal(each) && each.refusal === refusal),
    }))
    .sort((a, b) => b.probes.length - a.probes.length)
    .find(({ probes }) => probes.length >= SEVERAL);
}

const OF_TEMPLATE = /chat template|jinja/i;

/** Where the template is, and what to do with it. */
function templateAdvice(seen: ServerSeen, what: string): string {
  const otherwise = optionOtherwise(seen, "chat-template");
  if (otherwise !== undefined) return `${otherwise} ${APPLY_STACK_FILE}`;
  const setting = serverSetting(seen, "chatTemplate");
  return seen.declared.argv.includes("--chat-template")
    ? `${what} (${setting}). If that one is right already, the server was started with an older one: \`serving up\`.`
    : `${what} (${setting} sets another). If the model's own is right already, the server was started with another: \`serving up\`.`;
}

/** Prompt tokens of the same turns with few tools and with more. */
function promptsWithTools({
  exchanges,
}: ServerSeen): readonly (readonly [tools: number, prompt: number])[] {
  const asked = exchanges.filter(
    ({ probe, path, tools, answer }) =>
      path === CHAT_PATH &&
      tools > 0 &&
      ["chat-tools", "chat-several-tools"].includes(probe) &&
      (answer?.prompt ?? 0) > 0,
  );
  return asked.map(({ tools, answer }) => [tools, answer?.prompt ?? 0] as const);
}

export const templateRules: readonly OfServer[] = [
  /**
   * A template that can't be rendered: every chat is refused with the same words, which need not name
   * it, and a text without a template is answered.
   */
  {
    id: "template-error",
    find(seen) {
      const common = commonRefusal(seen);
      if (common === undefined) return undefined;
      const answersText = followUps(seen, "/v1/completions").some(({ status }) => status === 200);
      if (!OF_TEMPLATE.test(common.refusal) && !answersText) return undefined;
      return {
        cause: `The chat template has an error: ${common.refusal}.`,
        advice: templateAdvice(seen, "Correct the template"),
        probes: common.probes,
      };
    },
  },
  /** The same refusal of many probes. */
  {
    id: "refuses-alike",
    find(seen) {
      const common = commonRefusal(seen);
      return (
        common && {
          cause: `The server refuses ${common.probes.length} probes with the same words: ${common.refusal}.`,
          advice: `See its log (docker logs ${seen.declared.name}), then run serving doctor.`,
          command: "serving doctor",
          probes: common.probes,
        }
      );
    },
  },
  /** A template that leaves the tools out: the prompt is as long with three as with one. */
  {
    id: "template-without-tools",
    find(seen) {
      const prompts = promptsWithTools(seen);
      const tools = new Set(prompts.map(([count]) => count));
      const [first, ...others] = new Set(prompts.map(([, prompt]) => prompt));
      if (first === undefined || tools.size < 2 || others.length > 0) return undefined;
      // A model that calls a tool has seen it.
      const calls = seen.exchanges.some(({ answer }) => (answer?.calls ?? 0) > 0);
      if (calls || writtenCall(seen) !== undefined) return undefined;
      return {
        cause: `The chat template leaves the tools out: the prompt has ${first} tokens, however many tools are offered.`,
        advice: templateAdvice(seen, "Use a template that lists the tools"),
        probes: failedWith(
          seen,
          ({ tools: offered, answer }) => offered > 0 && answer !== undefined && answer.calls === 0,
        ),
      };
    },
  },
];
