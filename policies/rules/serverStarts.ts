import { TYPE } from "../../components/planned";
import { BYTES_PER_GIB } from "../../units/memory";
import { thousands } from "../../units/thousands";
import { demandOf, numberIn } from "../../vllm/argv/memoryDemand";
import { figure, isText, knownMaps, text } from "../../vllm/argv/unknown";
import { type MemoryDemand, utilizationText } from "../../vllm/utilization";
import { shareToStart } from "../lib/advisedShare";
import { batchFaults } from "../lib/batchFaults";
import { readDeclared } from "../lib/inferenceServer";
import { type LargestShare, largestShares } from "../lib/largestShares";
import { advice, type Rule, violation } from "./rule";

const SET_IT =
  "Set `model.residentGiB`; `model.weightsGB` is enough without options such as `--hf-overrides` or `--quantization`.";

/** What a server's arguments ask for. */
type Asked = MemoryDemand & { readonly window: number };

/** Why it can't start, and the setting whose value mends that; no value where none does. */
type Fault = {
  readonly message: string;
  readonly setting: string;
  readonly value: number | undefined;
};

/**
 * A server that can't start even in the best case costs half an hour and a loop of restarts to find
 * out.
 */
export const serverStarts: Rule = {
  name: "server-starts",
  description:
    "A server can start in the best case: its weights fit into its share, and one request that fills the context window fits into the rest. The window is not longer than the model's own, and a batch is as large as vLLM demands.",
  level: "mandatory",
  advises: true,
  of: TYPE.machine,
  judgeResource(machine) {
    const totalGiB = figure(machine.props.totalGiB);
    const shares = largestShares(machine);
    const servers = knownMaps(machine.props.servers);
    const byBatch = servers.flatMap((server) => {
      const [args] = argumentsOf(server);
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
      if (share.needs.outsideGiB === undefined) {
        const what = `Whether ${share.name} can start isn't judged: what its weights take once loaded is not known.`;
        return [advice(machine, `${what} ${SET_IT}`)];
      }
      return faults(asked, share, totalGiB).map(({ message, setting, value }) => {
        const change = value === undefined ? undefined : { server: share.name, setting, value };
        return violation(machine, `${share.name} can't start: ${message}`, change);
      });
    });
    return [...byBatch, ...byMemory];
  },
};

function argumentsOf(server: Readonly<Record<string, unknown>>) {
  const reading = readDeclared(server);
  return reading.kind === "yes" ? reading.servers : [];
}

function askedBy(server: Readonly<Record<string, unknown>>): Asked | undefined {
  const [args] = argumentsOf(server);
  const demand = args && demandOf(args, { adaptersCounted: true });
  if (args === undefined || !demand?.known) return undefined;
  return { ...demand.memory, window: numberIn(args, "max-model-len") };
}

function faults(
  { utilization, kvCacheGiB, window }: Asked,
  share: LargestShare,
  totalGiB: number,
): Fault[] {
  const {
    weightsGiB = 0,
    outsideGiB = 0,
    windowGiB = 0,
    longestWindow = 0,
    modelWindow,
  } = share.needs;
  const budget = utilization * totalGiB;
  const given = `--gpu-memory-utilization ${utilizationText(utilization)} gives it ${budget.toFixed(2)} of ${totalGiB} GiB`;
  const found: Fault[] = [];
  const { text: more, value: least } = moreShare(share);
  if (kvCacheGiB === undefined && weightsGiB > budget)
    found.push({
      message: `its weights take ${weightsGiB.toFixed(2)} GiB once loaded, but ${given}. ${more}`,
      setting: "gpuMemoryUtilization",
      value: least,
    });
  else if (windowGiB > (kvCacheGiB ?? budget - outsideGiB)) {
    const larger = largerCache(share, budget, totalGiB);
    const cache = larger === undefined ? "" : ` Set \`kvCacheMemoryBytes: ${larger}\` or more.`;
    const room =
      kvCacheGiB === undefined
        ? `${given}, which leaves at most ${Math.max(0, budget - outsideGiB).toFixed(2)} GiB for the cache. ${more}`
        : `--kv-cache-memory-bytes gives it ${kvCacheGiB.toFixed(2)} GiB.${cache}`;
    const without = cache === "" && kvCacheGiB !== undefined ? "" : " without that change";
    const shorter =
      longestWindow > 0 ? ` A \`maxModelLen\` of at most ${longestWindow} fits${without}.` : "";
    found.push({
      message: `one request of ${thousands(window)} tokens needs ${windowGiB.toFixed(2)} GiB of KV cache, but ${room}${shorter}`,
      ...(kvCacheGiB === undefined
        ? { setting: "gpuMemoryUtilization", value: least }
        : larger === undefined && longestWindow > 0
          ? { setting: "maxModelLen", value: longestWindow }
          : { setting: "kvCacheMemoryBytes", value: larger }),
    });
  }
  if (modelWindow !== undefined && window > modelWindow) {
    // One window that mends both.
    const fitting = found.find(({ setting }) => setting === "maxModelLen")?.value ?? modelWindow;
    const value = Math.min(modelWindow, fitting);
    found.push({
      message: `--max-model-len ${window} is longer than the model's own window of ${modelWindow}, which vLLM refuses. Set \`maxModelLen: ${value}\` or less; \`environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1" }\` lifts the check, but the model was not made for longer prompts.`,
      setting: "maxModelLen",
      value,
    });
  }
  return found;
}

/**
 * The bytes of a cache of fixed size that hold one window; `undefined` where the share, which has to
 * be larger than the cache, or the machine's memory leaves no room for them.
 */
function largerCache(
  { bySum, byAggregate, needs }: LargestShare,
  budgetGiB: number,
  totalGiB: number,
): number | undefined {
  const { leastCacheBytes, outsideGiB = 0 } = needs;
  if (leastCacheBytes === undefined) return undefined;
  const gib = leastCacheBytes / BYTES_PER_GIB;
  const fits = outsideGiB + gib <= Math.min(bySum, byAggregate) * totalGiB;
  return gib < budgetGiB && fits ? leastCacheBytes : undefined;
}

/** A larger share, where one that suffices is left. */
function moreShare({ bySum, byAggregate, keepingFloor, needs }: LargestShare): {
  readonly text: string;
  readonly value?: number;
} {
  const largest = Math.min(bySum, byAggregate);
  const { leastUtilization: least = 1, sureUtilization: sure = least } = needs;
  const most = Math.min(largest, keepingFloor ?? largest);
  const value = sure <= most ? Math.max(least, sure) : least;
  const floor = most < largest ? " and leaves the memory floor" : "";
  if (value > most && value <= largest)
    return {
      text: `Set \`gpuMemoryUtilization: ${value}\` (at most ${largest} fits). No share with which it starts leaves the memory floor (\`memoryFloorGiB\`), so the plan warns.`,
      value,
    };
  if (value > least)
    return {
      text: `Set \`gpuMemoryUtilization: ${value}\` to be sure that it starts: it needs at least ${least}, and at most ${most} fits${floor}.`,
      value,
    };
  return value <= largest
    ? {
        text: `Set \`gpuMemoryUtilization: ${value}\` or more (at most ${most} fits${floor}).`,
        value,
      }
    : {
        text: `It needs ${shareToStart({ ...needs, leastUtilization: least })}, but at most ${Math.max(0, largest)} is left for it on this machine: lower another server, or serve a smaller model (\`serving models\` lists what fits).`,
      };
}
