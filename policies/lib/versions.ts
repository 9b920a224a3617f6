import { gte, parse, valid } from "@renovatebot/pep440";

/** A Python release that an image must hold at least (specification, "Versioning"). */
export type Floor = { readonly package: string; readonly version: string };

export const FLOORS: readonly Floor[] = [
  { package: "vllm", version: "0.26.0" },
  { package: "transformers", version: "5.8.0" },
];

/** `true` when the text is a version in the sense of PEP 440. */
export const isVersion = (version: string): boolean => valid(version) !== null;

/** PEP 440 order: `0.26.0rc1` and `0.26.0.dev5` lie below `0.26.0`, `0.27.1.dev3+gabc` above. */
export const atLeast = (version: string, floor: string): boolean => gte(version, floor);

/** The first two numbers of a release, `0.27` of `0.27.1.dev3+gabc`; `undefined` for no version. */
export function series(version: string): string | undefined {
  const release = parse(version)?.release;
  return release === undefined ? undefined : `${release[0] ?? 0}.${release[1] ?? 0}`;
}
