import { textOr } from "@local-serving/base/faults/json";
import { BadAnswer, quote } from "../../sees/answer";
import { fail, pass, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import type { ProbesOf, ServerTarget } from "../target";
import { chatOnly, questionOf } from "./asking";
import { judgeText } from "./judging";

/** The names of a server's adapters. */
const adaptersOf = ({ server }: ServerTarget): readonly string[] => server.serve.adapters ?? [];

/** One short answer by an adapter's name; vLLM answers under that name, and not its model's. */
async function answerBy(name: string, target: ServerTarget): Promise<Verdict> {
  const { api, setting } = target;
  const body = await api
    .json(CHAT.path, CHAT.ask(await questionOf(target, { model: name })))
    .catch((error: unknown) => {
      if (error instanceof BadAnswer) return error;
      throw error;
    });
  if (body instanceof BadAnswer)
    return fail(
      `asked for \`${name}\`: ${body.message}`,
      `See docker logs ${target.name}, then serving doctor. ${setting("adapters")} names it.`,
    );
  const verdict = judgeText(CHAT.read(body), target);
  if (verdict.status !== "pass") return { ...verdict, detail: `\`${name}\`: ${verdict.detail}` };
  const answering = textOr(body.model);
  return answering === name
    ? verdict
    : fail(
        `asked for \`${name}\`, it answers as \`${quote(answering)}\``,
        "The model answered without the adapter, or a proxy between client and server rewrites names.",
      );
}

/** Adapters share a server, and each may fail alone. */
export const adapterProbes: ProbesOf<"inference-server"> = [
  {
    name: "adapters",
    about: "each adapter answers a short chat by its name",
    skip: (target) =>
      chatOnly(target) ?? (adaptersOf(target).length > 0 ? undefined : "no adapter is declared"),
    fix: ({ setting }) => `${setting("adapters")} names them.`,
    run: async (target) => {
      const names = adaptersOf(target);
      for (const name of names) {
        const verdict = await answerBy(name, target);
        if (verdict.status !== "pass") return verdict;
      }
      return pass(`${names.map((name) => `\`${name}\``).join(", ")} each answered`);
    },
  },
];
