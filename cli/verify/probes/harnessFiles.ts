import { faultLine } from "@local-serving/base/faults/fault";
import { isRecord, jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { NoAnswer } from "@local-serving/base/http/ask";
import type { EffectiveValue } from "@local-serving/harness/analytics/layers";
import { BadAnswer, quote } from "../../sees/answer";
import { Api, answeredText, errorMessage, refusalText } from "../../sees/api";
import { fail, pass, skip, type Verdict, worst } from "../probe";
import type { HarnessTarget, ProbesOf } from "../target";
import { ollamaHas } from "./ollama";
import { isVector, vectorsIn } from "./pooling";

/** Faults of a profile that are printed; the check prints all. */
const FAULTS_SAID = 3;

/**
 * Tokens of the judge's answer: room for a small object with the blanks that a model may put around
 * it.
 */
const JUDGE_TOKENS = 64;

const JUDGE_PROMPT = 'Answer with the JSON object {"ok": true} and nothing else.';

const embeddingSetting = ({ machine }: HarnessTarget) =>
  `\`machines.${machine.name}.harness.embeddingModel\``;

const pullFix = ({ machine }: HarnessTarget, model: string) =>
  `Run \`ollama pull ${model}\`, or list it in \`machines.${machine.name}.simpleServer.models\` with \`pull: true\``;

export const harnessFileProbes: ProbesOf<"harness"> = [
  {
    name: "harness-profile",
    about: "the harness's providers profile on the machine can be read, without faults",
    fix: ({ machine: { harness, name } }) =>
      `\`serving up\` writes ${harness?.providers} from \`machines.${name}.harness\`; what was edited is kept beside it.`,
    run: async ({ profile }) => {
      if ("unreadable" in profile) return fail(profile.unreadable);
      const { verdict, providers } = profile.content;
      const errors = verdict.faults.filter(({ severity }) => severity === "error");
      if (errors.length > 0) {
        const said = errors.slice(0, FAULTS_SAID).map((fault) => faultLine(fault));
        const more = errors.length > FAULTS_SAID ? [`${errors.length - FAULTS_SAID} more`] : [];
        return fail([...said, ...more].join("; "));
      }
      return providers.length === 0
        ? fail("it names no provider")
        : pass(providers.map(({ name }) => name).join(", "));
    },
  },
  {
    name: "harness-judge",
    about: "the session-analytics file's judge answers with JSON, asked as the harness asks it",
    fix: ({ machine: { harness, name } }) =>
      `\`machines.${name}.harness.judge\` names the judge; \`serving up\` writes its address and model to ${harness?.analytics}.`,
    run: (target) =>
      byAnalytics(target, async (values) => {
        const verdicts: Verdict[] = [];
        for (const judge of judgesIn(values))
          verdicts.push(await asked(() => askJudge(target, values, judge)));
        return worst(verdicts);
      }),
  },
  {
    // A list of models proves nothing: it holds chat models too. So a word is embedded, as the
    // harness does before a pass.
    name: "harness-embedding",
    about: "the session-analytics file's embedding model turns a word into a vector",
    fix: (target) =>
      `${embeddingSetting(target)} names a model of Ollama (\`simpleServer\` says where that is); \`embeddingServer\` names an inference server instead.`,
    run: (target) => byAnalytics(target, (values) => asked(() => embed(target, values))),
  },
];

/** Values of the session-analytics file, with the defaults for the others, by dotted name. */
type AnalyticsValues = ReadonlyMap<string, EffectiveValue>;

/**
 * Judges by the session-analytics file on the machine; an unreadable or faulty file is a failure.
 */
async function byAnalytics(
  { analytics, machine }: HarnessTarget,
  judge: (values: AnalyticsValues) => Promise<Verdict>,
) {
  const fix = `\`serving up\` writes ${machine.harness?.analytics} from \`machines.${machine.name}.harness\`; what was edited is kept beside it.`;
  if ("unreadable" in analytics) return fail(analytics.unreadable, fix);
  const { faults, values } = analytics.content;
  const error = faults.find(({ severity }) => severity === "error");
  return error === undefined ? judge(values) : fail(`${error.path}: ${error.message}`, fix);
}

const textAt = (values: AnalyticsValues, name: string) => textOr(values.get(name)?.value);

/** A server at an address of the file, which may end in a slash. */
const apiAt = (
  url: string,
  timeoutSeconds: number,
  headers: Readonly<Record<string, string>> = {},
): Api => new Api(url.replace(/\/+$/, ""), timeoutSeconds, headers);

/**
 * A server that does not answer fails this question alone: the next one may go to another server.
 */
async function asked(question: () => Promise<Verdict>): Promise<Verdict> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof NoAnswer || error instanceof BadAnswer) return fail(error.message);
    throw error;
  }
}

/** Each backend with each model that the file names, once. */
function judgesIn(values: AnalyticsValues) {
  const blocks = [...values.keys()].flatMap(
    (name) => /^(judge\..*)\.backend$/.exec(name)?.[1] ?? [],
  );
  const judges = blocks.map((block) => ({
    backend: textAt(values, `${block}.backend`),
    model: textAt(values, `${block}.model`),
  }));
  return [...new Map(judges.map((judge) => [JSON.stringify(judge), judge])).values()];
}

