import { adviseCache, adviseShare, leastBeforeKv } from "../../components/memory";
import { unweighedText } from "../../components/model-name";
import { TYPE } from "../../components/planned";
import { BYTES_PER_GB, BYTES_PER_GIB } from "../../units/memory";
import { thousands } from "../../units/thousands";
import { demandOf, numberIn } from "../../vllm/argv/memoryDemand";
import { figure, isText, knownMaps, text } from "../../vllm/argv/unknown";
import { type MemoryDemand, utilizationText } from "../../vllm/utilization";
import { shareToStart } from "../lib/advisedShare";
import { batchFaults } from "../lib/batchFaults";
import type { DeclaredResource } from "../lib/container";
import { declaredServers } from "../lib/inferenceServer";
import { type LargestShare, largestShares } from "../lib/largestShares";
import { IF_MISLED, tooLarge, tooLargeByName } from "../lib/namedWeights";
import { advice, type Finding, type Rule, violation } from "./rule";

const SET_IT =
  "Set `model.residentGiB`; `model.weightsGB` is enough without options such as `--hf-overrides` or `--quantization`.";

/** What a server's arguments ask for. */
type Asked = MemoryDemand & { readonly window: number; readonly model: string };

/**
 * Why it can't start, and the setting whose value mends that; no value where none does. An operator may
 * know better than a fault of memory.
 */
type Fault = { readonly message: string; readonly ofMemory?: true } & (
  | { readonly setting: string; readonly value: number | undefined }
  | { readonly setting?: undefined; readonly value?: undefined }
);

/**
 * A server that can't start even in the best case costs half an hour and a loop of restarts to find
 * out.
 */
export const serverStarts: Rule = {
  name: "server-starts",
  description:
    "A server can start in the best case: its weights fit into its share and into the machine, by the model's name where nothing else tells their size, and one request that fills the context window fits into the rest. What others saw of its like doesn't rule it out. `startAnyway` at the server makes a warning of either. The window is not longer than the model's own, and a batch is as large as vLLM demands.",
  level: "mandatory",
  advises: true,
  of: TYPE.machine,
  judgeResource(machine) {
    const totalGiB = figure(machine.props.totalGiB);
    const shares = largestShares(machine);
    const servers = knownMaps(machine.props.servers);
    const byBatch = servers.flatMap((server) => {
      const [args] = declaredServers(server);
      const name = text(server.name);
      if (args === undefined || !isText(name)) return [];
      return batchFaults(args).map(({ message, setting, value }) =>
        violation(machine, `${name} can't start: ${message}`, { server: name, setting, value }),
      );
    });
    const byMemory = servers.flatMap((server) => {
      const share = shares.find(({ name }) => name === text(server.name));
      const asked = askedBy(server);
      if (share === undefined || asked === undefined) return [];
      if (share.needs.unweighed === true)
        return [
          advice(
            machine,
            `Whether ${share.name} can start isn't judged: ${unweighedText(asked.model)}`,
          ),
        ];
      if (share.needs.outsideGiB === undefined) {
        // By the plan of its cache it starts even with all of its files.
        if (share.needs.atMost === true) return [];
        const what = `Whether ${share.name} can start isn't judged: what its weights take once loaded is not known.`;
        return [advice(machine, `${what} ${SET_IT}`)];
      }
      const found = faults(asked, share, totalGiB).map((fault) => told(machine, share, fault));
      const cramped = found.length > 0 ? undefined : noWindow(asked, share, totalGiB);
      return cramped === undefined ? found : [advice(machine, cramped)];
    });
    return [...byBatch, ...byMemory];
  },
  judgeMachine: (group) =>
    tooLargeByName(group).map(({ container, message }) => violation(container, message)),
};

/** A fault as a refusal, or as a warning where the operator applies the server all the same. */
function told(
  machine: DeclaredResource,
  { name, needs: { startAnyway } }: LargestShare,
  { message, setting, value, ofMemory }: Fault,
): Finding {
  if (ofMemory && startAnyway !== undefined)
    return advice(
      machine,
      `${name} can't start: ${message} It is applied all the same: \`startAnyway\` says "${startAnyway}".`,
    );
  const change = value === undefined ? undefined : { server: name, setting, value };
  return violation(machine, `${name} can't start: ${message}`, change);
}

/** Says that weights by their name alone leave less of a share than vLLM itself takes. */
function noWindow(
  { utilization, kvCacheGiB }: Asked,
  { name, needs: { byName, weightsGiB = 0 } }: LargestShare,
  totalGiB: number,
): string | undefined {
  const budget = utilization * totalGiB;
  const least = leastBeforeKv((weightsGiB * BYTES_PER_GIB) / BYTES_PER_GB) + (kvCacheGiB ?? 0);
  if (byName === undefined || least < budget) return undefined;
  return `${name} may not start: its weights take at least ${weightsGiB.toFixed(2)} of its ${budget.toFixed(2)} GiB (${byName}), and vLLM takes ${(least - weightsGiB).toFixed(2)} GiB beside them, so that no window is left. Set a larger \`gpuMemoryUtilization\`, or \`model.weightsGB\` if the name misleads.`;
}

function askedBy(server: Readonly<Record<string, unknown>>): Asked | undefined {
  const [args] = declaredServers(server);
  const demand = args && demandOf(args, { adaptersCounted: true });
  if (args === undefined || !demand?.known) return undefined;
  const model = isText(args.model) ? args.model : "its model";
  return { ...demand.memory, window: numberIn(args, "max-model-len"), model };
}

