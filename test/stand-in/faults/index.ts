import type { IncomingMessage, ServerResponse } from "node:http";
import type { RouteTable } from "../exchange";
import { argumentFaults } from "./arguments";
import { chatFaults } from "./chat";
import { messagesFaults } from "./messages";
import { responsesFaults } from "./responses";
import { routeFaults } from "./routes";
import { transportFaults } from "./transport";

/**
 * Changes of what the model that is not there is given or counts; they are made where that is done.
 */
const ENGINE_FAULTS = [
  "truncation-2048",
  "no-window-rule",
  "zero-prefix-hits",
  "small-kv-cache",
] as const;

const ROUTE_FAULTS = { ...chatFaults, ...messagesFaults, ...responsesFaults, ...routeFaults };

type EngineFault = (typeof ENGINE_FAULTS)[number];
type ArgumentFault = keyof typeof argumentFaults;
type RouteFault = keyof typeof ROUTE_FAULTS;
/** Ways to fail below HTTP, and beside it. */
export type TransportFault = keyof typeof transportFaults;

export type FaultName = EngineFault | ArgumentFault | RouteFault | TransportFault;

export function faultyArguments(
  fault: FaultName | undefined,
  argv: readonly string[],
): readonly string[] {
  return fault !== undefined && fault in argumentFaults
    ? argumentFaults[fault as ArgumentFault](argv)
    : argv;
}

export function faultyRoutes(fault: FaultName | undefined, healthy: RouteTable): RouteTable {
  return fault !== undefined && fault in ROUTE_FAULTS
    ? ROUTE_FAULTS[fault as RouteFault](healthy)
    : {};
}

/** `true` when the fault has dealt with the request itself, in its own way. */
export function answersBadly(
  fault: FaultName | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (fault === undefined || !(fault in transportFaults)) return false;
  transportFaults[fault as TransportFault](request, response);
  return true;
}

export const TRANSPORT_FAULTS = Object.keys(transportFaults) as TransportFault[];
export const OTHER_FAULTS = [
  ...ENGINE_FAULTS,
  ...(Object.keys(argumentFaults) as ArgumentFault[]),
  ...(Object.keys(ROUTE_FAULTS) as RouteFault[]),
] as Exclude<FaultName, TransportFault>[];
