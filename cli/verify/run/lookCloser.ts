import { defined } from "@local-serving/base/faults/defined";
import { type JsonObject, objectOr } from "@local-serving/base/faults/json";
import { textsOf } from "@local-serving/machines/docker/containers";
import { believedVllm } from "../../../components/supply";
import { containerDifferences } from "../../drift/containers";
import { saidOf } from "../../drift/difference";
import {
  type Exchange,
  failedWith,
  isVllm,
  type Running,
  type ServerAsDeclared,
  type ServerSeen,
} from "../../rules/serverSeen";
import { commonRefusal } from "../../rules/subjects/template";
import { oneToken } from "../../sees/api";
import { inspected } from "../../sees/host";
import { modelName, questionOf } from "../probes/asking";
import { CHAT } from "../surfaces/chat";
import type { ServerTarget } from "../target";
import { READ_FILE, TOOL_REQUEST } from "../tools";
import type { WatchedApi } from "./watchedApi";

/**
 * Everything that is known of a server whose probes have run and failed in part. What no probe asks
 * and a cause is told by is asked here, in at most four requests that change nothing.
 */
export async function lookCloser(
  target: ServerTarget,
  watched: WatchedApi,
  failed: readonly string[],
): Promise<ServerSeen> {
  const { host, name, alone } = target;
  const found = alone ? undefined : await inspected(host, name).catch(() => undefined);
  watched.probe = "";
  const { exchanges, running, parts } = watched;
  // One that is no vLLM, or that nobody saw answer, has nothing to add.
  const isAnswering = exchanges.some(({ status }) => status !== undefined) || isVllm(running);
  if (isAnswering)
    for (const question of questions({ ...target, api: watched }, { failed, exchanges }))
      await question().catch(() => undefined);
  return {
    declared: declaredOf(target, found !== undefined),
    running: { ...watched.running, ...(found === undefined ? {} : startedAs(target, found)) },
    failed,
    exchanges: watched.exchanges,
    parts,
  };
}

/** What a container was started with, and how that differs from the stack file. */
function startedAs(
  { server: { container } }: ServerTarget,
  found: JsonObject,
): Pick<Running, "argv" | "differs"> {
  const started = containerDifferences(container, found).filter(
    ({ what }) => what === "image" || what.startsWith("--") || what.startsWith("env "),
  );
  return { argv: textsOf(objectOr(found.Config).Cmd), differs: saidOf(started) };
}

/** What is asked of a server, by what its probes met. */
function questions(
  target: ServerTarget,
  seen: Pick<ServerSeen, "failed" | "exchanges">,
): (() => Promise<unknown>)[] {
  const { api } = target;
  const met = (is: (exchange: Exchange) => boolean) => failedWith(seen, is).length > 0;
  const failing = met(({ noAnswer, status = 0 }) => noAnswer !== undefined || status >= 500);
  const late = met(({ noAnswer }) => noAnswer === "timeout");
  const unread = met(({ path, tools, answer }) => {
    const ended = answer !== undefined && answer.calls === 0 && answer.stop === "stop";
    return path === CHAT.path && tools > 0 && ended;
  });
  const missing = met(({ path, status }) => path === CHAT.path && status === 404);
  return [
    ...(missing
      ? [async () => api.post("/v1/embeddings", { model: await modelName(target), input: "1" })]
      : []),
    ...(failing ? [() => api.get("/health")] : []),
    ...(late || commonRefusal(seen) !== undefined
      ? [async () => api.post("/v1/completions", oneToken(await modelName(target)))]
      : []),
    // The tokens say how the model writes a call, whatever a parser makes of them.
    ...(unread ? [async () => api.json(CHAT.path, CHAT.ask(await asWritten(target)))] : []),
  ];
}

const asWritten = (target: ServerTarget) =>
  questionOf(target, { turns: TOOL_REQUEST, tools: [READ_FILE], more: { logprobs: true } });

function declaredOf(
  { name, server, setting, maxModelLen }: ServerTarget,
  ours: boolean,
): ServerAsDeclared {
  const { serve, container, model, imageRecord } = server;
  const { toolParser, reasoningParser, prefixCaching } = serve;
  return {
    name,
    place: setting("").replace(/\.$/, ""),
    model: model.id,
    names: serve.names,
    thinking: model.thinking,
    maxModelLen,
    toolParser,
    reasoningParser,
    prefixCaching,
    ...defined({ vllm: believedVllm(imageRecord) }),
    argv: container.command,
    ours,
  };
}
