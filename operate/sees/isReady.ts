import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import { isPooling } from "../../components/planned";
import { isHere } from "../../machines/address";
import type { ContainerState } from "../../machines/docker/containers";
import { answersOk, oneToken } from "./api";
import { originFromHere, tunnelTo } from "./tunnel";

/** A first answer may compile kernels. */
const TOKEN_SECONDS = 120;

/**
 * Whether a server is ready; "unknown" where it can't be asked from here. Of one over several
 * machines /health proves nothing: it is ready once its ranks have made a token together.
 */
export async function isReady(
  machine: MachinePlan,
  { model, rank, reach, servedModelName }: InferenceServerPlan,
  { health }: ContainerState,
): Promise<boolean | "unknown"> {
  // No way leads to the link from here but the machine's own.
  const elsewhere = rank !== undefined && !isHere(machine);
  if (elsewhere && health !== "healthy") return false;
  const tunnel = elsewhere ? await tunnelTo({ ...machine, reach: [reach] }) : undefined;
  try {
    const { url } = originFromHere(machine, reach, tunnel);
    if (url === undefined) return "unknown";
    const healthy = await answersOk(`${url}/health`);
    if (!healthy || rank === undefined || isPooling(model.kind)) return healthy;
    const body = oneToken(servedModelName);
    return await answersOk(`${url}/v1/completions`, { timeoutSeconds: TOKEN_SECONDS, body });
  } finally {
    tunnel?.close();
  }
}
