import type { Recipe } from "../../components/catalogue";
import type { Plan } from "../../components/plan";

/** How fast a server answers, as its plan says it. */
export type ServedSpeed = NonNullable<
  Plan["machines"][number]["inferenceServers"][number]["speed"]
>;

/** What is said where nobody published a figure. */
export const UNKNOWN = "not known";

/** Tokens in a second as it would be written, and with drafts; of nothing planned there is none. */
export const speedCells = (speed: ServedSpeed | undefined): readonly [string, string] => {
  if (speed === undefined) return ["-", "-"];
  const { decode, withDrafts } = speed;
  return [
    decode === null ? UNKNOWN : String(decode.tokensPerSecond),
    withDrafts === undefined ? "-" : String(withDrafts.tokensPerSecond),
  ];
};

/** What a speed was measured with beside its recipe's values: `vLLM 0.28, 3 drafts`; else "". */
export function conditionsOf({ with: how, vllm, drafts }: Recipe["speeds"][number]): string {
  const counted = drafts === "unstated" ? "drafts" : `${drafts} drafts`;
  return [
    ...(how === undefined ? [] : [how]),
    ...(vllm === undefined ? [] : [`vLLM ${vllm}`]),
    ...(drafts === undefined ? [] : [counted]),
  ].join(", ");
}
