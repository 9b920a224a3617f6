import uses from "./imageUses.json";

const patterns = (rows: readonly { readonly image: string }[]) =>
  rows.map(({ image }) => new RegExp(image, "i"));

const SERVERS = patterns(uses.servers);
const OTHERS = patterns(uses.others);

/** The last part of a path, as vLLM's own repositories and community builds have it. */
const LAST_PART = /(?:^|\/)vllm[^/]*$|-vllm$/i;

/** An image's repository, also of a reference that is faulty. */
export const repositoryIn = (image: string): string =>
  image.replace(/@.*/s, "").replace(/:[^/]*$/, "");

/** Whether a repository is known as that of a program that is not vLLM. */
export const isOtherProgram = (repository: string): boolean =>
  OTHERS.some((each) => each.test(repository));

/** Whether a repository holds vLLM: by the list, or by the last part of its path. */
export const holdsVllm = (repository: string): boolean =>
  SERVERS.some((each) => each.test(repository)) ||
  (LAST_PART.test(repository) && !isOtherProgram(repository));
