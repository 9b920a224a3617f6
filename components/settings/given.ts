import { errorAt, type Fault, FaultyInput, orInputFault } from "@local-serving/base/faults/fault";
import { crossFaults } from "./crossFaults";
import { parseSettings } from "./load";
import { givenPath, rememberGiven } from "./places";
import { saidInProgram } from "./saidInProgram";
import type { StackSettings } from "./stackSettings";

/** Machines that another component of the same program declares. */
export interface GivenElsewhere {
  /** Name of the component. */
  readonly name: string;
  readonly settings: StackSettings;
}

/**
 * Parses the machines that a program gives in the place of a stack file; `source` is their name in
 * messages. Throws `FaultyInput` with every fault, also of what can't be beside machines that the
 * program declares elsewhere.
 */
export function parseGiven(
  source: string,
  machines: unknown,
  elsewhere: readonly GivenElsewhere[] = [],
): StackSettings {
  const settings = orInputFault(() => parseSettings(source, { machines }));
  if (settings instanceof FaultyInput) throw new FaultyInput(source, settings.faults.map(asGiven));
  if (settings instanceof Error) throw settings;
  const faults = [...repeatedMachines(settings, elsewhere), ...betweenThem(settings, elsewhere)];
  if (faults.length > 0) throw new FaultyInput(source, faults);
  rememberGiven(settings, source);
  return settings;
}

const asGiven = (fault: Fault): Fault => ({
  ...fault,
  path: givenPath(fault.path.split(".")),
  message: saidInProgram([fault.message]).join(" "),
});

/** A machine's name is that of its folder on it, and of its resources. */
function repeatedMachines(
  { machines }: StackSettings,
  elsewhere: readonly GivenElsewhere[],
): Fault[] {
  return elsewhere.flatMap(({ name, settings }) =>
    Object.keys(machines)
      .filter((machine) => machine in settings.machines)
      .map((machine) =>
        errorAt(
          givenPath(["machines", machine]),
          "repeated_machine",
          `LocalServing \`${name}\` in this program also declares a machine \`${machine}\`: rename one of them.`,
        ),
      ),
  );
}

/** What is wrong only because of the machines that are declared elsewhere. */
function betweenThem(settings: StackSettings, elsewhere: readonly GivenElsewhere[]): Fault[] {
  if (elsewhere.length === 0) return [];
  const others = Object.assign({}, ...elsewhere.map((each) => each.settings.machines));
  const own = new Set(Object.keys(settings.machines));
  const alone = new Set(crossFaults(settings).map(({ path }) => path));
  return crossFaults({ machines: { ...others, ...settings.machines } })
    .filter(({ path }) => own.has(path.split(".")[1] ?? "") && !alone.has(path))
    .map(asGiven);
}
