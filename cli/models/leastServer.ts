import { FaultyInput, orInputFault } from "@local-serving/base/faults/fault";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { inferenceServer, NAMESPACE, parseStackFile } from "../../components/settings";

/** A server's block with what it must have, for values that are tried or not known yet. */
export const LEAST_SERVER = {
  model: { id: "org/model" },
  servedModelName: "model",
  image: "vllm/vllm-openai",
  gpuMemoryUtilization: 0.1,
  maxModelLen: 1024,
};

/** A server's setting by its default; `undefined` without one. */
export const usualOf = (setting: string): unknown =>
  valueAt(inferenceServer.parse(LEAST_SERVER), setting.split("."));

/** Whether a stack file may have such values of a server. */
export const fitsServer = (values: Readonly<Record<string, unknown>>): boolean =>
  serverFault(values) === undefined;

/** Why a stack file may not have such values of a server; `undefined` where it may. */
export function serverFault(values: Readonly<Record<string, unknown>>): string | undefined {
  const inferenceServers = { b: { ...LEAST_SERVER, ...values } };
  const machines = { spark: { totalGiB: 128, instanceA: "none", inferenceServers } };
  const text = JSON.stringify({ config: { [`${NAMESPACE}:machines`]: machines } });
  const read = orInputFault(() => parseStackFile("a command", text));
  if (!(read instanceof Error)) return undefined;
  return read instanceof FaultyInput ? read.faults[0]?.message : read.message;
}
