import { gb } from "@local-serving/base/units/memory";
import { readRecipe } from "../../components/catalogue";
import type { MachinePlan } from "../../components/plan";
import {
  explained,
  isCertain,
  type Needs,
  readNeeds,
  roomDoubt,
  roomProblem,
  whyNot,
} from "../../components/preflight/fetch";
import type { MachineSettings } from "../../components/settings";
import { projectOrProgram } from "../stack/stackFile";
import type { ToFetch } from "./progress";

/** What a machine lacks of its plan. Sizes that the hub doesn't say are those of the stack file. */
export function needsOf(machine: MachinePlan, settings: MachineSettings): Promise<Needs> {
  return readNeeds(machine, { knownGB: knownSizes(settings) });
}

/** Sizes of models in GB as the stack file or the catalogue tells them. */
export function knownSizes({ inferenceServers }: MachineSettings) {
  const models = Object.values(inferenceServers).map(({ model }) => model);
  return (id: string): number | undefined =>
    models.find((model) => model.id === id)?.weightsGB ??
    readRecipe(projectOrProgram(), id)?.weights.diskGB;
}

/** Everything that is missing. */
export const missingOf = ({ images, models, program }: Needs): ToFetch[] => [
  ...images,
  ...models,
  ...(program === undefined ? [] : [program]),
];

/** Why it is no use to begin. */
export function whyNotFetched(needs: Needs, again?: string): string[] {
  return [
    ...missingOf(needs).map((each) =>
      isCertain(each.problem ?? "") ? explained(each, each.problem ?? "", again) : undefined,
    ),
    roomProblem(needs),
  ].filter((problem) => problem !== undefined);
}

/** What is missing and how much room it needs, for people. */
export function needsText(needs: Needs): string[] {
  const doubt = roomProblem(needs) === undefined ? roomDoubt(needs) : undefined;
  return [
    "Missing:",
    ...missingOf(needs).map((each) => {
      const { kind, name, bytes, problem = "its address doesn't say" } = each;
      const size = bytes === undefined ? `(size not known: ${whyNot(each, problem)})` : gb(bytes);
      return `  ${kind} ${name}  ${size}`;
    }),
    ...needs.disks.map(diskText),
    ...(doubt === undefined ? [] : [`May not fit: ${doubt}`]),
  ];
}

function diskText({
  paths,
  freeBytes,
  neededBytes,
  estimatedBytes,
}: Needs["disks"][number]): string {
  const also =
    estimatedBytes === undefined
      ? ""
      : ` and about ${gb(estimatedBytes)} for images of unknown size`;
  return `${paths.join(", ")}: needs ${gb(neededBytes)}${also}, has ${gb(freeBytes)} free`;
}

/** The same as JSON has it. */
export function needsResult({
  images,
  models,
  program,
  disks,
}: Pick<Needs, "images" | "models" | "program" | "disks">) {
  return {
    missing: {
      images: images.map(({ name: image, bytes = null }) => ({ image, bytes })),
      models: models.map(({ name: id, revision = null, bytes = null }) => ({
        id,
        revision,
        bytes,
      })),
      ...(program && { program: { name: program.name, bytes: program.bytes ?? null } }),
    },
    disks,
  };
}
