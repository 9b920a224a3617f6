import { defined } from "@local-serving/base/faults/defined";
import { jsonIn } from "@local-serving/base/faults/json";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import * as z from "zod";
import type { Host } from "../host";
import type { SwapPlan } from "./llamaSwap";

/** What happened to a server, as the wrapper wrote it. */
const swapEvent = z.object({
  at: z.iso.datetime(),
  event: z.enum(["start", "ready", "failed", "refused", "letGo", "taken", "stopped", "orphan"]),
  server: z.string(),
  seconds: z.number().exactOptional(),
  reason: z.string().exactOptional(),
  /** Keys of the servers that were stopped for it. */
  stops: z.array(z.string()).exactOptional(),
});

export type SwapEvent = z.infer<typeof swapEvent>;

const failedFile = z.object({ container: z.string(), at: z.string(), sentence: z.string() });

/** A start that failed. Until `until` the server isn't tried again. */
export interface FailedStart {
  readonly at: string;
  readonly until: string;
  readonly sentence: string;
}

const MILLISECONDS_A_MINUTE = 60_000;

/** Path of the record of a server's failed start. */
export const failedPath = ({ folder }: SwapPlan, key: string): string =>
  `${folder}/state/failed/${key}.json`;

/** What the wrapper wrote of its swaps, the oldest first. */
export async function swapEvents(
  { folder }: SwapPlan,
  files: Pick<Host, "file">,
): Promise<SwapEvent[]> {
  const text = (await files.file(`${folder}/state/swaps.jsonl`))?.text ?? "";
  return text.split("\n").flatMap((line) => swapEvent.safeParse(jsonIn(line)).data ?? []);
}

/** The failed start of a server, where it still holds: for this very container, and not for long. */
export async function failedStart(
  planned: SwapPlan,
  key: string,
  { files, container }: { files: Pick<Host, "file">; container?: ContainerState | undefined },
): Promise<FailedStart | undefined> {
  const text = (await files.file(failedPath(planned, key)))?.text;
  const { data } = failedFile.safeParse(jsonIn(text ?? ""));
  const at = Date.parse(data?.at ?? "");
  if (data === undefined || Number.isNaN(at) || data.container !== container?.id) return undefined;
  const until = at + planned.retryAfterMinutes * MILLISECONDS_A_MINUTE;
  if (until <= Date.now()) return undefined;
  return { at: data.at, until: new Date(until).toISOString(), sentence: data.sentence };
}

/** Keys of the servers that llama-swap let go of, and that are stopped in a moment. */
export const letGo = ({ folder }: SwapPlan, files: Pick<Host, "names">) =>
  files.names(`${folder}/state/letgo`);

/** The key of llama-swap: the operator's own variable, else the file on the machine. */
export async function swapKey(
  { keyVariable, keyPath }: Pick<SwapPlan, "keyVariable" | "keyPath">,
  { env, file }: Pick<Host, "env" | "file">,
): Promise<string | undefined> {
  if (keyVariable === undefined) return undefined;
  const own = env[keyVariable];
  if (own) return own;
  return (keyPath && (await file(keyPath))?.text?.trim()) || undefined;
}

/** The unit of llama-swap, as systemd sees it. */
export interface SwapUnit {
  readonly active: string;
  readonly enabled: string;
  /** Whether it outlives a logout; `undefined` where logind doesn't say. */
  readonly linger?: boolean;
}

/** A user's systemd is asked by the folder of his runtime files, which ssh's shell may lack. */
const USER_SYSTEMD = `export XDG_RUNTIME_DIR="\${XDG_RUNTIME_DIR:-/run/user/$(id -u)}"`;

/** Asks the user's systemd of the unit; `undefined` where there is none that answers. */
export async function swapUnit(
  { unit }: Pick<SwapPlan, "unit">,
  { ask }: Pick<Host, "ask">,
): Promise<SwapUnit | undefined> {
  const script = `${USER_SYSTEMD}
systemctl --user show --property=ActiveState,UnitFileState -- "$1" && loginctl show-user --property=Linger -- "$(id -un)"; true`;
  const { out } = await ask(["sh", "-c", script, "sh", unit]);
  const property = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(out)?.[1];
  const active = property("ActiveState");
  if (active === undefined) return undefined;
  const linger = property("Linger");
  return {
    active,
    enabled: property("UnitFileState") || "not there",
    ...defined({ linger: linger === undefined ? undefined : linger === "yes" }),
  };
}
