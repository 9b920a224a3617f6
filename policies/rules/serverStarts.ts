import { defined } from "@local-serving/base/faults/defined";
import { capital } from "@local-serving/base/faults/quoting";
import { thousands } from "@local-serving/base/units/thousands";
import { demandOf, numberIn } from "@local-serving/vllm/argv/memoryDemand";
import { figure, isText, knownMaps, text } from "@local-serving/vllm/argv/unknown";
import { utilizationText } from "@local-serving/vllm/utilization";
import { adviseCache, adviseShare } from "../../components/memory";
import { unweighedText } from "../../components/memory/model-name";
import { TYPE } from "../../components/planned";
import {
  type Asked,
  batchFaults,
  isTooLong,
  leastGiB,
  startFault,
} from "../../components/program/machine";
import { shareToStart, warnedText } from "../lib/advisedShare";
import { serverName } from "../lib/block";
import type { DeclaredResource } from "../lib/container";
import { declaredServers } from "../lib/inferenceServer";
import { type LargestShare, largestShares } from "../lib/largestShares";
import { IF_MISLED, tooLarge, tooLargeByName } from "../lib/namedWeights";
import { advice, type Finding, type Rule, violation } from "./rule";

const SET_IT =
  "Set `model.residentGiB`; `model.weightsGB` is enough without options such as `--hf-overrides` or `--quantization`.";

/**
 * Why it can't or may not start, and the setting whose value mends that; no value where none does. An
 * operator may know better than a fault of memory.
 */
type Fault = {
  readonly message: string;
  readonly ofMemory?: true;
  /** What it is of the server, where that isn't "can't start". */
  readonly verdict?: "can't start" | "may not start" | "doesn't fit";
} & (
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
      const who = serverName(machine, name);
      return batchFaults(args).map(({ message, setting, value }) =>
        violation(machine, `${who} can't start: ${message}`, { server: name, setting, value }),
      );
    });
    const byMemory = servers.flatMap((server) => {
      const share = shares.find(({ name }) => name === text(server.name));
      const asked = askedBy(server);
      if (share === undefined || asked === undefined) return [];
      const who = serverName(machine, share.name);
      if (share.needs.unweighed === true)
        return [
          advice(
            machine,
            `Whether ${who} can start isn't judged. ${capital(unweighedText(asked.model))}`,
          ),
        ];
      if (share.needs.outsideGiB === undefined) {
        // By the plan of its cache it starts even with all of its files.
        if (share.needs.atMost === true) return [];
        const what = `Whether ${who} can start isn't judged. What its weights take once loaded is not known.`;
        return [advice(machine, `${what} ${SET_IT}`)];
      }
      return faults(asked, share, totalGiB).map((fault) => told(machine, share, fault));
    });
    return [...byBatch, ...byMemory];
  },
  judgeMachine: (group) =>
    tooLargeByName(group).map(({ container, message }) => violation(container, message)),
};

/** A fault as a refusal; as a warning where it is a doubt, or where the operator applies it all the same. */
function told(
  machine: DeclaredResource,
  { name, needs: { startAnyway } }: LargestShare,
  { message, setting, value, ofMemory, verdict = "can't start" }: Fault,
): Finding {
  const said = `${serverName(machine, name)} ${verdict}: ${message}`;
  const change = setting === undefined ? undefined : defined({ server: name, setting, value });
  if (verdict === "may not start") return advice(machine, said, change);
  if (startAnyway === undefined)
    return violation(machine, said, value === undefined ? undefined : change);
  return ofMemory
    ? advice(
        machine,
        `${said} It is applied all the same: \`startAnyway\` says "${startAnyway}".`,
        change,
      )
    : violation(
        machine,
        `${said} \`startAnyway\` has no effect on that.`,
        value === undefined ? undefined : change,
      );
}

function askedBy(
  server: Readonly<Record<string, unknown>>,
): (Asked & { readonly model: string }) | undefined {
  const [args] = declaredServers(server);
  const demand = args && demandOf(args, { adaptersCounted: true });
  if (args === undefined || !demand?.known) return undefined;
  const model = isText(args.model) ? args.model : "its model";
  return { ...demand.memory, window: numberIn(args, "max-model-len"), model };
}

function faults(asked: Asked, share: LargestShare, totalGiB: number): Fault[] {
  const { modelWindow = 0 } = share.needs;
  const ofMemory = memoryFault(asked, share, totalGiB);
  const found: Fault[] = ofMemory === undefined ? [] : [ofMemory];
  const { window } = asked;
  if (!isTooLong(asked, share.needs)) return found;
  // One window that mends both.
  const fitting = ofMemory?.setting === "maxModelLen" ? ofMemory.value : undefined;
  const value = Math.min(modelWindow, fitting ?? modelWindow);
  const message = `its window of ${window} is above the model's own, ${modelWindow}. Set \`maxModelLen: ${value}\` or less: vLLM refuses more. If the model's card stretches its window (YaRN), write that as \`--hf-overrides\` in \`extraArgs\`; \`environment: { VLLM_ALLOW_LONG_MAX_MODEL_LEN: "1" }\` lifts the check alone, and its config.json says nothing of longer prompts.`;
  return [...found, { message, setting: "maxModelLen", value }];
}

