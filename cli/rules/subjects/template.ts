import { capital } from "@local-serving/base/faults/quoting";
import { CHAT_PATH, isCutOff } from "../answers";
import type { FoundOfServer, OfServer } from "../rule";
import {
  type Answered,
  type Exchange,
  failedWith,
  followUps,
  isEndless,
  type MiscountedPart,
  PARTS,
  type ServerSeen,
  timesText,
} from "../serverSeen";
import { APPLY_STACK_FILE, optionOtherwise, serverSetting } from "./asPlanned";
import { namesParser, withoutStop, writtenCall } from "./parsers";

/** Requests that must fail alike before their words are taken for one fault. */
const SEVERAL = 3;

/** A refusal in vLLM's own form. */
const isRefusal = ({ probe, status = 200, refusal, foreign }: Exchange): boolean =>
  probe !== "" && status >= 400 && status !== 404 && refusal !== undefined && foreign === undefined;

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

const OF_TEMPLATE = /chat[ _]template(?!_kwargs)|jinja/i;

const HAS_NONE =
  /default chat template is no longer allowed|(?:no|not have a|without a) chat template/i;

/** Words for a field of the request that a server doesn't take, which no template sees. */
const OF_A_FIELD =
  /validation error|extra_forbidden|extra inputs|unrecognized|unknown (?:field|parameter|argument)|field required|not permitted|unsupported parameter/i;

/** Probes that say themselves what a refusal of theirs means, unless others are refused alike. */
const SAY_IT_THEMSELVES = ["native-messages-path", "responses-developer"];

/** What several probes were refused with, or one whose words name the template. */
function templatesRefusal(seen: ServerSeen): ReturnType<typeof commonRefusal> {
  const common = commonRefusal(seen);
  if (common !== undefined) return common;
  const named = seen.exchanges.find(
    (each) =>
      isRefusal(each) &&
      OF_TEMPLATE.test(each.refusal ?? "") &&
      !SAY_IT_THEMSELVES.includes(each.probe),
  );
  const { refusal } = named ?? {};
  return refusal === undefined
    ? undefined
    : { refusal, probes: failedWith(seen, (each) => each.refusal === refusal) };
}

const DIRECTLY = "Ask vLLM itself (--base-url) where a proxy stands before it.";

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

/** Probes that compare the tokens of prompts. */
const PROMPT_PROBE = /^(?:chat|responses|messages)-prompt$/;

const counted = ({ words, tokens: [without, having] }: MiscountedPart): string =>
  `with ${words} words more of it the prompt has ${having} tokens, and ${without} without them`;

/** Parts of a conversation that the model gets never, or again and again. */
function miscounted(
  seen: ServerSeen,
  is: (part: MiscountedPart) => boolean,
): FoundOfServer | undefined {
  const found = (seen.parts ?? []).filter(is);
  const [first] = found;
  if (first === undefined) return undefined;
  const paths = [...new Set(found.map(({ path }) => path))];
  const parts = [...new Set(found.map(({ part }) => part))];
  const named = parts.map((part) => PARTS[part]).join(", ");
  const probes = seen.failed.filter(
    (name) =>
      found.some(({ probe }) => probe === name) ||
      (name === RESULT_PROBE &&
        first.times === 0 &&
        paths.includes(CHAT_PATH) &&
        parts.includes("result")),
  );
  const isWhole = seen.exchanges.some(
    ({ probe, path, answer }) =>
      PROMPT_PROBE.test(probe) && answer !== undefined && !paths.includes(path),
  );
  if (isWhole) {
    const how =
      first.times === 0 ? "doesn't reach the model" : `reaches the model ${timesText(first.times)}`;
    return {
      cause: `${capital(named)} ${how} on ${paths.join(" and ")}, though once on another API: ${counted(first)}.`,
      advice: `It isn't the chat template: this vLLM, or a proxy before it, does that there. Ask vLLM itself (--base-url), try another release (${serverSetting(seen, "image")}), or let these clients use the other API.`,
      probes,
    };
  }
  const [does, wanted] =
    first.times === 0
      ? [`leaves out ${named}`, `has ${named}`]
      : [`writes ${named} ${timesText(first.times)}`, "writes each message once"];
  return {
    cause: `The chat template, or what stands before vLLM, ${does}: ${counted(first)}.`,
    advice: `${DIRECTLY} ${templateAdvice(seen, `Use a template that ${wanted}`)}`,
    probes,
  };
}

