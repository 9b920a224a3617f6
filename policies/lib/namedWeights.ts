import { BYTES_PER_GIB, gb } from "@local-serving/base/units/memory";
import { DEVICES } from "@local-serving/machines/devices/devices";
import { gpusSharing } from "@local-serving/vllm/argv/gpusSharing";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { figure, isText, knownMaps, text } from "@local-serving/vllm/argv/unknown";
import { namedWeights, onEachGpu } from "../../components/memory/model-name";
import { nameOf } from "./block";
import { containerName, type DeclaredResource } from "./container";
import { serversIn } from "./inferenceServer";
import type { MachineGroup } from "./machines";

/** What to do where a name says more than the model has. */
export const IF_MISLED = "If the name misleads, write `model.weightsGB`.";

/** Why a model is too large for a machine whatever its share, by its name alone. */
export function tooLarge(gib: number, byName: string, totalGiB: number): string {
  const least = `${gb(gib * BYTES_PER_GIB)} at least`;
  return `by its name its weights take ${gib.toFixed(2)} of ${totalGiB} GiB. Serve a smaller model (\`serving models\` lists what fits), or one with fewer bits. That is ${byName}: ${least}.`;
}

/** Containers of other programs whose models are too large for their machine, by their names alone. */
export function tooLargeByName({ containers, component }: MachineGroup) {
  const ours = new Set(knownMaps(component?.props.servers).map(({ name }) => text(name)));
  const totalGiB = figure(component?.props.totalGiB) || LARGEST_GIB;
  return containers
    .filter((each) => !ours.has(containerName(each)))
    .flatMap((container) =>
      serversIn(container).flatMap((server) => findings(container, server, totalGiB)),
    );
}

/** The memory of the largest machine that is known: a larger model fits on none. */
const LARGEST_GIB = Math.max(
  ...DEVICES.flatMap(({ sizes = [] }) => sizes.map(({ toGiB }) => toGiB)),
);

function findings(container: DeclaredResource, server: ServerArguments, totalGiB: number) {
  const { model, options } = server;
  if (!isText(model) || options.has("hf-overrides")) return [];
  const named = namedWeights(model);
  if (named === undefined) return [];
  const [quantization] = options.get("quantization") ?? [];
  const { gib, source } = onEachGpu(named, { id: model, quantization, gpus: gpusSharing(server) });
  if (gib <= totalGiB) return [];
  const message = `${nameOf(container)} doesn't fit: ${tooLarge(gib, source, totalGiB)}`;
  return [{ container, message }];
}