type Judge = ReturnType<typeof judgesIn>[number];

async function askJudge(
  target: HarnessTarget,
  values: AnalyticsValues,
  { backend, model }: Judge,
): Promise<Verdict> {
  if (backend === "ollama") return findInOllama(target, textAt(values, "judge.ollama_url"), model);
  if (backend !== "openai")
    return skip(`\`${quote(backend)}\` is a program, which is not asked here`);
  const url = textAt(values, "judge.base_url");
  if (url === "") return fail("`judge.base_url` is empty, but the judge's backend is `openai`");
  const key = target.host.env[target.judgeKeyVariable] ?? "";
  const api = apiAt(
    url,
    target.timeoutSeconds,
    key === "" ? {} : { authorization: `Bearer ${key}` },
  );
  const path = "/chat/completions";
  const form = {
    temperature: 0,
    max_tokens: JUDGE_TOKENS,
    response_format: { type: "json_object" },
  };
  const request = { model, messages: [{ role: "user", content: JUDGE_PROMPT }], ...form };
  let answer = await api.post(path, {
    ...request,
    chat_template_kwargs: { enable_thinking: false },
  });
  // As the harness does: once more without the switch against hidden reasoning.
  if (answer.status === 400) answer = await api.post(path, request);
  if (answer.status === 401 || answer.status === 403) {
    const fix = `Export ${target.judgeKeyVariable} with the server's key, or take \`--api-key\` out of its \`extraArgs\`.`;
    return fail(`${url} refuses the judge's key (HTTP ${answer.status})`, fix);
  }
  if (answer.status !== 200) return fail(answeredText(`${model} at ${url}`, answer));
  const body = objectOr(jsonIn(answer.text));
  const error = errorMessage(body);
  if (error !== undefined) return fail(`${url} answered 200 with an error: ${quote(error)}`);
  const content = textOr(objectOr(objectsIn(body.choices)[0]?.message).content).trim();
  if (isRecord(jsonIn(content))) return pass(`${model} at ${url} answers with JSON`);
  const said = content === "" ? "nothing" : `\`${quote(content)}\``;
  return fail(`${model} at ${url} was asked for JSON and said ${said}`);
}

/**
 * Ollama's judge is not loaded for this: beside the inference servers there may be no memory for a
 * large model.
 */
async function findInOllama(target: HarnessTarget, url: string, model: string): Promise<Verdict> {
  if (model === "") return skip("no model is named, so the harness takes its own default");
  const api = apiAt(url, target.timeoutSeconds);
  const setting = `\`machines.${target.machine.name}.harness.ollamaModel\``;
  if (!(await ollamaHas(api, model)))
    return fail(
      `${url} has no model ${model}`,
      `${pullFix(target, model)}; ${setting} names another.`,
    );
  const { capabilities } = await api.json("/api/show", { model });
  return Array.isArray(capabilities) && !capabilities.includes("completion")
    ? fail(`${model} at ${url} makes no text`, `${setting} must name a chat model.`)
    : pass(`${model} is at ${url} (not loaded for this)`);
}

async function embed(target: HarnessTarget, values: AnalyticsValues): Promise<Verdict> {
  const setting = embeddingSetting(target);
  const [backend, model] = [textAt(values, "embedding.backend"), textAt(values, "embedding.model")];
  if (!["ollama", "openai"].includes(backend))
    return skip(`its backend \`${quote(backend)}\` can't be asked here`);
  if (model === "") return skip(`no model is named (${setting}), so the harness embeds nothing`);
  const api = apiAt(textAt(values, "embedding.ollama_url"), target.timeoutSeconds);
  if (backend === "openai") {
    const [vector] = vectorsIn(await api.json("/embeddings", { model, input: "probe" })) ?? [];
    return vector === undefined
      ? fail(
          `${api.baseUrl} answered 200 without a vector`,
          `\`machines.${target.machine.name}.harness.embeddingServer\` must name a server whose model is of kind embedding.`,
        )
      : pass(`${model}: ${vector.length} dimensions`);
  }
  const answer = await api.post("/api/embed", { model, input: "probe" });
  if (answer.status === 404)
    return fail(
      `${api.baseUrl} answered 404: ${refusalText(answer)}`,
      `${pullFix(target, model)}.`,
    );
  if (answer.status !== 200) {
    const fix = `${setting} must name an embedding model, such as nomic-embed-text.`;
    return fail(answeredText(`/api/embed of ${model}`, answer), fix);
  }
  const body = objectOr(jsonIn(answer.text));
  const [vector]: unknown[] = Array.isArray(body.embeddings) ? body.embeddings : [];
  const signed = textOr(body.model);
  // The harness keeps no vector that comes without its model's name.
  return isVector(vector) && signed !== ""
    ? pass(`${quote(signed)}: ${vector.length} dimensions`)
    : fail(
        `${api.baseUrl} answered 200 without a vector and its model's name: \`${quote(answer.text)}\``,
      );
}
