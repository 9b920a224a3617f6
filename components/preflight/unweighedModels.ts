import { isDeepStrictEqual } from "node:util";
import { jsonIn, objectOr, objectsIn } from "@local-serving/base/faults/json";
import { GIB_PER_GB } from "@local-serving/base/units/memory";
import type { Files } from "@local-serving/machines/files";
import { gpusSharing } from "@local-serving/vllm/argv/gpusSharing";
import { demandOf } from "@local-serving/vllm/argv/memoryDemand";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { type PreflightFinding, refused } from "../features/kind";
import { unweighedText } from "../memory/model-name";
import type { MachinePlan } from "../plan";
import { serversOn } from "../planned";
import type { MachineFacts } from "./types";

/** The planned containers that the plan which was applied last has word for word. */
export async function containersAsApplied(
  { files, containers }: Pick<MachinePlan, "files" | "containers">,
  { text }: Pick<Files, "text">,
): Promise<string[]> {
  const record = files.find(({ role }) => role === "applied-plan");
  const written = record && (await text(record.path));
  const applied = objectsIn(objectOr(objectOr(jsonIn(written ?? "")).machine).containers);
  return containers
    .filter((each) =>
      // The record is JSON, which has no keys without a value.
      applied.some((before) => isDeepStrictEqual(before, JSON.parse(JSON.stringify(each)))),
    )
    .map(({ name }) => name);
}

/** Options by which other weights are loaded than lie on the disk. */
const LOADS_OTHERWISE = ["quantization", "hf-overrides", "language-model-only"];

/**
 * Refuses a server whose model neither the plan, the cache nor the hub could weigh, or whose weights
 * are larger than its share by what these say. One that runs as it was applied goes on, and so does
 * any where the hub can't be asked.
 */
export function unweighedModels(machine: MachinePlan, facts: MachineFacts): PreflightFinding[] {
  const { docker, needs, asApplied = [] } = facts;
  const { weightsGB: sizes, models = [] } = needs ?? {};
  if (sizes === undefined) return [];
  const up = docker.reachable ? docker.containers.map(({ name }) => name) : [];
  // Another finding tells of a model that the hub doesn't have; a hub that can't be asked tells nothing.
  const isUnread = (id: string) =>
    models.some(({ name, problem }) => name === id && problem !== undefined);
  return unweighedIn(machine)
    .filter(({ container: { name }, serve: { model } }) => {
      const goesOn = up.includes(name) && asApplied.includes(name);
      return !goesOn && !isUnread(model);
    })
    .flatMap((server) => judged(server, sizes[server.serve.model], machine.ledger.totalGiB));
}

type Server = ReturnType<typeof serversOn>[number];

/** The servers that an update may start with a model of the hub which the plan couldn't weigh. */
const unweighedIn = (machine: MachinePlan): readonly Server[] =>
  serversOn(machine).filter(
    ({ serve, container: { name, start }, hubModels }) =>
      start === undefined &&
      machine.starts[name]?.unweighed === true &&
      hubModels.some(({ id }) => id === serve.model),
  );

/** What is against a server's start by the size that the cache or the hub tells. */
function judged(
  { key, serve: { model }, container: { name, command } }: Server,
  weightsGB: number | undefined,
  totalGiB: number,
): PreflightFinding[] {
  if (weightsGB === undefined)
    return [
      refused(
        `${name}: ${unweighedText(model)} Neither the model cache nor the hub tells its size. Nothing was touched.`,
        `inferenceServers.${key}.model.weightsGB`,
      ),
    ];
  const gib = weightsGB * GIB_PER_GB;
  const budget = budgetOf(command, totalGiB);
  if (budget === undefined || gib <= budget) return [];
  return [
    refused(
      `${name} can't start: the weights of ${model} take ${weightsGB.toFixed(1)} GB (${gib.toFixed(2)} GiB), and it has ${budget.toFixed(2)} GiB. Set a larger \`gpuMemoryUtilization\`, or serve a smaller model. Nothing was touched.`,
      `inferenceServers.${key}.gpuMemoryUtilization`,
    ),
  ];
}

/** What a server's arguments give its weights; `undefined` where they may take less than on the disk. */
function budgetOf(command: readonly string[], totalGiB: number): number | undefined {
  const args = readServerArguments(command);
  if (LOADS_OTHERWISE.some((option) => args.options.has(option))) return undefined;
  const demand = demandOf(args);
  if (!demand.known) return undefined;
  const { utilization, kvCacheGiB } = demand.memory;
  return (kvCacheGiB === undefined ? utilization * totalGiB : totalGiB) * gpusSharing(args);
}
