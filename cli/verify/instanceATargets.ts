import { INSTANCE_A } from "../../components/planned/fields";
import { Api } from "../sees/api";
import { processStart } from "../sees/metrics";
import type { Tunnel } from "../sees/tunnel";
import type { InstanceAClientsTarget, InstanceATarget, Target, TargetOptions } from "./target";

/** Seconds for the look at instance A before a run. */
const LOOK_SECONDS = 2;

/**
 * Instance A: that it is left alone, and what it gives the coding clients that are pointed at it.
 * Without such a client it is asked for nothing, unless `--only` or its name says so.
 */
export async function instanceATargets(
  here: Pick<Target, "machine" | "host" | "unreachable">,
  { timeoutSeconds, only, about }: TargetOptions,
  tunnel?: Pick<Tunnel, "ports">,
): Promise<(InstanceATarget | InstanceAClientsTarget)[]> {
  const { machine, host, unreachable } = here;
  const { hostInstance: declared } = machine;
  if (declared === "none") return [];
  const { port, keyVariable } = declared;
  const url = `http://127.0.0.1:${tunnel?.ports.get(port) ?? port}`;
  const key = keyVariable === undefined ? "" : (host.env[keyVariable] ?? "");
  const headers = key === "" ? {} : { authorization: `Bearer ${key}` };
  // Looked at even if its probe was not asked for, since no probe may touch it. So the look is
  // short.
  const look = new Api(url, Math.min(LOOK_SECONDS, timeoutSeconds));
  const before = unreachable === undefined ? await processStart(host, look, port) : undefined;
  const common = {
    ...here,
    name: "instance A",
    api: new Api(url, timeoutSeconds, headers),
    ...(key === "" || keyVariable === undefined ? {} : { keyVariables: [keyVariable] }),
  };
  const clients = machine.clients.filter(
    ({ coding, serverKind }) => coding && serverKind === "instance-a",
  );
  const asked =
    clients.length > 0 ||
    only !== undefined ||
    about?.some(({ key }) => key === INSTANCE_A) === true;
  return [
    { ...common, kind: "instance-a", port, before },
    ...(asked ? [{ ...common, kind: "instance-a-clients" as const, declared, clients }] : []),
  ];
}
