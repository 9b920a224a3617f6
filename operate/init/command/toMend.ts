import { holdsSecret } from "../../../faults/secrets";
import type { ServerValue } from "../../models/serverValues";
import type { HostFacts } from "../../sees/computer/facts";
import type { Launch } from "./launch";

/** What to mend of a command's server before `up`, a sentence each. */
export const commandToMend = (
  model: string,
  values: readonly ServerValue[],
  launch: Launch,
  facts: HostFacts,
): string[] => [...ownFolder(model, launch), ...ownFiles(values, launch), ...running(model, facts)];

/** Says where a model is that only the command's own container has. */
function ownFolder(model: string, { container }: Launch): string[] {
  if (!/^[/.~]/.test(model)) return [];
  const where = container === undefined ? "of the machine" : "of the command's own container";
  return [
    `The model is the folder ${asPath(model)} ${where}, which no container of a server has: write its hub id as \`model.id\`, or put it into the model cache.`,
  ];
}

/** Says which values name a file that no container of a server has. */
function ownFiles(values: readonly ServerValue[], { container }: Launch): string[] {
  const folders = container?.folders ?? [];
  const isOwn = (word: string) =>
    container === undefined
      ? OF_MACHINE.test(word)
      : folders.some((folder) => word === folder || word.startsWith(`${folder}/`));
  const where =
    container === undefined
      ? "which is a path of the machine, and a server's container has only its model cache"
      : "which is in a volume of the command's own container alone";
  return values
    .filter(({ path }) => path[0] !== "model")
    .flatMap(({ path, value }) => {
      const words = [value].flat().filter((word) => typeof word === "string");
      return words
        .filter((word, index) => isOwn(word) && words[index - 1] !== "--root-path")
        .map(
          (word) =>
            `\`${path.join(".")}\` names ${word}, ${where}: take that argument out, or take an image that has the file.`,
        );
    });
}

/** A path of the machine that a command without a container runs on, also as `NAME=PATH`. */
const OF_MACHINE = /^(?:[\w-]+=)?(?:\.{1,2}|~)?\/./;

const asPath = (model: string) => (holdsSecret(model) ? "that it names" : model);

/** Says that this very server seems to run already. */
function running(model: string, { servers }: HostFacts): string[] {
  const same = servers.find((server) => server.model === model);
  if (same === undefined) return [];
  const where = same.runsIn === undefined ? "" : ` (${same.runsIn})`;
  return [
    `The vLLM on port ${same.port}${where} serves ${model} already. If that is this command, stop it before \`serving up\`, and write \`instanceA: none\`.`,
  ];
}
