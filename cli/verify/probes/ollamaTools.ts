import { fail, type Probe, type ProbeResult, pass, skip, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import { MESSAGES } from "../surfaces/messages";
import { RESPONSES } from "../surfaces/responses";
import type { Surface } from "../surfaces/surface";
import type { SimpleModelTarget } from "../target";
import { THOUGHTFUL_ANSWER_TOKENS, TOOL_REQUEST } from "../tools";
import { judgeCall } from "./judging";
import { ollamaHas } from "./ollama";

/** How results name a model of Ollama. */
export const simpleModelName = (model: string): string => `${model} (Ollama)`;

/**
 * Asks each model of Ollama for a tool call, as a coding client asks. That loads the model, so it
 * happens only where the stack file records the model's tool calls, or a run names the probe.
 */
export const ollamaToolProbes: readonly Probe<SimpleModelTarget>[] = [
  CHAT,
  MESSAGES,
  RESPONSES,
].map((surface) => ({
  name: `ollama-${surface.name}-tools`,
  about: `POST ${surface.path} with a tool, to a model of Ollama: the call is structured`,
  skip: ({ named, plan, model }) =>
    named || isRecorded(plan, model)
      ? undefined
      : "asking would load the model; `serving verify --record` does it",
  fix: fixOf,
  run: async (target) => {
    const without = await lacksTools(target);
    if (without !== undefined) return without;
    const whole = await callOf(target, surface, false);
    if (whole.status !== "pass") return whole;
    // Coding clients stream, and Ollama has code of its own for that.
    const streamed = await callOf(target, surface, true);
    return streamed.status === "pass"
      ? pass(`${whole.detail}, streamed too`)
      : { ...streamed, detail: `streamed: ${streamed.detail}` };
  },
}));

/** Names of the probes by which a model's tool calls count as seen. */
export const TOOL_CALL_PROBES: readonly string[] = ollamaToolProbes.map(({ name }) => name);

/** Models that passed every probe of tool calls, by the results of their machine. */
export const modelsWithToolCalls = (
  models: readonly string[],
  results: readonly ProbeResult[],
): string[] =>
  models.filter((model) =>
    TOOL_CALL_PROBES.every((name) =>
      results.some(
        (each) =>
          each.name === name && each.target === simpleModelName(model) && each.status === "pass",
      ),
    ),
  );

const isRecorded = ({ toolCalls = {} }: SimpleModelTarget["plan"], model: string) =>
  Object.hasOwn(toolCalls, model);

function fixOf({ plan, model }: SimpleModelTarget): string {
  const other = "No coding client can use this model there: take another one, or pull it again.";
  return isRecorded(plan, model) ? `${other} Remove it from \`simpleServer.toolCalls\`.` : other;
}

/** The verdict on a model that is not there, or takes no tools by its template. Asking loads nothing. */
async function lacksTools(target: SimpleModelTarget): Promise<Verdict | undefined> {
  const { api, model, plan } = target;
  if (!(await ollamaHas(api, model))) return fail("it is not there", `ollama pull ${model}`);
  const { capabilities } = await api.json("/api/show", { model });
  if (!Array.isArray(capabilities) || capabilities.includes("tools")) return undefined;
  const detail = `its template takes no tools (\`ollama show ${model}\`)`;
  return isRecorded(plan, model) ? fail(detail) : skip(detail);
}

async function callOf(
  { api, model }: SimpleModelTarget,
  surface: Surface,
  streamed: boolean,
): Promise<Verdict> {
  const { ask, path, read, readStream, tools } = surface;
  const body = ask({ model, maxTokens: THOUGHTFUL_ANSWER_TOKENS, turns: TOOL_REQUEST, tools });
  const answer = streamed
    ? readStream(await api.stream(path, { ...body, ...surface.streamed }))
    : read(await api.json(path, body));
  // No setting of ours chooses Ollama's parser, so the fixes for one of vLLM's are left out.
  const { status, detail } = judgeCall(surface, tools, answer, { setting: (key) => key });
  return status === "pass" ? pass(detail) : fail(detail);
}