/** The question whose answer stands in a tool's result. */
const RESULT_PROBE = "chat-tool-result";

/** These probes ask for few tokens and don't care how their answers end. */
const ENDS_ANYWHERE = new RegExp(`^prefix-reuse$|${PROMPT_PROBE.source}`);

const cutOff = ({ probe, answer }: Exchange): boolean =>
  !ENDS_ANYWHERE.test(probe) && answer !== undefined && isCutOff(answer.stop);

/** A request that was cut off, and the same one with more tokens. */
interface AskedTwice {
  readonly first: Answered;
  /** Left out where it did not come in time. */
  readonly second?: Answered;
}

/** The requests that ended neither the first time nor with more tokens. */
function neverEnded({ exchanges }: ServerSeen): AskedTwice[] {
  const cut = exchanges.filter(cutOff);
  return cut.flatMap((first): AskedTwice[] => {
    const again = exchanges.find(
      (each) =>
        each.probe === first.probe &&
        each.path === first.path &&
        (each.maxTokens ?? 0) > (first.maxTokens ?? 0),
    );
    if (first.answer === undefined || again === undefined) return [];
    if (again.noAnswer === "timeout") return [{ first: first.answer }];
    return again.answer !== undefined && cutOff(again)
      ? [{ first: first.answer, second: again.answer }]
      : [];
  });
}

/** Asks for more tokens than a window has, which vLLM refuses whatever its own cap is. */
const asksTooMuch = ({ probe }: Exchange): boolean => probe === "window";

/**
 * How a request for more tokens arrived as one for fewer: vLLM's own cap holds on every API, and
 * lets what is too much for the window be refused.
 */
function loweredOnItsWay({ exchanges }: ServerSeen, cap: number): string | undefined {
  const tooMuch = exchanges.find(
    (each) => asksTooMuch(each) && each.answer !== undefined && isCutOff(each.answer.stop),
  );
  if (tooMuch?.answer?.completion === cap)
    return `one for ${tooMuch.maxTokens} tokens was answered, which vLLM itself refuses as too many`;
  const told = exchanges.flatMap(({ probe, path, answer }) =>
    probe === "" || answer === undefined ? [] : [{ path, answer }],
  );
  const capped = told.filter(({ answer }) => isCutOff(answer.stop) && answer.completion === cap);
  const beyond = told.find(
    ({ path, answer }) => answer.completion > cap && capped.every((each) => each.path !== path),
  );
  return (
    beyond &&
    `an answer on ${beyond.path} has ${beyond.answer.completion}, and vLLM's own cap would hold there, too`
  );
}

/** Whether a request for too many tokens was refused as vLLM does it, so that it arrived as it was sent. */
const arrivesWhole = ({ exchanges }: ServerSeen): boolean =>
  exchanges.some((each) => asksTooMuch(each) && each.status === 400 && each.foreign === undefined);

/** What it says that a text is answered which no template and no parser sees. */
const withoutTemplate = (seen: ServerSeen): string =>
  followUps(seen, "/v1/completions").some(({ status }) => status === 200)
    ? " A text that needs no chat template is answered, so it is the template, a parser, or what they need."
    : "";

