import { isRecord } from "@local-serving/base/faults/json";
import { getProject, getStack, runtime } from "@pulumi/pulumi";
import type { GivenElsewhere, StackSettings } from "../settings";

/** A component of a program; it has no settings where they are faulty. */
interface Declaring {
  readonly name: string;
  readonly settings: Promise<StackSettings | undefined>;
}

/** What each run of a program declares: one process may run several, or serve several. */
const programs = new Map<unknown, Declaring[]>();

/** The components that the program in force has made so far, to which its next one is added. */
export function componentsOfProgram(): Declaring[] {
  const run = runOfProgram();
  const components = programs.get(run) ?? [];
  programs.set(run, components);
  return components;
}

/** The engine listens at an address of its own for each run; under mocks there is none. */
function runOfProgram(): unknown {
  const monitor = runtime.getMonitor();
  if (!isConnected(monitor)) return monitor;
  return [runtime.isDryRun(), getProject(), getStack(), monitor.getChannel().getTarget()].join(" ");
}

/** The SDK's client of the engine, whose types don't say that it has a channel. */
interface Connected {
  getChannel(): { getTarget(): string };
}

const isConnected = (monitor: unknown): monitor is Connected =>
  isRecord(monitor) && typeof monitor.getChannel === "function";

/** The settings of those components that have sound ones. */
export async function declaredBy(components: readonly Declaring[]): Promise<GivenElsewhere[]> {
  const all = components.map(async ({ name, settings }) => ({ name, settings: await settings }));
  return (await Promise.all(all)).flatMap(({ name, settings }) =>
    settings === undefined ? [] : [{ name, settings }],
  );
}