/** Why its memory doesn't suffice even in the best case, or, by its name, leaves no window. */
function memoryFault(asked: Asked, share: LargestShare, totalGiB: number): Fault | undefined {
  const { utilization, kvCacheGiB } = asked;
  const { weightsGiB = 0, byName, cannotStart = "" } = share.needs;
  const budget = utilization * totalGiB;
  const shareFault = (why: string, behind: string): Fault => {
    const { text: more, value } = moreShare(share, utilization);
    const message = [`${why}. ${more}`, behind].filter(Boolean).join(" ");
    return { message, setting: "gpuMemoryUtilization", value, ofMemory: true };
  };
  const misled = byName === undefined ? "" : IF_MISLED;
  const open = byName === undefined ? "" : `${NO_WINDOW_KNOWN} ${IF_MISLED}`;
  switch (startFault(asked, share.needs, totalGiB)) {
    case "machine":
      return {
        message: `${tooLarge(weightsGiB, byName ?? "", totalGiB)} ${misled}`,
        verdict: "doesn't fit",
      };
    case "share": {
      const [least, source] = byName === undefined ? ["", ""] : ["at least ", ` (${byName})`];
      const why = `its weights take ${least}${weightsGiB.toFixed(2)} GiB${source}, and its share is ${budget.toFixed(2)}`;
      return shareFault(why, open);
    }
    case "window":
      return { ...noRoom(asked, share, totalGiB), ofMemory: true };
    case "seen":
      if (kvCacheGiB === undefined)
        return shareFault(
          `its share of ${budget.toFixed(2)} GiB is too small`,
          `${capital(cannotStart)}.`,
        );
      return {
        message: `its memory is too small. Set a smaller \`kvCacheMemoryBytes\`, or serve a smaller model. ${capital(cannotStart)}.`,
        ofMemory: true,
      };
    case "cramped": {
      const beside = (leastGiB(share.needs) + (kvCacheGiB ?? 0) - weightsGiB).toFixed(2);
      const why = `its weights take at least ${weightsGiB.toFixed(2)} of ${budget.toFixed(2)} GiB, and vLLM ${beside} beside them: no window is left (${byName})`;
      const smaller = { message: `${why}. Set a smaller \`kvCacheMemoryBytes\`. ${IF_MISLED}` };
      return {
        ...(kvCacheGiB === undefined ? shareFault(why, open) : smaller),
        verdict: "may not start",
      };
    }
    default:
      return undefined;
  }
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
      ? `at most ${Math.max(0, budget - outsideGiB).toFixed(2)} is left. ${more}`
      : `it has ${kvCacheGiB.toFixed(2)}.${cache}`;
  const without = cache === "" && kvCacheGiB !== undefined ? "" : " without that change";
  const shorter =
    longestWindow > 0 ? ` A \`maxModelLen\` of at most ${longestWindow} fits${without}.` : "";
  const given = kvCacheGiB === undefined ? ` ${givenText(utilization, totalGiB)}.` : "";
  const asks = ` That is one request of ${thousands(window)} tokens.${given}`;
  return {
    message: `its window needs ${windowGiB.toFixed(2)} GiB of KV cache, ${room}${shorter}${asks}`,
    ...(kvCacheGiB === undefined
      ? { setting: "gpuMemoryUtilization", value: least }
      : larger === undefined && longestWindow > 0
        ? { setting: "maxModelLen", value: longestWindow }
        : { setting: "kvCacheMemoryBytes", value: larger }),
  };
}

const givenText = (utilization: number, totalGiB: number): string =>
  `Its share of ${utilizationText(utilization)} is ${(utilization * totalGiB).toFixed(2)} of ${totalGiB} GiB`;

const NO_WINDOW_KNOWN =
  "What its window takes beyond the first block isn't known: there is no config.json.";

/** A larger share, where one that suffices is left. */
function moreShare(
  share: LargestShare,
  now: number,
): { readonly text: string; readonly value?: number } {
  const { leastUtilization = 1 } = share.needs;
  const needs = { ...share.needs, leastUtilization };
  const advised = adviseShare({ ...share, needs }, now);
  const { value, fits } = advised;
  if (value === 0)
    return {
      text: `It needs ${shareToStart(needs)}, but at most ${Math.max(0, fits)} is left for it on this machine: lower another server, or serve a smaller model (\`serving models\` lists what fits).`,
    };
  return { text: `Set \`gpuMemoryUtilization: ${value}\`.${warnedText(advised)}`, value };
}