function faults(asked: Asked, share: LargestShare, totalGiB: number): Fault[] {
  const { byName, weightsGiB = 0, modelWindow } = share.needs;
  if (byName !== undefined && weightsGiB > totalGiB)
    return [{ message: `${tooLarge(weightsGiB, byName, totalGiB)} ${IF_MISLED}` }];
  const ofMemory = memoryFault(asked, share, totalGiB);
  const found: Fault[] = ofMemory === undefined ? [] : [{ ...ofMemory, ofMemory: true }];
  const { window } = asked;
  if (modelWindow === undefined || !(window > modelWindow)) return found;
  // One window that mends both.
  const fitting = ofMemory?.setting === "maxModelLen" ? ofMemory.value : undefined;
  const value = Math.min(modelWindow, fitting ?? modelWindow);
  const message = `--max-model-len ${window} is longer than the model's own window of ${modelWindow}, which vLLM refuses. Set \`maxModelLen: ${value}\` or less. If the model's card stretches its window (YaRN), write that as \`--hf-overrides\` in \`extraArgs\`; \`environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1" }\` lifts the check alone, and its config.json says nothing of longer prompts.`;
  return [...found, { message, setting: "maxModelLen", value }];
}

/** Why its memory doesn't suffice even in the best case: its weights, its cache, or what was seen. */
function memoryFault(asked: Asked, share: LargestShare, totalGiB: number): Fault | undefined {
  const { utilization, kvCacheGiB } = asked;
  const { weightsGiB = 0, outsideGiB = 0, windowGiB = 0, byName, cannotStart } = share.needs;
  const budget = utilization * totalGiB;
  if (kvCacheGiB === undefined && weightsGiB > budget) {
    const { text: more, value } = moreShare(share, utilization);
    const [least, source, misled] =
      byName === undefined ? ["", "", ""] : ["at least ", ` (${byName})`, ` ${IF_MISLED}`];
    const given = givenText(utilization, totalGiB);
    const message = `its weights take ${least}${weightsGiB.toFixed(2)} GiB once loaded${source}, but ${given}. ${more}${misled}`;
    return { message, setting: "gpuMemoryUtilization", value };
  }
  if (windowGiB > (kvCacheGiB ?? budget - outsideGiB)) return noRoom(asked, share, totalGiB);
  if (cannotStart === undefined) return undefined;
  if (kvCacheGiB !== undefined)
    return {
      message: `${cannotStart}. Set a smaller \`kvCacheMemoryBytes\`, or serve a smaller model.`,
    };
  const { text: more, value } = moreShare(share, utilization);
  return { message: `${cannotStart}. ${more}`, setting: "gpuMemoryUtilization", value };
}

/** What is wrong where one window doesn't fit into the cache. */
function noRoom(asked: Asked, share: LargestShare, totalGiB: number): Fault {
  const { utilization, kvCacheGiB, window } = asked;
  const { outsideGiB = 0, windowGiB = 0, longestWindow = 0 } = share.needs;
  const budget = utilization * totalGiB;
  const { text: more, value: least } = moreShare(share, utilization);
  const fits = Math.min(share.bySum, share.byAggregate);
  const larger = adviseCache(share.needs, { totalGiB, budgetGiB: budget, fits });
  const cache = larger === undefined ? "" : ` Set \`kvCacheMemoryBytes: ${larger}\` or more.`;
  const room =
    kvCacheGiB === undefined
      ? `${givenText(utilization, totalGiB)}, which leaves at most ${Math.max(0, budget - outsideGiB).toFixed(2)} GiB for the cache. ${more}`
      : `--kv-cache-memory-bytes gives it ${kvCacheGiB.toFixed(2)} GiB.${cache}`;
  const without = cache === "" && kvCacheGiB !== undefined ? "" : " without that change";
  const shorter =
    longestWindow > 0 ? ` A \`maxModelLen\` of at most ${longestWindow} fits${without}.` : "";
  return {
    message: `one request of ${thousands(window)} tokens needs ${windowGiB.toFixed(2)} GiB of KV cache, but ${room}${shorter}`,
    ...(kvCacheGiB === undefined
      ? { setting: "gpuMemoryUtilization", value: least }
      : larger === undefined && longestWindow > 0
        ? { setting: "maxModelLen", value: longestWindow }
        : { setting: "kvCacheMemoryBytes", value: larger }),
  };
}

const givenText = (utilization: number, totalGiB: number): string =>
  `--gpu-memory-utilization ${utilizationText(utilization)} gives it ${(utilization * totalGiB).toFixed(2)} of ${totalGiB} GiB`;

/** A larger share, where one that suffices is left. */
function moreShare(
  share: LargestShare,
  now: number,
): { readonly text: string; readonly value?: number } {
  const { leastUtilization = 1 } = share.needs;
  const needs = { ...share.needs, leastUtilization };
  const { value, least, most, fits, warns } = adviseShare({ ...share, needs }, now);
  if (value === 0)
    return {
      text: `It needs ${shareToStart(needs)}, but at most ${Math.max(0, fits)} is left for it on this machine: lower another server, or serve a smaller model (\`serving models\` lists what fits).`,
    };
  const set = `Set \`gpuMemoryUtilization: ${value}\``;
  if (warns === "floor")
    return {
      text: `${set} (at most ${fits} fits). No share with which it starts leaves the memory floor (\`memoryFloorGiB\`), so the plan warns.`,
      value,
    };
  const floor = most < fits ? " and leaves the memory floor" : "";
  const text =
    value > least
      ? `${set} to be sure that it starts: it needs at least ${least}, and at most ${most} fits${floor}.`
      : `${set} or more (at most ${most} fits${floor}).`;
  return { text, value };
}
