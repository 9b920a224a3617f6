import { hundredths } from "@local-serving/base/units/memory";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { takenBy } from "../../components/memory";
import { machine } from "../../components/settings";
import type { HostFacts } from "../sees/computer/facts";

/** More than this is no operating system: something runs that was not found. */
export const UNEXPLAINED_GIB = 25;

/** Something that holds GPU memory and is neither a vLLM nor ours to manage. */
export interface GpuTaker {
  readonly name: string;
  readonly gib: number;
}

/** What a person or the list of an answer leaves out. */
interface Answers {
  readonly uncounted?: readonly string[];
}

/** Memory of the models that an Ollama has loaded. */
const loadedBy = ({ ollama }: HostFacts): number =>
  (ollama?.models ?? []).reduce((sum, { loadedGiB = 0 }) => sum + loadedGiB, 0);

/**
 * What takes memory beside the servers, Ollama's unit and what is ours: an Ollama without a unit by
 * its loaded models, and whatever holds memory of a GPU that shares the machine's.
 */
export function gpuTakers(facts: HostFacts, { uncounted = [] }: Answers): GpuTaker[] {
  const { ollama, device, gpuUsers = [] } = facts;
  const loaded = ollama === undefined || ollama.unit ? 0 : hundredths(loadedBy(facts));
  const own = loaded === 0 ? [] : [{ name: `Ollama${inWhat(ollama?.runsIn)}`, gib: loaded }];
  const shared = whyNoServer(device) === undefined ? gpuUsers : [];
  return [...own, ...shared].filter(({ name }) => !uncounted.includes(name));
}

const inWhat = (runsIn: string | undefined) => (runsIn === undefined ? "" : ` in ${runsIn}`);

/**
 * Memory that neither a server, a loaded model nor anything else that was found explains;
 * `undefined` where that can't be told.
 */
export function systemGiB(facts: HostFacts, answers: Answers): number | undefined {
  const { memory, docker, servers, ollama, device } = facts;
  const { totalGiB, availableGiB } = memory;
  const counted = whyNoServer(device) === undefined ? servers : [];
  const theirs = counted.reduce(
    (sum, { share = 1 }) => sum + takenBy({ utilization: share }, totalGiB),
    0,
  );
  const managed = ollama?.unit === true ? loadedBy(facts) : 0;
  const others = gpuTakers(facts, answers).reduce((sum, { gib }) => sum + gib, 0);
  const left = hundredths(totalGiB - availableGiB - theirs - managed - others);
  const oursRun = docker.reachable && docker.ours.length > 0;
  return oursRun || left < machine.shape.operatingSystemGiB.parse(undefined) ? undefined : left;
}
