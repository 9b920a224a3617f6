import { modelFolder } from "@local-serving/machines/hubCache";
import { distance } from "fastest-levenshtein";

/** A model as people may name it. */
export interface NamedModel {
  readonly id: string;
  readonly servedModelName?: string;
}

/** What a name means: one model, several, or none, with those that are close to it. */
export type Meant<Model> =
  | { readonly is: "one"; readonly model: Model }
  | { readonly is: "several" | "none"; readonly models: readonly Model[] };

/**
 * Words that make another model of a name: of another kind, or a smaller one. A name without them
 * never means a model with them alone.
 */
const KIND_WORDS = new Set([
  ...["embedding", "embed", "reranker", "rerank", "vl", "vision", "omni", "audio", "asr", "tts"],
  ...["guard", "base", "draft", "coder", "next", "flash", "air", "lite", "mini", "lightning"],
]);

/** How many models are named that come close. */
const CLOSE_ONES = 3;

/** How far a misspelt name may be from one, as a part of its length. */
const MISSPELT = 0.4;

/**
 * Which of some models a name means: blanks, case, dots, underscores and the organisation are left
 * out of account. A size, a way to store the weights or a kind that is named must be the model's. A
 * part of a name that others have too means none of them: `qwen3` may be a Qwen3-VL or a Qwen3.6.
 */
export function modelNamed<Model extends NamedModel>(
  wanted: string,
  models: readonly Model[],
): Meant<Model> {
  const name = wanted.trim().toLowerCase();
  const exact = models.find(
    ({ id, servedModelName }) => id.toLowerCase() === name || servedModelName === name,
  );
  const inFolder = models.find(({ id }) => modelFolder(id).toLowerCase() === name);
  const same = exact ?? inFolder;
  if (same !== undefined) return { is: "one", model: same };
  if (isHubId(name)) return { is: "none", models: near(wordsOf(name.split("/")[1] ?? ""), models) };
  const words = wordsOf(name);
  const served = models.filter(
    (each) => wordsOf(each.servedModelName ?? "").join() === words.join(),
  );
  const [only] = served;
  if (only !== undefined && served.length === 1) return { is: "one", model: only };
  const fitting = words.length === 0 ? [] : models.filter((model) => fits(words, model));
  const [first] = fitting;
  if (first === undefined) return { is: "none", models: near(words, models) };
  const others = models.filter((each) => !fitting.includes(each) && begins(words, each));
  return fitting.length + others.length === 1
    ? { is: "one", model: first }
    : { is: "several", models: [...fitting, ...others] };
}

/** `organisation/name`, which names one repository of the hub and no other. */
export const isHubId = (name: string): boolean => /^[\w.-]{1,96}\/[\w.-]{1,96}$/.test(name.trim());

/** How many letters of an id may be mistyped. */
const MISTYPED = 2;

/**
 * Whether an id was probably meant as another one: it is the same but for some letters. What
 * somebody else published, a build in another format, another kind and another number are none.
 */
export function isNearly(id: string, other: string): boolean {
  const [[by = "", name = ""], [owner = "", own = ""]] = [idParts(id), idParts(other)];
  const [words, theirs] = [wordsOf(name), wordsOf(own)];
  const [text, wanted] = [words.join(""), theirs.join("")];
  const isAlike = text === wanted || name.split(/[-_ ]/).length === own.split(/[-_ ]/).length;
  const isOtherNumber =
    numbersIn(words) !== numbersIn(theirs) &&
    numbersIn(untold(words)) !== numbersIn(untold(theirs));
  return (
    isAlike &&
    !isOtherNumber &&
    distance(by, owner) + distance(text, wanted) <= MISTYPED &&
    words.every((word) => !TELLS.test(word) || theirs.includes(word))
  );
}

const idParts = (id: string): readonly string[] => id.trim().toLowerCase().split("/");

const numbersIn = (words: readonly string[]): string =>
  (words.join(" ").match(/\d+(?:\.\d+)?/g) ?? []).join(" ");

/** Words without those of a kind or a format, whose numbers make no other model. */
const untold = (words: readonly string[]) => words.filter((word) => !TELLS.test(word));

/** Words by which somebody names a kind or a format on purpose. */
const TELLS = new RegExp(
  `^(?:${[...KIND_WORDS].join("|")}|nvfp\\d|mxfp\\d|w\\d+a\\d+|int\\d|fp\\d+|bf16|awq|gptq|gguf|bnb|it|chat|hf|ct)$`,
);

/** Whether a model's name may go on where a name ends: it has all words, or versions of them. */
const begins = (words: readonly string[], model: NamedModel): boolean =>
  words.every((word) => allWords(model).some((own) => own === word || isVersionOf(own, word)));

/** Whether `3.6` is a version of `3`. */
const isVersionOf = (version: string, word: string): boolean =>
  /^\d+$/.test(word) && /^\d+\.\d+$/.test(version) && version.startsWith(`${word}.`);

const allWords = ({ id, servedModelName = "" }: NamedModel): readonly string[] => [
  ...wordsOf(id),
  ...wordsOf(servedModelName),
];

/** Whether a model has every word of a name, and is of no other kind. */
function fits(words: readonly string[], model: NamedModel): boolean {
  const own = allWords(model);
  return (
    words.every((word) => own.includes(word)) &&
    own.every((word) => !KIND_WORDS.has(word) || words.includes(word))
  );
}

/** The models that come closest: by the words that they share, then by their letters. */
function near<Model extends NamedModel>(words: readonly string[], models: readonly Model[]) {
  const text = words.join("");
  const ranked = models.map((model) => {
    const own = wordsOf(model.id.split("/")[1] ?? model.id);
    const shared = words.some((word) => FAMILY.test(word) && own.includes(word))
      ? words.filter((word) => own.includes(word)).length
      : 0;
    const far = Math.min(
      ...[own, wordsOf(model.servedModelName ?? "")].map((each) => distance(text, each.join(""))),
    );
    return { model, shared, far };
  });
  return ranked
    .filter(({ shared, far }) => shared > 0 || far <= text.length * MISSPELT)
    .sort((a, b) => b.shared - a.shared || a.far - b.far)
    .slice(0, CLOSE_ONES)
    .map(({ model }) => model);
}

/** A word that may be the name of a family. */
const FAMILY = /^[a-z]{3,}$/;

/** A size, a way to store weights, a version, or letters; sizes and versions stay whole. */
const WORD =
  /a\d+b(?![a-z])|(?:e?\d+(?:\.\d+)?)[bm](?![a-z])|(?:nv|mx)fp\d|w\d+a\d+|int[48]|fp\d+|bf16|gb10|\d-?bits?|[a-z]+|\d+(?:\.\d+)?/g;

/** The words of a name. Two figures behind one another are a version: `qwen3_6` is `qwen3.6`. */
function wordsOf(name: string): string[] {
  const spaced = name.toLowerCase().replace(/(?<![\d.])(\d)[ _-](\d)(?![\d.bm])/g, "$1.$2");
  return spaced.match(WORD) ?? [];
}
