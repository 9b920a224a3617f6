import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { attempt } from "@local-serving/base/faults/defined";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { keptText } from "@local-serving/base/faults/textFile";
import { contentHash } from "@local-serving/machines/shell";
import * as z from "zod";
import type { PlannedContainer } from "../../components/planned";
import { stateFile } from "./lastVerify";

/** How long the last start of a container took, in seconds, where one was measured as it is planned. */
export type KeptStart = (container: PlannedContainer) => number | undefined;

const ABOUT = "How long `serving start` last took for each server; `serving plan` shows it.";

const startSchema = z.object({
  mark: z.string(),
  seconds: z.number().nonnegative(),
  at: z.string(),
});

const fileOf = (stackFile: string, machine: string, env: NodeJS.ProcessEnv) =>
  stateFile(stackFile, env, (stack) => `starts-${machine}-${stack}.json`);

/** A fingerprint of what decides how long a container's start takes. */
const markOf = ({ image, command, env }: PlannedContainer): string =>
  contentHash(JSON.stringify([image, command, env]));

function readStarts(file: string | undefined): Record<string, unknown> {
  const text = file === undefined ? undefined : keptText(file);
  return objectOr(objectOr(jsonIn(text ?? "")).starts);
}

/** Looks up starts that were measured on a machine. */
export function keptStarts(stackFile: string, machine: string, env = process.env): KeptStart {
  let starts: Record<string, unknown> | undefined;
  return (container) => {
    starts ??= readStarts(fileOf(stackFile, machine, env));
    const kept = startSchema.safeParse(starts[container.name]).data;
    return kept?.mark === markOf(container) ? kept.seconds : undefined;
  };
}

/** Keeps how long a start took. Failing to keep it is not an error. */
export function keepStart(
  stackFile: string,
  machine: string,
  { container, seconds }: { readonly container: PlannedContainer; readonly seconds: number },
  env = process.env,
): void {
  const file = fileOf(stackFile, machine, env);
  if (file === undefined) return;
  const start = { mark: markOf(container), seconds, at: new Date().toISOString() };
  const starts = { ...readStarts(file), [container.name]: start };
  attempt(() => replaceFile(file, `${JSON.stringify({ about: ABOUT, starts }, null, 2)}\n`));
}
