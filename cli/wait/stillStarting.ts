import { Failed } from "@local-serving/base/faults/fault";
import type { MachinePlan } from "../../components/plan";
import { hostOf } from "../sees/host";

/** Names of the services whose containers run, and which Docker doesn't call healthy yet. */
export async function stillStarting(machines: readonly MachinePlan[]): Promise<string[]> {
  const names = await Promise.all(machines.map(startingOn));
  return [...new Set(names.flat())];
}

async function startingOn({ dockerHost, services }: MachinePlan): Promise<string[]> {
  const own = services.filter((each) => each.own);
  if (own.length === 0) return [];
  const states = await hostOf(dockerHost)
    .containers()
    .catch((error: unknown) => {
      if (error instanceof Failed) return [];
      throw error;
    });
  const starting = states.filter(
    ({ status, health }) => status === "running" && health === "starting",
  );
  return own
    .filter(({ container }) => starting.some((each) => each.name === container))
    .map(({ name }) => name);
}

/** The same as a sentence for a person. */
export const stillStartingText = (names: readonly string[]): string =>
  `${names.join(" and ")} ${names.length === 1 ? "is" : "are"} still starting: \`serving status\` shows when ${names.length === 1 ? "it is" : "they are"} ready.`;
