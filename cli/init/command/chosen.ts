import { defined } from "@local-serving/base/faults/defined";
import { objectOr } from "@local-serving/base/faults/json";
import { VLLM_DEFAULT_UTILIZATION } from "@local-serving/vllm/utilization";
import type { Recipe } from "../../../components/catalogue";
import { readModels } from "../../../components/evidence";
import { computedShare } from "../../../components/memory";
import { isPooling } from "../../../components/planned";
import { LARGEST_SHARE, poolingShare, USUAL_WINDOW, windowByName } from "../../models/byName";
import { type ServerValue, serverValues } from "../../models/serverValues";
import type { HostFacts } from "../../sees/computer/facts";
import { plannedDraft } from "../draft";
import type { Place } from "../offers";
import type { Wanted } from "../settings";

/** What a server is placed by, beside what its command says. */
export interface Surroundings {
  readonly facts: HostFacts;
  readonly place: Place;
  readonly recipe: Recipe | undefined;
  /** The whole stack file but the server's values. */
  readonly wanted: Wanted;
}

/** The values that a command leaves to vLLM and a stack file has to say, with what is told of each. */
export interface Chosen {
  readonly values: readonly ServerValue[];
  readonly told: readonly string[];
}

/** Settings that a first draft has to find out what is left, where the command names none. */
const LEAST: readonly ServerValue[] = [
  { path: ["gpuMemoryUtilization"], value: 0.05, why: "" },
  { path: ["maxModelLen"], value: 1024, why: "" },
  { path: ["kvCacheDtype"], value: "auto", why: "" },
];

/** Facts of a model that no argument of vLLM says. */
const OF_MODEL = ["model.family", "model.kind"];

/**
 * What a command leaves open: facts of the model by the catalogue, and a share and a window that
 * the machine has room for.
 */
export function chosenValues(said: readonly ServerValue[], around: Surroundings): Chosen {
  const { facts, recipe } = around;
  const has = (path: string) => said.some((each) => each.path.join(".") === path);
  const beside = facts.servers.length > 0 || sharesMachine(around.wanted);
  const open = !has("gpuMemoryUtilization") || !has("maxModelLen");
  const { largest, window, computed } = open ? room(said, around) : NO_ROOM;
  const id = String(said.find(({ path }) => path.join(".") === "model.id")?.value);
  const usualWindow = windowByName(id, pools(said));
  const placement = { beside, largest, ...defined({ computed }) };
  const known = recipe === undefined ? [] : serverValues(recipe, placement);
  const values = known.filter(({ path }) => OF_MODEL.includes(path.join(".")));
  const told: string[] = [];
  if (!has("gpuMemoryUtilization")) {
    const own = known.find(({ path }) => path.join(".") === "gpuMemoryUtilization");
    values.push(own ?? { path: ["gpuMemoryUtilization"], value: largest, why: SHARE });
    told.push(
      `The command doesn't set --gpu-memory-utilization: it is ${(own ?? { value: largest }).value} here. vLLM's own default of ${VLLM_DEFAULT_UTILIZATION} is more than all servers of this machine together may take.`,
    );
  }
  if (!has("maxModelLen")) {
    const own = known.find(({ path }) => path.join(".") === "maxModelLen");
    const of = window ?? usualWindow;
    values.push(own ?? { path: ["maxModelLen"], value: of, why: WINDOW });
    told.push(
      `The command doesn't set --max-model-len: the window is ${(own ?? { value: of }).value}${own === undefined && window === undefined ? `, since no config.json of the model is known here${usualWindow < USUAL_WINDOW ? ": if its own is longer, write that" : ""}` : ""}.`,
    );
  }
  if (!has("kvCacheDtype")) values.push({ path: ["kvCacheDtype"], value: "auto", why: DTYPE });
  if (!has("maxNumSeqs"))
    told.push("The command doesn't set --max-num-seqs: it is 4, the default of a stack file.");
  return { values, told };
}

/** Whether other engines take memory of a machine whose stack file gets the server. */
function sharesMachine({ into, beside = [] }: Wanted): boolean {
  if (into === undefined) return false;
  const { instanceA, inferenceServers } = into.settings;
  const servers = Object.keys(inferenceServers).length + beside.length;
  return instanceA !== "none" || servers > 0;
}

const SHARE = "not in the command: what the machine has left, and at most 0.8";
const WINDOW = "not in the command: what the model's config.json has, or a usual window";
const DTYPE = "not in the command: vLLM's own default";

const NO_ROOM = { largest: LARGEST_SHARE, window: undefined, computed: undefined };

/**
 * The share that the machine leaves for the server, the window that its model has, and the share
 * that one which writes no text needs.
 */
function room(said: readonly ServerValue[], around: Surroundings) {
  const { facts, place, recipe, wanted } = around;
  const pooling = recipe !== undefined && isPooling(recipe.kind) ? recipe : undefined;
  const asked = pooling === undefined ? [] : besides(ofItsKind(pooling), said);
  const server = [...besides(LEAST, [...asked, ...said]), ...asked, ...said];
  const { settings, machine } = plannedDraft(facts, { ...wanted, server, clients: [] }, place.home);
  const { key = "b" } = wanted;
  const planned = machine.inferenceServers.find((each) => each.key === key);
  const container = planned?.container.name ?? "";
  const left = machine.ledger.largestUtilizationThatFits[container] ?? 0;
  const models = readModels(settings, place.project, place.home);
  const id = said.find(({ path }) => path.join(".") === "model.id")?.value;
  const read = typeof id === "string" ? models[id] : undefined;
  const config = objectOr(read?.config);
  const { max_position_embeddings: window } = objectOr(config.text_config ?? config);
  const needs = {
    kv: machine.kv[container] ?? null,
    needs: machine.starts[container] ?? {},
    requests: settings.machines[machine.name]?.inferenceServers[key]?.maxNumSeqs ?? 1,
  };
  const wantedShare = pooling?.share.alone;
  const most =
    pooling === undefined && pools(said)
      ? poolingShare(needs.needs.weightsGiB ?? 0, machine.ledger.totalGiB)
      : LARGEST_SHARE;
  return {
    computed:
      wantedShare === undefined
        ? undefined
        : computedShare(needs, wantedShare, machine.ledger.totalGiB),
    largest: left > 0 ? Math.min(left, most) : most,
    window: typeof window === "number" ? window : undefined,
  };
}

/** Whether a command is of a model that writes no text. */
const pools = (said: readonly ServerValue[]): boolean =>
  said.some(({ path, value }) => path.join(".") === "model.kind" && POOLING.has(value));

const POOLING: ReadonlySet<unknown> = new Set(["embedding", "rerank"]);

/** What the share of a model that writes no text is computed from: its kind and its whole window. */
const ofItsKind = (recipe: Recipe): ServerValue[] =>
  serverValues(recipe, { beside: false }).filter(({ path }) =>
    [...OF_MODEL, "maxModelLen"].includes(path.join(".")),
  );

/** Values without those that stand among others. */
const besides = (values: readonly ServerValue[], others: readonly ServerValue[]) =>
  values.filter(({ path }) => !others.some((each) => each.path.join() === path.join()));