export const templateRules: readonly OfServer[] = [
  /**
   * A template that can't be rendered: every chat is refused with the same words, which need not name
   * it, and a text without a template is answered.
   */
  {
    id: "template-error",
    find(seen) {
      const common = templatesRefusal(seen);
      if (common === undefined || namesParser(common.refusal) !== undefined) return undefined;
      const isBad = seen.exchanges.some(
        ({ refusal, status }) => refusal === common.refusal && status === 400,
      );
      const answersText = followUps(seen, "/v1/completions").some(({ status }) => status === 200);
      const byWords = OF_TEMPLATE.test(common.refusal);
      if (!byWords && !(isBad && answersText && !OF_A_FIELD.test(common.refusal))) return undefined;
      const { probes, refusal } = common;
      if (HAS_NONE.test(refusal))
        return {
          cause: `The model has no chat template: ${withoutStop(refusal)}.`,
          advice: `Name one (${serverSetting(seen, "chatTemplate")}), or write \`${serverSetting(seen, "model.kind")}: base\` for a model that wasn't made for chats.`,
          probes,
        };
      return {
        cause: `The chat template can't be rendered, or refuses what clients send: ${withoutStop(refusal)}.`,
        advice: templateAdvice(seen, "Correct the template"),
        probes,
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
          cause: `The server refuses ${common.probes.length} probes with the same words: ${withoutStop(common.refusal)}.${withoutTemplate(seen)}`,
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
        cause: `The chat template, or what stands before vLLM, leaves the tools out: the prompt has ${first} tokens, however many tools are offered.`,
        advice: `${DIRECTLY} ${templateAdvice(seen, "Use a template that lists the tools")}`,
        probes: failedWith(
          seen,
          ({ tools: offered, answer }) => offered > 0 && answer !== undefined && answer.calls === 0,
        ),
      };
    },
  },
  /** Parts of a conversation that the template leaves out: the prompt is as long without them. */
  {
    id: "template-drops",
    find: (seen) => miscounted(seen, ({ times }) => times === 0),
  },
  /** Parts of a conversation that the template writes again: the prompt grows by more than they have. */
  {
    id: "template-repeats",
    find: (seen) => miscounted(seen, ({ times }) => times > 1),
  },
  /** Answers that end at the same number of tokens, however many are asked for. */
  {
    id: "capped",
    find(seen) {
      const caps = neverEnded(seen).flatMap(({ first, second }) =>
        first.completion > 0 && first.completion === second?.completion ? [first.completion] : [],
      );
      const [cap] = caps;
      if (cap === undefined) return undefined;
      const capped = ({ answer }: Exchange) => answer !== undefined && answer.completion === cap;
      const probes = failedWith(seen, (each) => cutOff(each) && capped(each));
      const onItsWay = loweredOnItsWay(seen, cap);
      if (onItsWay !== undefined)
        return {
          cause: `Something between verify and vLLM, such as a proxy, lowers what requests ask for to ${cap} tokens: ${onItsWay}.`,
          advice:
            "Raise or remove its limit for `max_tokens`. Or ask vLLM itself (--base-url, with its own address).",
          command: `curl -si ${seen.running.url ?? ""}/version`,
          probes,
        };
      const between = arrivesWhole(seen)
        ? ""
        : " Or something between verify and vLLM lowers `max_tokens`: ask vLLM itself (--base-url).";
      return {
        cause: `Every answer is cut off after ${cap} tokens, however many are asked for.`,
        advice: `A cap is set: \`max_new_tokens\` in generation_config.json of ${seen.declared.model} or in --override-generation-config (${serverSetting(seen, "extraArgs")}). \`--generation-config vllm\` ignores the model's. If the stack file sets no cap, the server runs with an older or different configuration: \`serving up\`.${between}`,
        probes,
      };
    },
  },
  /** A model that goes on for as long as it may. */
  {
    id: "never-ends",
    find(seen) {
      const [twice] = neverEnded(seen);
      if (twice === undefined) return undefined;
      const { first, second } = twice;
      const then =
        second === undefined
          ? "nor in time with four times as many"
          : `nor after ${second.completion}`;
      return {
        cause: `The model never ends its answers: it had not ended after ${first.completion} tokens, ${then}.`,
        advice: `It doesn't write the token that ends a turn, or the server doesn't know it: compare \`eos_token_id\` in generation_config.json of ${seen.declared.model} with the token that ends its turns, and try another build or quantization of it.`,
        command: "serving models",
        probes: failedWith(seen, (each) => cutOff(each) || isEndless(seen, each)),
      };
    },
  },
];
