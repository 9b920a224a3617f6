import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { stackSettings } from "../../components/settings/stackSettings";
import { machineOf } from "../cli/verify/environment";
import { serverInput } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";

/**
 * A machine whose bridge serves one name by a server of its own and by one of another machine, at
 * these ports.
 */
export function twoMachines(
  [own, other]: readonly [own: number, other: number],
  bridge: number,
): MachinePlan {
  const on = (port: number) => ({ b: serverInput({ port, listen: "0.0.0.0" }) });
  const dgx = { totalGiB: 121.63, instanceA: "none" };
  const settings = stackSettings.parse({
    machines: {
      dgx: {
        ...dgx,
        inferenceServers: on(own),
        bridge: { ...BRIDGE, port: bridge, servers: ["b", "dgx2.b"] },
      },
      dgx2: { ...dgx, dockerHost: "ssh://me@dgx2.local", inferenceServers: on(other) },
    },
  });
  return machineOf(plan(settings, { home: "/home/me" }));
}

/** A call of Claude Code through that bridge; `session` is a number of its own. */
export function callInSession(
  url: string,
  session: number,
  body: Readonly<Record<string, unknown>>,
) {
  const id = `00000000-0000-4000-8000-${String(session).padStart(12, "0")}`;
  return fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer local-serving-placeholder",
    },
    body: JSON.stringify({
      max_tokens: 32,
      metadata: { user_id: `user_${"0".repeat(64)}_account__session_${id}` },
      ...body,
    }),
  });
}
