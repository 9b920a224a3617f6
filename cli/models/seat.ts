import { defined, ownValue } from "@local-serving/base/faults/defined";
import { type Recipe, readRecipe } from "../../components/catalogue";
import type { Evidence } from "../../components/planned";
import {
  type InferenceServerSettings,
  inferenceServer,
  type StackSettings,
} from "../../components/settings";
import { pinnedServer } from "../../components/supply";
import type { ImageReading } from "../pin/readImage";
import { recordOf } from "../pin/writePin";
import { LEAST_SERVER } from "./leastServer";
import type { ServerValue } from "./serverValues";

/** The tag of an image that nobody has chosen yet. */
export const UNCHOSEN_TAG = "TAG";

/** An image that a server would get with its model. */
export interface SeatImage {
  /** As the stack file would name it. */
  readonly image: string;
  /** What was read of it; without that no more is known than its name. */
  readonly reading?: ImageReading;
}

/** The server of a stack that a model would run in. */
export interface Seat {
  readonly settings: StackSettings;
  readonly machine: string;
  /** Key in `inferenceServers`; a new one takes its image from another server. */
  readonly server: string;
  /** Folder that holds `models/`. */
  readonly project: string;
  /** Variables that belong to the model that runs there now, and go with it. */
  readonly leaves: readonly string[];
  readonly drafts?: boolean;
  /** The image that the server gets with the model. Default: its own. */
  readonly image?: SeatImage;
  /** A model that no recipe tells of: what was read of it, and the values beside a recipe's. */
  readonly own?: {
    readonly evidence: NonNullable<Evidence["models"]>;
    readonly values: readonly ServerValue[];
  };
  /** The largest share that is free on the machine now. Default: what the plan leaves. */
  readonly free?: number;
}

/**
 * The seat of a model in a stack: what makes vectors or sorts gets a server of its own beside one
 * that chats, and the other way round.
 */
export function seatFor({ kind }: Pick<Recipe, "kind">, seat: Seat): Seat {
  const { inferenceServers } = machineOf(seat.settings, seat.machine);
  const kinds = Object.entries(inferenceServers).map(
    ([key, { model }]) => [key, model.kind] as const,
  );
  const isKept = kinds.every(([key, has]) => key !== seat.server || has === kind);
  const moved = { ...seat, server: kinds.find(([, has]) => has === kind)?.[0] ?? kind };
  return isKept ? seat : { ...moved, leaves: leavesOf(moved) };
}

/** The variables that a seat's present model has by its recipe. Throws as `readRecipe` does. */
export function leavesOf({ settings, machine, server, project }: Omit<Seat, "leaves">): string[] {
  const there = ownValue(machineOf(settings, machine).inferenceServers, server);
  const leaving = there && readRecipe(project, there.model.id);
  return Object.keys(leaving?.settings.environment ?? {});
}

/** The same seat on machines that run nothing else. */
export function aloneIn(seat: Seat): Seat {
  const own = { [seat.server]: currentServer(seat) };
  const machines = Object.entries(seat.settings.machines).flatMap(([name, machine]) => {
    const inferenceServers = name === seat.machine ? own : {};
    const isOf = name === seat.machine || machine.link !== undefined;
    return isOf
      ? [[name, { ...machine, instanceA: "none" as const, inferenceServers }] as const]
      : [];
  });
  return { ...seat, settings: { machines: Object.fromEntries(machines) } };
}

/** The server of a seat as the stack file has it; `undefined` for a new one. */
export const declaredServer = ({ settings, machine, server }: Seat) =>
  ownValue(machineOf(settings, machine).inferenceServers, server);

/**
 * The server in a seat, with the image that it gets; a new one has image and versions of another,
 * and the next port.
 */
export function currentServer(seat: Seat): InferenceServerSettings {
  const server = declaredServer(seat) ?? newServer(seat);
  if (seat.image === undefined) return server;
  const { image, reading } = seat.image;
  const { versions: _, ...rest } = server;
  const versions = reading && defined(recordOf(reading));
  return inferenceServer.parse({ ...rest, image, ...defined({ versions }) });
}

function newServer({ settings, machine }: Seat): InferenceServerSettings {
  const { inferenceServers } = machineOf(settings, machine);
  const [other] = Object.values(inferenceServers);
  if (other === undefined) return inferenceServer.parse({ ...LEAST_SERVER, ...pinnedServer() });
  const ports = Object.values(inferenceServers).map(({ port }) => port);
  const { image, versions, model, servedModelName, gpuMemoryUtilization, maxModelLen } = other;
  const placeholder = { model, servedModelName, gpuMemoryUtilization, maxModelLen };
  return inferenceServer.parse({ ...placeholder, image, versions, port: Math.max(...ports) + 1 });
}

/** A machine of a stack. */
export function machineOf({ machines }: StackSettings, name: string) {
  const machine = ownValue(machines, name);
  if (machine === undefined) throw new Error(`There is no machine ${name}.`);
  return machine;
}
