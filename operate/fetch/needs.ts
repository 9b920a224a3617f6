import { readRecipe } from "../../components/catalogue";
import { explained, isCertain, type Needs, readNeeds, roomProblem } from "../../components/fetch";
import type { MachinePlan } from "../../components/plan";
import type { MachineSettings } from "../../components/settings";
import { gb } from "../../units/memory";
import { projectOrProgram } from "../stack/stackFile";
import type { ToFetch } from "./progress";

/** What a machine lacks of its plan. Sizes that the hub doesn't say are those of the stack file. */
export function needsOf(machine: MachinePlan, settings: MachineSettings): Promise<Needs> {
  const servers = Object.values(settings.inferenceServers);
  const knownGB = (id: string) =>
    servers.find(({ model }) => model.id === id)?.model.weightsGB ??
    readRecipe(projectOrProgram(), id)?.weights.diskGB;
  return readNeeds(machine, { knownGB });
}

/** Everything that is missing. */
export const missingOf = ({ images, models, program }: Needs): ToFetch[] => [
  ...images,
  ...models,
  ...(program === undefined ? [] : [program]),
];

/** Why it is no use to begin. */
export function whyNotFetched(needs: Needs): string[] {
  return [
    ...missingOf(needs).map((each) =>
      isCertain(each.problem ?? "") ? explained(each, each.problem ?? "") : undefined,
    ),
    roomProblem(needs),
  ].filter((problem) => problem !== undefined);
}

/** What is missing and how much room it needs, for people. */
export function needsText(needs: Needs): string[] {
  return [
    "Missing:",
    ...missingOf(needs).map(
      ({ kind, name, bytes, problem = "its address doesn't say" }) =>
        `  ${kind} ${name}  ${bytes === undefined ? `(size not known: ${problem.trim().split("\n")[0]})` : gb(bytes)}`,
    ),
    ...needs.disks.map(
      ({ paths, freeBytes, neededBytes }) =>
        `${paths.join(", ")}: needs ${gb(neededBytes)}, has ${gb(freeBytes)} free`,
    ),
  ];
}
