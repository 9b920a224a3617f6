import {
  type JsonObject,
  jsonIn,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { thousands } from "@local-serving/base/units/thousands";
import { gte, valid } from "@renovatebot/pep440";
import { believedVllm } from "../../../components/supply";
import { lowestAllowed } from "../../../components/supply/releases";
import { otherModel, servedModel, whoAnswers } from "../../rules/serverSeen";
import { quote, quotedList, sentence } from "../../sees/answer";
import { type Api, answeredText, refusalText } from "../../sees/api";
import { GATE_SAYS } from "../../sees/gateLines";
import { fail, pass } from "../probe";
import { CHAT } from "../surfaces/chat";
import type { ProbesOf, ServerTarget } from "../target";
import { chatOnly, modelName, questionOf, servedModels } from "./asking";

const FLOOR = lowestAllowed("vllm");

/** No release of anything has a longer version; a pattern is not let loose on megabytes. */
const LONGEST_VERSION = 64;

/** Whether the text that a server gives as its version is one. */
export const isVersion = (text: string): boolean =>
  text.length <= LONGEST_VERSION && valid(text) !== null;

/** A version without its local part (`+cu130`), which names a build and not a release. */
const release = (text: string): string => text.split("+", 1)[0] ?? text;

/** Whether a text holds this very number, thousands commas allowed: 8192 is not in 81920. */
const names = (text: string, limit: number): boolean =>
  new RegExp(`(?<!\\d)(?:${limit}|${thousands(limit)})(?!\\d)`).test(text);

/**
 * First vLLM that shortens max_tokens to what the prompt leaves, where earlier ones refuse
 * (renderers/params.py of 0.31 and 0.32). More than the whole window is refused by all.
 */
const SHORTENS_FROM = "0.32.0";

/** What a server's start gate said last, where it hasn't started the server since. */
async function gateSays({ host, name, alone }: ServerTarget): Promise<string | undefined> {
  if (alone) return undefined;
  const lines = (await host.memoryLines(name)).text.split("\n");
  return lines.flatMap((line) => GATE_SAYS.exec(line)?.[1] ?? []).at(-1);
}

const BALANCED =
  "A balancer stands before servers that differ. Ask one of them itself with --base-url.";

/**
 * What a page says that says something else each time that it is asked. Two are asked at once, since
 * a connection that is kept leads to one server.
 */
async function otherAnswer(api: Api): Promise<string | undefined> {
  const pages = [
    [
      "/v1/models",
      ({ data }: JsonObject) => whoAnswers({ models: objectsIn(data).map(servedModel) }),
    ],
    ["/version", ({ version }: JsonObject) => whoAnswers({ version: textOr(version) })],
  ] as const;
  for (const [path, read] of pages) {
    const answers = await Promise.all([api.again(path), api.again(path)]);
    const told = answers.flatMap(({ status, text }) =>
      status === 200 ? (read(objectOr(jsonIn(text))) ?? []) : [],
    );
    const [one, two = one] = told;
    if (one !== two) return `${path} says first ${quote(one ?? "")}, then ${quote(two ?? "")}`;
  }
  return undefined;
}

/** What a server is: alive, of its version, with its names. */
export const serverProbes: ProbesOf<"inference-server"> = [
  {
    name: "health",
    about: "GET /health answers 200",
    fix: ({ name, server }) =>
      `See whether it is still starting (\`serving status --wait\`), was stopped (\`serving start ${server.key}\`) or has died (\`serving doctor\`; \`docker logs ${name}\`).`,
    run: async (target) => {
      const { api, name } = target;
      const answer = await api.get("/health").catch(async (error: unknown) => {
        const gate = await gateSays(target);
        if (gate === undefined) throw error;
        const detail = `it does not run; its start gate says: ${sentence(gate)}`;
        return { ...fail(detail), closes: `${name} does not run` };
      });
      if (!("text" in answer)) return answer;
      if (answer.status === 200) return pass("alive");
      // vLLM answers 503 when its engine has died.
      const fix =
        answer.status === 503
          ? `The engine has died: see docker logs ${name}, then serving doctor.`
          : "Another program listens on this port, or a proxy is in front of it: see `ss -lntp`.";
      return fail(answeredText("/health", answer), fix);
    },
  },
  {
    name: "version",
    about: "GET /version is the version that the stack file records",
    fix: ({ setting }) =>
      `Record what runs: \`serving pin IMAGE:TAG\` prints ${setting("versions")}.`,
    run: async ({ api, server, setting }) => {
      const running = textOr((await api.json("/version")).version);
      const recorded = believedVllm(server.imageRecord);
      if (!isVersion(running))
        return fail(
          `it gives no version: \`${quote(running)}\``,
          `The image of ${setting("image")} is not a release.`,
        );
      if (!gte(running, FLOOR)) {
        const fix = `Set ${setting("image")} to a release of ${FLOOR} or later, pinned by digest.`;
        return fail(`vLLM ${running} runs, below the floor of ${FLOOR}`, fix);
      }
      const record = `write \`${setting("versions.vllm")}: ${running}\` in the stack file`;
      if (recorded === undefined)
        return pass(`vLLM ${running}; none is recorded`, `To record what runs, ${record}.`);
      if (release(running) === release(recorded)) return pass(`vLLM ${running}, as recorded`);
      const fix = `If you changed the image on purpose, ${record}. Otherwise \`serving up\`.`;
      return fail(`vLLM ${running} runs, but the stack file records ${recorded}`, fix);
    },
  },
  {
    name: "models",
    about:
      "GET /v1/models: the first id is the declared name without a slash, every alias and adapter is there",
    fix: ({ setting }) => `${setting("servedModelName")} and ${setting("aliases")} set the names.`,
    run: async ({ api, server, aliases, setting }) => {
      const { servedModelName, model } = server;
      const entries = await servedModels(api);
      const other = await otherAnswer(api);
      if (other !== undefined) return fail(other, BALANCED);
      const ids = entries.map((each) => textOr(each.id));
      const [first = ""] = ids;
      const restart = "The running server was started with other names: `serving up`.";
      if (first.includes("/")) {
        const fix = `Write \`${setting("servedModelName")}: ${servedModelName.split("/").at(-1)}\` in the stack file, and the hub id under ${setting("aliases")}, unless they are there already. ${restart}`;
        return fail(
          `the first id is \`${quote(first)}\`: a coding client can't address an id with a slash`,
          fix,
        );
      }
      if (first !== servedModelName) {
        const fix = `If you meant that, write \`${setting("servedModelName")}: ${quote(first)}\` in the stack file. ${restart}`;
        return fail(
          `the first id is \`${quote(first)}\`, not the declared \`${servedModelName}\``,
          fix,
        );
      }
      const missing = aliases.filter((alias) => !ids.includes(alias));
      const adapters = server.serve.adapters?.filter((name) => !ids.includes(name)) ?? [];
      if (missing.length === 0 && adapters.length > 0)
        return fail(
          `the adapters \`${adapters.join("`, `")}\` are not served; it serves \`${ids.map(quote).join("`, `")}\``,
          `${setting("adapters")} names them. ${restart}`,
        );
      const root = otherModel(model.id, entries.map(servedModel));
      if (missing.length === 0 && root !== undefined)
        return fail(
          `\`${quote(first)}\` serves the model \`${quote(root)}\`, not ${model.id}`,
          `${setting("model.id")} names it. ${restart}`,
        );
      if (missing.length === 0) return pass(quotedList(ids));
      const seen = `the aliases \`${missing.join("`, `")}\` are not served; it serves \`${ids.map(quote).join("`, `")}\``;
      const fix = `${setting("aliases")} names them. ${restart}`;
      return fail(seen, fix);
    },
  },
  {
    name: "max-model-len",
    about: "GET /v1/models: max_model_len is the declared window",
    fix: ({ setting }) => `${setting("maxModelLen")} sets the window.`,
    run: async ({ api, maxModelLen: declared, setting }) => {
      // An adapter, which has a parent, has its model's window and lists none.
      const own = (await servedModels(api)).filter(({ parent }) => parent == null);
      const wrong = own.find((each) => each.max_model_len !== declared);
      if (wrong === undefined) return pass(`${declared} tokens`);
      const found = String(wrong.max_model_len);
      const fix = `If you meant that, write \`${setting("maxModelLen")}: ${found}\` in the stack file; else start the server as planned (\`serving up\`).`;
      return fail(
        `\`${quote(textOr(wrong.id))}\` has a window of ${found} tokens, but ${declared} are declared`,
        fix,
      );
    },
  },
  {
    name: "completions",
    about: "POST /v1/completions continues a text (base models)",
    skip: ({ server }) =>
      server.model.kind === "base" ? undefined : `its model is of kind ${server.model.kind}`,
    fix: ({ setting }) =>
      `See ${setting("model")}: \`kind: base\` is for a model without a chat template.`,
    run: async (target) => {
      const request = {
        model: await modelName(target),
        prompt: "One, two, three,",
        max_tokens: 16,
        temperature: 0,
      };
      const body = await target.api.json("/v1/completions", request);
      const text = textOr(objectsIn(body.choices)[0]?.text);
      if (text.trim() === "")
        return fail("it added nothing to the text", `See ${target.setting("model.id")}.`);
      return pass(`\`${quote(text)}\` (${String(objectOr(body.usage).completion_tokens)} tokens)`);
    },
  },
];

/**
 * Agents trim their prompts by a refusal that names the window; a silent cut would lose what they
 * said.
 */
export const windowProbes: ProbesOf<"inference-server"> = [
  {
    name: "window",
    about: "prompt + max_tokens over max_model_len is refused with 400, naming the maximum",
    skip: chatOnly,
    fix: ({ setting }) =>
      `${setting("maxModelLen")} sets the window. A proxy may be answering in vLLM's place.`,
    run: async (target) => {
      const [first] = await servedModels(target.api);
      const limit =
        typeof first?.max_model_len === "number" ? first.max_model_len : target.maxModelLen;
      const running = textOr((await target.api.json("/version")).version);
      // The prompt is at least one token, so this exceeds the window with any tokenizer.
      const maxTokens = isVersion(running) && gte(running, SHORTENS_FROM) ? limit + 1 : limit;
      const answer = await target.api.post(
        CHAT.path,
        CHAT.ask(await questionOf(target, { maxTokens })),
      );
      const said = refusalText(answer);
      if (answer.status === 400 && names(answer.text, limit)) return pass(`400: ${said}`);
      return fail(
        answer.status === 400
          ? `refused, without naming the maximum of ${limit} tokens: ${said}`
          : `a request of ${limit} tokens and more in a window of ${limit} was answered with ${answer.status}`,
        `Agents trim by that message. Ask the server directly, without a proxy, and check ${target.setting("maxModelLen")}.`,
      );
    },
  },
];
