/** Shortest text that is judged: a word that is asked for may be of few letters, or of one. */
const SHORTEST = 16;

/** Characters that are judged: what makes no sense doesn't begin to later. */
const LONGEST = 2000;

/** Longest fragment that is looked for, in characters. */
const LONGEST_FRAGMENT = 24;

/** Share of a text that repeats what stands a fragment before it. */
const REPEATED = 0.6;

/** Share of a text that is no character at all. */
const BROKEN = 0.1;

/** Writings that one answer may mix: that of its language, and those of names and code. */
const MOST_WRITINGS = 3;

const WRITINGS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  /\p{Script=Hangul}/u,
  /\p{Script=Thai}/u,
  /\p{Script=Arabic}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Devanagari}/u,
  /[\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Gujarati}\p{Script=Kannada}\p{Script=Malayalam}]/u,
  /[\p{Script=Georgian}\p{Script=Armenian}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Ethiopic}]/u,
];

/** Marks of turns, which a template writes and no reader ever sees. */
const TURN_MARK =
  /<\|(?:im_start|im_end|im_sep|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|endoftext|end|user|assistant|system)\|>|<(?:start|end)_of_turn>|\[\/?INST\]/;

/** A word of a language: three letters in a row, or two of a writing that needs no more. */
const WORD =
  /\p{L}{3}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]{2}/u;

/**
 * How a text makes no sense, whatever was asked; `undefined` where it may. A text that was cut off
 * may go round in words: that is a model that doesn't end.
 */
export function nonsenseIn(text: string, isCut = false): string | undefined {
  const plain = text.trim().slice(0, LONGEST);
  const characters = [...plain];
  if (characters.length < SHORTEST) return undefined;
  const repeated = repeatedIn(characters);
  if (repeated !== undefined && !(isCut && WORD.test(`${repeated}${repeated}`)))
    return characters.every((each) => each === characters[0])
      ? `one character again and again (\`${characters[0]}\`)`
      : `one fragment again and again (\`${repeated}\`)`;
  const broken = characters.filter((each) => each === "\ufffd").length;
  if (broken > BROKEN * characters.length) return "broken characters";
  if (!WORD.test(plain) && !/\d/.test(plain)) return "no words at all";
  const writings = WRITINGS.filter((each) => each.test(plain)).length;
  return writings > MOST_WRITINGS ? `letters of ${writings} writings in one answer` : undefined;
}

/** The fragment that a text repeats for the most part. */
function repeatedIn(characters: readonly string[]): string | undefined {
  const longest = Math.min(LONGEST_FRAGMENT, Math.floor(characters.length / 4));
  for (let length = 1; length <= longest; length++) {
    const rest = characters.length - length;
    let same = 0;
    for (let at = 0; at < rest; at++) if (characters[at] === characters[at + length]) same += 1;
    if (same < REPEATED * rest) continue;
    return commonest(characters, length);
  }
  return undefined;
}

/** The fragment of a length that a text holds most often. */
function commonest(characters: readonly string[], length: number): string {
  const counts = new Map<string, number>();
  for (let at = 0; at + length <= characters.length; at++) {
    const fragment = characters.slice(at, at + length).join("");
    counts.set(fragment, (counts.get(fragment) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0] ?? "";
}

/** The mark of a chat template that stands in a text. */
export const turnMarkIn = (text: string): string | undefined => TURN_MARK.exec(text)?.[0];
