import { defined } from "@local-serving/base/faults/defined";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import type { Placement } from "../features/kind";
import { isPooling } from "../planned";
import {
  adapterInside,
  FLAGS,
  type Flag,
  type FlagName,
  type InferenceServerSettings,
  modelInside,
} from "../settings";
import { templateArgument } from "./chatTemplate";
import type { Serve } from "./serve";

/**
 * Address inside the container; what is reachable from outside is decided by the published port.
 */
const LISTEN_INSIDE = "0.0.0.0";

/** Values of flags where they aren't the setting's own; an undefined one isn't passed. */
type FlagValues = Readonly<Partial<Record<FlagName, unknown>>>;

/**
 * The arguments after `vllm serve`, in the order of the table. The model comes first: behind
 * `--served-model-name`, which takes several values, it would be swallowed.
 */
export function launchArguments(
  server: InferenceServerSettings,
  serve: Serve,
  placement: Pick<Placement, "flags" | "arguments"> = { flags: {}, arguments: [] },
): string[] {
  const has = {
    generating: !isPooling(server.model.kind),
    adapters: server.adapters.length > 0,
  };
  const computed = new Map(
    Object.entries<unknown>({ ...computedValues(server, serve), ...placement.flags }),
  );
  const flags = FLAGS.filter(({ only, flag }) =>
    only === "placed" ? computed.has(flag) : only === undefined || has[only],
  ).flatMap((each) => {
    const { setting, flag, form } = each;
    const value = computed.has(flag) ? computed.get(flag) : valueAt(server, setting.split("."));
    return value === undefined ? [] : WRITTEN[form](flag, value);
  });
  return [...flags, ...placement.arguments, ...server.extraArgs];
}

const WRITTEN: Readonly<Record<Flag["form"], (flag: string, value: unknown) => string[]>> = {
  first: (_, value) => [String(value)],
  word: (flag, value) => [flag, String(value)],
  number: (flag, value) => [flag, String(value)],
  share: (flag, value) => [flag, String(value)],
  words: (flag, value) => [flag, ...[value].flat().map(String)],
  json: (flag, value) => [flag, JSON.stringify(value)],
  switch: (flag, value) => (value === true ? [flag] : []),
  onOff: (flag, value) => [value === true ? flag : flag.replace("--", "--no-")],
};

function computedValues(server: InferenceServerSettings, serve: Serve): FlagValues {
  const { model, tools, adapters } = server;
  return {
    "--model": modelInside(server),
    "--served-model-name": serve.names,
    "--runner": isPooling(model.kind) ? "pooling" : undefined,
    "--host": LISTEN_INSIDE,
    "--pipeline-parallel-size":
      server.pipelineParallelSize === 1 ? undefined : server.pipelineParallelSize,
    "--enable-auto-tool-choice": model.kind === "chat" && tools.autoChoice,
    "--tool-call-parser": serve.toolParser ?? undefined,
    "--reasoning-parser": serve.reasoningParser ?? undefined,
    "--chat-template": templateArgument(server),
    "--speculative-config": speculativeConfig(server),
    "--enable-lora": true,
    // vLLM's older form, `NAME=PATH`; with a comma in it vLLM would read JSON.
    "--lora-modules": adapters.map((adapter) => `${adapter.name}=${adapterInside(adapter)}`),
    "--max-loras": server.maxLoras ?? adapters.length,
  };
}

function speculativeConfig({ speculative }: InferenceServerSettings): object | undefined {
  if (speculative === undefined) return undefined;
  const { method, model, numSpeculativeTokens } = speculative;
  return defined({ method, model, num_speculative_tokens: numSpeculativeTokens });
}
