import { isHere } from "@local-serving/machines/address";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import { isPooling, neededBy } from "../../components/planned";
import { answersOk, oneToken } from "./api";
import { originFromHere, tunnelTo } from "./tunnel";

/** A first answer may compile kernels. */
const TOKEN_SECONDS = 120;

/**
 * Whether a server is ready; "unknown" where it can't be asked from here. Of one with several
 * containers /health proves nothing: it is ready once these have made a token together.
 */
export async function isReady(
  machine: MachinePlan,
  server: InferenceServerPlan,
  { health }: ContainerState,
): Promise<boolean | "unknown"> {
  const { model, reach, servedModelName } = server;
  // No way leads to the link from here but the machine's own.
  const elsewhere = reach.onLink === true && !isHere(machine);
  if (elsewhere && health !== "healthy") return false;
  const tunnel = elsewhere ? await tunnelTo({ ...machine, reach: [reach] }) : undefined;
  try {
    const { url } = originFromHere(machine, reach, tunnel);
    if (url === undefined) return "unknown";
    const healthy = await answersOk(`${url}/health`);
    if (!healthy || neededBy(server).length === 0 || isPooling(model.kind)) return healthy;
    const body = oneToken(servedModelName);
    return await answersOk(`${url}/v1/completions`, { timeoutSeconds: TOKEN_SECONDS, body });
  } finally {
    tunnel?.close();
  }
}
