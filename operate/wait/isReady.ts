import type { ContainerState } from "../../components/docker/containers";
import type { InferenceServerPlan } from "../../components/inference-server/plannedServer";
import type { MachinePlan } from "../../components/plan/types";
import { isPooling } from "../../components/planned/modelKind";
import { isHere } from "../../components/planned/reach";
import { ask } from "../../http/ask";
import { originFromHere, tunnelTo } from "../verify/reach";
import { oneToken } from "../verify/tools";

const HEALTH_SECONDS = 5;

/** A first answer may compile kernels. */
const TOKEN_SECONDS = 120;

/**
 * Whether a server is ready; "unknown" where it can't be asked from here. Of one over several machines /health proves nothing:
 * it is ready once its ranks have made a token together.
 */
export async function isReady(
  machine: MachinePlan,
  { model, rank, reach, servedModelName }: InferenceServerPlan,
  { health }: ContainerState,
): Promise<boolean | "unknown"> {
  const answers = (url: string, timeoutSeconds: number, body?: unknown) =>
    ask(url, { timeoutSeconds, body }).then(
      ({ status }) => status === 200,
      () => false,
    );
  if (rank === undefined) {
    const { url } = originFromHere(machine, reach);
    return url === undefined ? "unknown" : answers(`${url}/health`, HEALTH_SECONDS);
  }
  // No way leads to the link from here but the machine's own.
  if (!isHere(machine) && health !== "healthy") return false;
  const tunnel = await tunnelTo({ ...machine, reach: [reach] });
  try {
    const { url } = originFromHere(machine, reach, tunnel);
    if (url === undefined) return "unknown";
    if (!(await answers(`${url}/health`, HEALTH_SECONDS))) return false;
    if (isPooling(model.kind)) return true;
    return await answers(`${url}/v1/completions`, TOKEN_SECONDS, oneToken(servedModelName));
  } finally {
    tunnel.close();
  }
}
