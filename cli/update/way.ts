import { AS_JSON, SAYS_YES } from "../engine/drive";

/** The parts of `serving up` around the update itself; absent where nobody named them. */
export interface PartOptions {
  readonly fetch?: boolean;
  readonly wait?: boolean;
  readonly verify?: boolean;
}

/** What somebody asked of `serving up`, and whether they sit at a terminal. */
export interface AskedWay {
  readonly parts: PartOptions;
  /** Options for the engine. */
  readonly options: readonly string[];
  readonly atTerminal: boolean;
}

/** The way of an update: the engine alone, which asks its own question, or with the parts around it. */
export type Way =
  | { readonly kind: "refused"; readonly says: string }
  | { readonly kind: "engine" }
  | ({ readonly kind: "whole"; readonly asks: boolean } & Required<PartOptions>);

export type WholeWay = Extract<Way, { readonly kind: "whole" }>;

/** Options by which the engine would apply something else than is looked at, a part, or nothing. */
const APPLIES_OTHERWISE =
  /^(--(config|config-file|config-path|cwd|event-log|exclude|exclude-dependents|preview-only|target|target-dependents|target-replace)(=|$)|-[defjrvyQ]*[cCt])/;

/** The first option by which the engine would not apply the stack's own file as a whole. */
export const appliesOtherwise = (options: readonly string[]): string | undefined =>
  options.find((option) => APPLIES_OTHERWISE.test(option));

/**
 * Decides which parts an update has. At a terminal it has all of them but those that are left out,
 * elsewhere those that are asked for. Probes come after the wait. Pure.
 */
export function wayOf({ parts, options, atTerminal }: AskedWay): Way {
  const isAsked = Object.values(parts).includes(true);
  const other = appliesOtherwise(options) ?? options.find((option) => AS_JSON.test(option));
  if (other !== undefined)
    return isAsked ? { kind: "refused", says: otherText(other) } : { kind: "engine" };
  const isAtTerminal = atTerminal && !options.includes("--non-interactive");
  if (!isAtTerminal && !isAsked) return { kind: "engine" };
  const asks = !options.some((option) => SAYS_YES.test(option));
  if (asks && !isAtTerminal) return { kind: "refused", says: NOBODY };
  const wait = parts.wait ?? (isAtTerminal || parts.verify === true);
  const verify = parts.verify ?? (isAtTerminal && wait);
  if (verify && !wait) return { kind: "refused", says: NO_WAIT };
  return { kind: "whole", asks, fetch: parts.fetch ?? isAtTerminal, wait, verify };
}

const otherText = (option: string): string =>
  `${option}: not possible with --fetch, --wait or --verify, which are about the stack's own file as a whole.`;

const NOBODY = "Without a terminal nobody can say yes: add --yes.";

const NO_WAIT = "--verify asks what is ready: leave out --no-wait.";
