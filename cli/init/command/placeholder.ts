import { expansions, standIn } from "./words";

/** What people write where the reader of a page is to put something of their own. */
const PLACEHOLDERS = [
  // <model>, [MODEL_NAME]
  /^<[^<>]+>$/,
  /^\[[A-Z][A-Z_]+\]$/,
  // xxx/model, /path/to/models, /your/models, .../models
  /(?:^|\/)x{3,}(?:$|\/)/i,
  /(?:^|\/)path\/to(?:$|\/)/i,
  /(?:^|\/)(?:\.{3,}|…)(?:$|\/)/,
  /(?<![a-z\d])your(?![a-z\d])/i,
  /^(?:change|replace|fill|insert)[-_]?(?:me|this|here|it)$/i,
  // MODEL_NAME, ORG/MODEL_ID
  /^(?:[A-Z]+\/)?(?:HF_|MODEL_|YOUR_|ORG_|REPO_)[A-Z_]*(?:MODEL|NAME|ID|PATH|REPO|ORG|TOKEN|KEY)$/,
];

/** A part of a word that may be one: a path, a name, what stands between signs. */
const PART = /<[^<>]+>[^\s:=,"'{}]*|[^\s:=,"'{}<>]+/g;

const isPlaceholder = (part: string): boolean => PLACEHOLDERS.some((each) => each.test(part));

/** Whether what isn't known of a word is what nobody has filled in yet. */
export const isToFill = (expansion: string): boolean =>
  isPlaceholder(expansion) || /^<[^<>]+>/.test(expansion);

/** A word of which each placeholder is what isn't known. */
export const withPlaceholders = (word: string): string =>
  expansions(word).length > 0 || /\s/.test(word)
    ? word
    : word.replace(PART, (part) => (isToFill(part) ? standIn(part) : part));
