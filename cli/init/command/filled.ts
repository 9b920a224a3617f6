import { isSecretName } from "@local-serving/base/faults/secrets";
import { apart, takesValue } from "./apart";
import { isUnnamed } from "./containerStart";
import { isToFill, withPlaceholders } from "./placeholder";
import { type Launch, notKnown } from "./started";
import { asWritten, expansions, type LeftOut, OPEN, refuseCommand, standIn } from "./words";

/**
 * A launch whose words are all known. An option, or further words, of which only a shell or a
 * condition knows the value are left out, and so is a secret; a model of that kind is refused, and
 * so is a placeholder that nobody filled.
 */
export function filled(launch: Launch): Launch {
  const { words: pieces, told } = apart(launch.words);
  const keys = withoutKeys(pieces.map(withLiterals).map(valueToFill));
  const { words, leftOut } = withoutUnknown(keys.words, launch);
  const named = withPlaceholders(launch.image ?? "");
  const image = isUnnamed(named) ? undefined : launch.image;
  const unnamed =
    image === launch.image
      ? []
      : [{ what: asWritten(named), why: NOT_KNOWN_IMAGE, words: [asWritten(named)] }];
  const open = new Set(
    [image ?? "", ...words].flatMap((word) => word.match(/(?<!["\w:$])\{[A-Za-z_]\w*\}/g) ?? []),
  );
  if (open.size > 0)
    refuseCommand(
      `${[...open].map((each) => `\`${each}\``).join(", ")} has no value: give the whole recipe (\`--from-command - < recipe.yaml\`), or write the value in its place.`,
    );
  const { image: _, ...kept } = launch;
  return {
    ...kept,
    words,
    variables: new Map(
      [...launch.variables].map(([name, value]) => [name, withPlaceholders(value)]),
    ),
    ...(image === undefined ? {} : { image }),
    told: [...(launch.told ?? []), ...told],
    leftOut: [...launch.leftOut, ...unnamed, ...leftOut, ...keys.leftOut],
  };
}

/** A word that is no option's name, or what stands behind its sign, with what nobody has filled in. */
const valueToFill = (word: string): string =>
  word.startsWith("-") ? word.replace(/(?<==)[\s\S]+/, withPlaceholders) : withPlaceholders(word);

/** A word whose variables reach vLLM as they are written, since nothing fills them in. */
const withLiterals = (word: string): string => word.replace(LITERAL, standIn);

const LITERAL = new RegExp(`(?<!${OPEN})\\$\\{[A-Za-z_][^{}\\s]*\\}`, "g");

const NOT_KNOWN_IMAGE =
  "which image that is isn't known here: the one of every new stack file takes its place.";
const NOT_KNOWN_OPTION =
  "its value isn't known here, so the default counts: write it yourself if it matters.";
const NOT_KNOWN_WORDS =
  "what a condition or another program puts there isn't known: write it yourself if it matters.";

/** Words without options, and without further words, whose value only a shell knows. Refuses such a model. */
function withoutUnknown(
  words: readonly string[],
  { unread, hint = [], origins, lineOf, line }: Launch,
) {
  const leftOut: LeftOut[] = [];
  const kept: string[] = [];
  for (const [at, word] of words.entries()) {
    const unknown = expansions(word);
    const flag = kept.at(-1) ?? "";
    if (unknown.length === 0) kept.push(word);
    else if (isModel(word, kept))
      refuseCommand(
        notKnown(unknown, unread, lineOf?.(asWritten(word), line)),
        ...hint,
        ...originsOf(unknown, origins),
      );
    else if (/^--?[a-z][\w-]*=/.test(word))
      leftOut.push(unknownOption(word.replace(/=.*$/s, ""), unknown));
    else if (takesValue(flag)) {
      // Of several values the others stay.
      if (/^(?:-|$)/.test(words[at + 1] ?? "")) kept.pop();
      leftOut.push(unknownOption(flag, unknown));
    } else
      leftOut.push({
        what: unknown.map(asWritten).join(" "),
        why: NOT_KNOWN_WORDS,
        words: [...unknown, ...unknown.map((each) => each.replace(/^\$?\{?(\w+)[\s\S]*$/, "$1"))],
      });
  }
  return { words: kept, leftOut };
}

/** Where the values of variables come from that a command needs. */
const originsOf = (unknown: readonly string[], origins?: Launch["origins"]): string[] =>
  unknown.flatMap((each) => {
    const origin = origins?.get(each.replace(/^\$\{?(\w+).*$/s, "$1"));
    return origin === undefined ? [] : [`Of \`${asWritten(each)}\` the file says that ${origin}.`];
  });

const unknownOption = (what: string, unknown: readonly string[]): LeftOut => {
  const [toFill] = unknown.filter(isToFill);
  const why = toFill === undefined ? NOT_KNOWN_OPTION : placeholderText(toFill);
  return { what, why, words: [what] };
};

const placeholderText = (toFill: string): string =>
  `\`${asWritten(toFill)}\` is a placeholder, so the default counts: write what it stands for.`;

/** Whether a word is the model: the first one, or the value of the option for it. */
const isModel = (word: string, before: readonly string[]): boolean =>
  /^--model=/.test(word) ||
  before.at(-1) === "--model" ||
  (before.length === 0 && !word.startsWith("-"));

/** Words without `--api-key $KEY` and its like. */
function withoutKeys(words: readonly string[]) {
  const leftOut: LeftOut[] = [];
  const kept: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const [word = "", next = ""] = words.slice(index, index + 2);
    const [flag = "", value] = word.split(/=([\s\S]*)/);
    const isSecret = flag.startsWith("--") && isSecretName(flag.slice(2));
    if (isSecret && expansions(value ?? next).length > 0) {
      leftOut.push({ what: flag, why: "a secret has no place in a stack file.", words: [flag] });
      index += value === undefined ? 1 : 0;
    } else kept.push(word);
  }
  return { words: kept, leftOut };
}
