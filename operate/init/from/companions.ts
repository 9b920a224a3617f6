import { SERVICES } from "../../../components/services";
import { engineNamed } from "../../../components/supply";
import type { LeftOut } from "../command/words";

/**
 * Says of something that runs no vLLM what of a stack file takes its place; `runs` is its image, or
 * the words of its command.
 */
export function companion(what: string, runs: string): LeftOut {
  const repository = runs.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
  const service = SERVICES.find(
    (each) => "image" in each && each.image.repository.test(repository),
  );
  if (service !== undefined)
    return {
      what,
      why: `\`${service.key}\` of a stack file takes its place, and its data stay where they are.`,
    };
  const engine = engineNamed(runs);
  return {
    what,
    why:
      engine === undefined
        ? "it runs no vLLM."
        : `it runs ${engine.name}, not vLLM. ${engine.belongs}`,
  };
}
