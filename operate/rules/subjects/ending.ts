import { isCutOff } from "../answers";
import type { OfServer } from "../rule";
import { type Answered, type Exchange, failedWith, type ServerSeen } from "../serverSeen";
import { serverSetting } from "./asPlanned";

/** This probe asks for few tokens and doesn't care how its answers end. */
const ENDS_ANYWHERE = "prefix-reuse";

const cutOff = ({ probe, answer }: Exchange): boolean =>
  probe !== ENDS_ANYWHERE && answer !== undefined && isCutOff(answer.stop);

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

export const ending: readonly OfServer[] = [
  /** Answers that end at the same number of tokens, however many are asked for. */
  {
    id: "capped",
    find(seen) {
      const caps = neverEnded(seen).flatMap(({ first, second }) =>
        first.completion > 0 && first.completion === second?.completion ? [first.completion] : [],
      );
      const [cap] = caps;
      if (cap === undefined) return undefined;
      return {
        cause: `Every answer is cut off after ${cap} tokens, however many are asked for.`,
        advice: `A cap is set: \`max_new_tokens\` in generation_config.json of ${seen.declared.model} or in --override-generation-config (${serverSetting(seen, "extraArgs")}). \`--generation-config vllm\` ignores the model's. If the stack file sets no cap, the server runs with an older or different configuration: \`serving up\`.`,
        probes: failedWith(seen, (each) => cutOff(each) && each.answer?.completion === cap),
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
        probes: failedWith(seen, cutOff),
      };
    },
  },
];
