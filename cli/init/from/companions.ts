import { SERVICES } from "../../../components/services";
import { engineNamed } from "../../../components/supply";
import { namesVllm } from "../command/containerStart";
import { containerFacts, readDockerRun } from "../command/dockerOptions";
import { expansions, type LeftOut, shellVariable } from "../command/words";
import type { FilePart, FoundService } from "./kind";

const serviceOf = (image: string) => {
  const repository = image.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
  return SERVICES.find((each) => each.image.repository.test(repository));
};

/**
 * Says of something that runs no vLLM what of a stack file takes its place; `runs` is its image, or
 * the words of its command.
 */
export function companion(what: string, ...runs: readonly string[]): LeftOut {
  const service = serviceOf(runs[0] ?? "");
  if (service !== undefined) return serviceLeftOut({ name: what, key: service.key });
  return { what, why: `it ${runsInstead(...runs)}` };
}

/**
 * What a program that is no vLLM's server runs, as a clause behind its name. `runs` has an image, or
 * the words that its command begins with.
 */
export function runsInstead(...runs: readonly string[]): string {
  const [engine] = runs.flatMap((each) => engineNamed(each) ?? []);
  if (engine !== undefined) return `runs ${engine.name}, not vLLM. ${engine.belongs}`;
  if (runs.some(namesVllm)) return BY_A_SCRIPT;
  return "runs no vLLM.";
}

const BY_A_SCRIPT =
  "is started by a program of its own, which isn't read here: give that script, or the `vllm serve` that it runs.";

/** Says of a program that a service of a stack file takes its place. */
export const serviceLeftOut = ({ name, key }: Pick<FoundService, "name" | "key">): LeftOut => ({
  what: name,
  why: `\`${key}\` of a stack file takes its place, and its data stay where they are.`,
});

/** The same of a container, by the words of its `docker run`: what a service's block takes over of it. */
export function besideContainer(
  what: string,
  image: string,
  [, , ...words]: readonly string[],
): FilePart {
  const service = serviceOf(image);
  if (service === undefined) return { other: companion(what, image) };
  const { options } = readDockerRun(words);
  const { ports, variables } = containerFacts(options);
  const found: FoundService = {
    name: what,
    key: service.key,
    block:
      service.takenOver?.({
        ports,
        variables: new Map([...variables].map(([name, value]) => [name, known(value)])),
        shellVariables: new Map(
          [...variables].flatMap(([name, value]) => {
            const from = shellVariable(value);
            return from === undefined ? [] : [[name, from] as const];
          }),
        ),
      }) ?? {},
  };
  return { service: found };
}

const known = (value: string): string | undefined =>
  value === "" || expansions(value).length > 0 ? undefined : value;
