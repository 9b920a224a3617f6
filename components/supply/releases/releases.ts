import { gte, lt, parse, valid } from "@renovatebot/pep440";
import releases from "./releases.json";

/** The lowest release of a package that an inference server's image must hold. */
export const FLOORS = releases.floors;

/** Releases of a package that must not run. */
interface Refused {
  readonly package: string;
  /** These ones, local builds and post-releases of them included. */
  readonly versions?: readonly string[];
  /** Every one below this version. */
  readonly below?: string;
  /** Only together with a release of this series. */
  readonly beside?: { readonly package: string; readonly series: string };
  readonly reason: string;
  readonly source: string;
  readonly remedy: string;
}

const REFUSED: readonly Refused[] = releases.refused;

/** `true` when the text is a version in the sense of PEP 440. */
export const isPep440 = (version: string): boolean => valid(version) !== null;

/** PEP 440 order: `0.26.0rc1` and `0.26.0.dev5` lie below `0.26.0`, `0.27.1.dev3+gabc` above. */
export const atLeast = (version: string, floor: string): boolean => gte(version, floor);

/**
 * The first two numbers of a release, `0.27` of `0.27.1.dev3+gabc`, behind any epoch; `undefined`
 * for no version.
 */
export function series(version: string): string | undefined {
  const { epoch, release } = parse(version) ?? {};
  if (release === undefined) return undefined;
  return `${epoch ? `${epoch}!` : ""}${[...release, 0].slice(0, 2).join(".")}`;
}

/** Whether two versions are one release: `0.30` and `v0.30.0+cu130` are, `0.30.0rc1` is another. */
export function sameRelease(one: string, other: string): boolean {
  const release = releaseName(one);
  return release !== undefined && release === releaseName(other);
}

/**
 * One text for every way to write a release, whoever built it: `0.30.0` for `v0.30+cu130`.
 * `undefined` for no version.
 */
export function releaseName(version: string): string | undefined {
  const read = parse(version);
  if (read === null) return undefined;
  const { epoch, release, pre, post, dev } = read;
  const length = Math.max(3, release.findLastIndex((number) => number !== 0) + 1);
  const numbers = Array.from({ length }, (_, at) => release[at] ?? 0).join(".");
  const isPlain = epoch === 0 && [pre, post, dev].every((each) => each === null);
  return isPlain ? numbers : JSON.stringify([epoch, numbers, pre, post, dev]);
}

const withoutLocal = (version: string) => version.replace(/\+.*/, "");

/** A version without what marks a post-release, which ships the code of its release. */
const withoutPost = (version: string) =>
  version.replace(/(?:[-_.]?(?:post|rev|r)[-_.]?\d*|-\d+)$/i, "");

/**
 * Why a release must not run, with source and remedy; `undefined` for any other. `beside`: what
 * else is installed with it.
 */
export function whyRefused(...release: Parameters<typeof refusalOf>): string | undefined {
  const found = refusalOf(...release);
  return found && `${found.reason} (${found.source}). ${found.remedy}`;
}

/** What is known against a release, beside other packages of its image. */
export function refusalOf(
  name: string,
  version: string,
  beside: ReadonlyMap<string, string> = new Map(),
) {
  if (!isPep440(version)) return undefined;
  const released = withoutPost(withoutLocal(version));
  return REFUSED.find(
    ({ package: of, versions, below, beside: other }) =>
      of === name &&
      (versions?.some((each) => sameRelease(each, released)) ?? true) &&
      (below === undefined || lt(version, below)) &&
      (other === undefined || series(beside.get(other.package) ?? "") === other.series),
  );
}

/** The lowest release of a package that may run; `0` where any may. */
export const lowestAllowed = (name: string): string =>
  FLOORS.find((each) => each.package === name)?.version ??
  REFUSED.find((each) => each.package === name && each.below)?.below ??
  "0";

const RANGES: Readonly<Record<string, string>> = releases.transformers;

/** The releases of transformers that a vLLM asks for, and the series of which that is known. */
export const transformersFor = (vllm: string): string | undefined => RANGES[`${series(vllm)}`];
export const KNOWN_SERIES: readonly string[] = Object.keys(RANGES);

/** Options and environment variables that an inference server must not have. */
export const REFUSED_IN_SERVERS = { options: releases.options, variables: releases.variables };
