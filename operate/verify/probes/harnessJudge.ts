import { errorMessage, refusalText } from "../api";
import { type AnalyticsValues, apiAt, asked, byAnalytics, textAt } from "../harnessAnalytics";
import type { HarnessTarget } from "../harnessTargets";
import { isJsonObject, objectOr, objectsIn, parseJson, textOr } from "../json";
import { fail, type Probe, pass, skip, type Verdict } from "../probe";
import { quote } from "../quote";
import { ollamaHas } from "./ollama";

/** Tokens of the judge's answer: room for a small object with the blanks that a model may put around it. */
const JUDGE_TOKENS = 64;

const PROMPT = 'Answer with the JSON object {"ok": true} and nothing else.';

const PATH = "/chat/completions";

/** Whoever judges sessions: each backend with each model that the file names, once. */
export const harnessJudge: Probe<HarnessTarget> = {
  name: "harness-judge",
  about: "the session-analytics file's judge answers with JSON, as the harness asks it",
  fix: ({ machine: { harness, name } }) =>
    `\`machines.${name}.harness.judge\` names who judges; npm run up writes its address and model to ${harness?.analytics}.`,
  run: (target) =>
    byAnalytics(target, async (values) => {
      const verdicts: Verdict[] = [];
      for (const judge of judgesIn(values)) {
        verdicts.push(await asked(() => askJudge(target, values, judge), harnessJudge.fix(target)));
      }
      return together(verdicts);
    }),
};

interface Judge {
  readonly backend: string;
  readonly model: string;
}

function judgesIn(values: AnalyticsValues): Judge[] {
  const blocks = [...values.keys()].flatMap((name) => /^(judge\..*)\.backend$/.exec(name)?.[1] ?? []);
  const judges = blocks.map((block) => ({
    backend: textAt(values, `${block}.backend`),
    model: textAt(values, `${block}.model`),
  }));
  const isFirst = ({ backend, model }: Judge, place: number) =>
    judges.findIndex((other) => other.backend === backend && other.model === model) === place;
  return judges.filter(isFirst);
}

async function askJudge(target: HarnessTarget, values: AnalyticsValues, judge: Judge): Promise<Verdict> {
  const { backend, model } = judge;
  if (backend === "ollama") return findInOllama(target, textAt(values, "judge.ollama_url"), model);
  if (backend !== "openai") return skip(`\`${quote(backend)}\` is a program that is not asked here`);
  const url = textAt(values, "judge.base_url");
  return url === ""
    ? fail("`judge.base_url` is empty, and the judge's backend is `openai`", harnessJudge.fix(target))
    : askServer(target, url, model);
}

async function askServer(target: HarnessTarget, url: string, model: string): Promise<Verdict> {
  const key = target.host.env[target.judgeKeyVariable] ?? "";
  const api = apiAt(url, target.timeoutSeconds, key === "" ? {} : { authorization: `Bearer ${key}` });
  const request = {
    model,
    messages: [{ role: "user", content: PROMPT }],
    temperature: 0,
    max_tokens: JUDGE_TOKENS,
    response_format: { type: "json_object" },
  };
  let answer = await api.post(PATH, { ...request, chat_template_kwargs: { enable_thinking: false } });
  // As the harness does: once more without the switch against hidden reasoning.
  if (answer.status === 400) answer = await api.post(PATH, request);
  const fix = harnessJudge.fix(target);
  if (answer.status === 401 || answer.status === 403) {
    return fail(
      `${url} refuses the judge's key (HTTP ${answer.status})`,
      `Export ${target.judgeKeyVariable} with the server's key, or take \`--api-key\` out of its \`extraArgs\`.`,
    );
  }
  if (answer.status !== 200) {
    return fail(`${model} at ${url} answered ${answer.status}: ${refusalText(answer)}`, fix);
  }
  const body = objectOr(parseJson(answer.text));
  const error = errorMessage(body);
  if (error !== undefined) return fail(`${url} answered 200 with an error: ${quote(error)}`, fix);
  const content = textOr(objectOr(objectsIn(body.choices)[0]?.message).content).trim();
  if (isJsonObject(parseJson(content))) return pass(`${model} at ${url} answers with JSON`);
  const said = content === "" ? "nothing" : `\`${quote(content)}\``;
  return fail(`${model} at ${url} was asked for JSON and said ${said}`, fix);
}

/** Ollama's judge is not loaded for this: beside the inference servers there may be no memory for a large model. */
async function findInOllama(target: HarnessTarget, url: string, model: string): Promise<Verdict> {
  if (model === "") return skip("no model is named, so the harness takes a default of its own");
  const api = apiAt(url, target.timeoutSeconds);
  const { name } = target.machine;
  const setting = `\`machines.${name}.harness.ollamaModel\``;
  if (!(await ollamaHas(api, model))) {
    return fail(
      `${url} has no model ${model}`,
      `ollama pull ${model}, or list it in \`machines.${name}.simpleServer.models\` with \`pull: true\`; ${setting} names another.`,
    );
  }
  const { capabilities } = await api.json("/api/show", { model });
  return Array.isArray(capabilities) && !capabilities.includes("completion")
    ? fail(`${model} at ${url} makes no text`, `${setting} must name a chat model.`)
    : pass(`${model} is at ${url} (not loaded for this)`);
}

/** The worst counts, and what is said is of that status alone. */
function together(verdicts: readonly Verdict[]): Verdict {
  const status = (["fail", "pass"] as const).find((each) =>
    verdicts.some((verdict) => verdict.status === each),
  );
  const of = verdicts.filter((verdict) => status === undefined || verdict.status === status);
  const detail = of.map((verdict) => verdict.detail).join("; ");
  return { status: status ?? "skip", detail, fix: of[0]?.fix ?? "" };
}
