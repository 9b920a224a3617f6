import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { jsonIn, objectOr, textOr } from "@local-serving/base/faults/json";
import { namedAdapters } from "@local-serving/vllm/argv/adapters";
import {
  readServerArguments,
  type ServerArguments,
} from "@local-serving/vllm/argv/serverArguments";
import type { PlannedContainer } from "../planned";
import type { inferenceServerSchema } from "../planned/schema";
import type { InferenceServerSettings } from "../settings";

/** A model on the hub, with the commit that is pinned. */
export type HubModel = DataOf<typeof inferenceServerSchema>["hubModels"][number];

/** `organisation/name` or `name`; anything else is a path inside the container. */
const HUB_ID = /^[\w.-]+(\/[\w.-]+)?$/;

/** The models on the hub that a server loads: its own, that of its drafts, and its adapters. */
export function hubModels({ model, speculative, adapters }: InferenceServerSettings): HubModel[] {
  const named = [model, ...(speculative?.model ? [{ id: speculative.model }] : []), ...adapters];
  return named.flatMap(
    ({
      id,
      revision,
    }: {
      readonly id?: string | undefined;
      readonly revision?: string | undefined;
    }) => (id !== undefined && HUB_ID.test(id) ? [{ id, ...defined({ revision }) }] : []),
  );
}

/** A path inside the container, which the hub knows nothing of. */
const PATH = /^[/~.]/;

/** A branch, a tag or a commit, as the start gate takes it. */
const REVISION = /^[\w./-]+$/;

/** Options that put files elsewhere, or name more than is read here. */
const UNREAD = /^(?:config|download-dir|default-mm-loras|model-loader-extra-config)(?:\.|$)/;

/** Variables that let adapters be named later, or models come from another hub. */
const OTHER_SOURCES =
  /^(?:VLLM_ALLOW_RUNTIME_LORA_UPDATING|VLLM_LORA_RESOLVER_\w+|VLLM_USE_MODELSCOPE)$/;

/**
 * Returns every model that a server's container may ask the hub for: its model, draft, tokenizer
 * and adapters. If its arguments and variables leave any of them open, it returns none, so that the
 * gate does not take some for all.
 */
export function namedOnHub({ command, env }: Pick<PlannedContainer, "command" | "env">) {
  const args = readServerArguments(command);
  const isOpen =
    args.unreadable.length > 0 ||
    [...args.options.keys()].some((option) => UNREAD.test(option)) ||
    Object.keys(env).some((variable) => OTHER_SOURCES.test(variable));
  const named = [...modelsIn(args), ...adaptersIn(args)].filter(({ id }) => !PATH.test(id));
  const isReadable = ({ id, revision = "main" }: HubModel) =>
    HUB_ID.test(id) && REVISION.test(revision);
  return isOpen || !named.every(isReadable) ? [] : named;
}

function modelsIn(args: ServerArguments): HubModel[] {
  const value = (option: string) => args.options.get(option)?.[0];
  const draft = objectOr(jsonIn(textOr(value("speculative-config"))));
  const generation = value("generation-config");
  const isOwn = generation === "auto" || generation === "vllm";
  const named = [
    [args.model, value("revision")],
    [draft.model, draft.revision],
    [value("tokenizer"), value("tokenizer-revision")],
    [value("hf-config-path"), value("revision")],
    [isOwn ? undefined : generation, undefined],
  ];
  return named.flatMap(([id, revision]) =>
    typeof id === "string" ? [{ id, ...defined({ revision: textOr(revision) || undefined }) }] : [],
  );
}

/** Adapters by hub id or path; a word that names none is an id that can't be read. */
function adaptersIn(args: ServerArguments): HubModel[] {
  const { adapters, unread } = namedAdapters(args);
  return [
    ...adapters.map(({ path }) => ({ id: path })),
    ...unread.map((word) => ({ id: textOr(word) })),
  ];
}
