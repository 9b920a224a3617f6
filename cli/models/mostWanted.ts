import type { Recipe } from "../../components/catalogue";
import { familyParsers } from "../../components/inference-server";
import type { ServedSpeed } from "./speeds";

/** What people look at when they choose a model. */
interface Chosen {
  readonly toolCalls: boolean;
  readonly speed?: ServedSpeed | undefined;
  /** Coding agents that work at once, as far as that is known. */
  readonly agents?: number | undefined;
}

/** The parser of a model's tool calls; `undefined` where none is known. */
export const toolParser = ({ family, thinking, parsers }: Recipe): string | undefined =>
  parsers.tool ?? familyParsers(family, thinking).tool;

/** Whether a model's tool calls are read by a parser, as coding clients need it. */
export const callsTools = (recipe: Recipe): boolean =>
  recipe.kind === "chat" && toolParser(recipe) !== undefined;

/** Sorts by what people ask for: tool calls, then speed as it is written, then room. */
export const mostWanted = (one: Chosen, other: Chosen): number =>
  Number(other.toolCalls) - Number(one.toolCalls) ||
  decodeOf(other) - decodeOf(one) ||
  (other.agents ?? 0) - (one.agents ?? 0);

const decodeOf = ({ speed }: Chosen): number => speed?.decode?.tokensPerSecond ?? 0;
