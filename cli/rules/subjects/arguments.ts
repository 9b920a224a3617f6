import { orInputFault } from "@local-serving/base/faults/fault";
import { mayBeQuoted, slipOf } from "@local-serving/base/faults/quoting";
import { holdsSecret } from "@local-serving/base/faults/secrets";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { optionTable } from "@local-serving/vllm/argv/serverArguments";
import { type EngineData, engineData, engineVersions } from "@local-serving/vllm/engineData";
import {
  engineVersionUpTo,
  nearestEngineData,
  versionsInWords,
  versionsWithOption,
} from "@local-serving/vllm/optionHistory";
import { FLAGS_WITH_SETTING } from "../../../components/settings";
import { taggedVersion, vllmOf } from "../../../components/supply";
import { releaseName } from "../../../components/supply/releases";
import { redact } from "../../programs/redact";
import { startSign } from "../../sees/log/sign";
import { APPLY, type Row, type Told, type Words } from "../rule";
import { currentRelease, pinNewer, versionSeen } from "./version";

/** What argparse says of words that it has no use for, with a blank between them. */
const LEFTOVERS = startSign(
  "error: unrecognized arguments:",
  /(?:(\S{1,40}): )?error: unrecognized arguments: (.*)/,
);

/** What argparse says of a value, with the choice, or what isn't the JSON that it wants. */
const REFUSED_VALUE = startSign(
  "error: argument ",
  /error: argument (--[\w-]+)\S*: (invalid |Value |expected )(?:choice: '([\w.-]{1,60})'|(.{0,2000}) cannot be converted to <function loads\b)?/,
);

/** Quotes as web pages and editors make them. */
const TYPOGRAPHIC = /[\u2018\u2019\u201c-\u201f\u00ab\u00bb]/g;
/** Numbers of things by their names, as options took them before they took JSON. */
const PAIRS = /^\w+=\d+(?:,\w+=\d+)*$/;
/** Characters of a value that a cause and an example show. */
const SHOWN = 120;

/** Most leftovers that are told one by one, and most characters of them that are looked at. */
const [MOST_TOLD, LOOKED_AT] = [8, 8000];

/** What is wrong with a leftover, and what to write instead: a clause, and sentences. */
interface Leftover {
  readonly why: string;
  readonly instead: readonly string[];
}

/** A flag as it was written, and the words behind it that may be its value. */
interface FlagWords {
  readonly flag: string;
  readonly values: readonly string[];
}

/** What the arguments are held against. */
interface Engine {
  readonly data: EngineData;
  /** The release of which that is known. */
  readonly release?: string;
  /** The release is older than all that there is data of: an option may have come later. */
  readonly isOlder?: boolean;
}

/** A word that begins an option, also with a dash or quote that no option begins with. */
const BEGINS_OPTION = /^["'`]?[-\u2010-\u2015\u2212](?!\d)./;
const LONG_DASH = /^["'`]?-?[\u2010-\u2015\u2212]/;
/** Programs that are started in front of vLLM, or are vLLM. */
const PROGRAM = /^(?:\S*\/)?(?:vllm|serve|bash|sh|python3?|env|exec|uv|torchrun)$/;
const SHELL = /^(?:\S*\/)?(?:bash|sh|env|exec)$/;

/** What argparse refuses: each word that is left, with what to write instead. */
export const argumentRules: readonly Row[] = [
  {
    id: "argument-unknown",
    when: LEFTOVERS,
    say(told) {
      const { hit, server } = told;
      const [program = "", text = ""] = hit.groups;
      const engine = engineOf(told);
      const { found, more } = leftoversIn(redact(text).slice(0, LOOKED_AT), program, engine);
      const isOurs = server.settings !== undefined;
      const where = `They stand in \`extraArgs\` of inferenceServers.${server.key}, or in a setting: \`serving plan --full\` shows the whole command line.`;
      const all = [
        ...found.map(({ why }) => why),
        ...(more > 0 ? [`${more} more aren't told here`] : []),
      ];
      const instead = found.flatMap((each) => each.instead);
      return {
        cause: `vLLM${engine.release === undefined ? "" : ` ${engine.release}`} was given words that it doesn't take: ${all.join("; ")}.`,
        advice: [...new Set([...instead, ...(isOurs ? [where] : [])])].join(" "),
        command: isOurs ? APPLY : "serving fit command.sh",
      };
    },
  },
  {
    id: "argument-refused",
    when: REFUSED_VALUE,
    say: (told) => refusedValue(told),
  },
  {
    id: "model-missing",
    when: startSign(
      "error: the following arguments are required:",
      /error: the following arguments are required: (model_tag|--model)\b/,
    ),
    say: ({ hit }) => ({
      cause: "vLLM was started without a model.",
      advice:
        hit.groups[0] === "--model"
          ? "Write `--model MODEL`: this entrypoint takes it by its option."
          : "Write `vllm serve MODEL`, the model first. In a script a line that goes on ends with a backslash and nothing after it.",
      command: "serving fit command.sh",
    }),
  },
];

/** What is said of a value that an option doesn't take: it may be one of a later release's. */
function refusedValue({ hit, server, picture }: Told): Words {
  const [flag = "", kind, choice, text] = hit.groups;
  const cause = `This version of vLLM refuses the value of ${flag || "an argument"}`;
  const where = `correct the setting of inferenceServers.${server.key}, or its \`extraArgs\`.`;
  const later = versionsWithChoice(flag.slice(2), choice ?? "");
  if (later !== undefined)
    return {
      cause: `${cause}: \`${choice}\` came with a later one.`,
      advice: `Take an image of vLLM ${later} or later, or one of the values that the line names: ${where}`,
      command: pinNewer(currentRelease(picture, hit.log)),
    };
  if (kind === "Value " && text) return notJson(flag, text, server.key);
  return { cause: `${cause}.`, advice: `The line says which values it takes: ${where}` };
}

/** What is said of a value that should be JSON, with the JSON that it surely means. */
function notJson(flag: string, text: string, key: string): Words {
  const isShown = !holdsSecret(text) && text.length <= SHOWN;
  const meant = isShown ? meantBy(text) : undefined;
  const json = meant === undefined ? '{"key": "value"}' : JSON.stringify(meant);
  const quoted = `\`${flag} '${json}'\``;
  const setting = FLAGS_WITH_SETTING[flag];
  const inFile =
    setting === undefined
      ? `In the stack file it is two items of \`extraArgs\` of inferenceServers.${key}, the JSON in single quotes.`
      : `In the stack file it is the setting \`${setting}\` of inferenceServers.${key}, in YAML${meant === undefined || Array.isArray(meant) ? "" : `: \`${settingFor(setting, meant)}\``}.`;
  return {
    cause: `The value of ${flag} isn't JSON${isShown ? `: \`${text}\`` : ""}${text.search(TYPOGRAPHIC) < 0 ? "" : ", since its quotes are typographic ones, as web pages make them"}.`,
    advice: `Write ${quoted}: keys and texts in double quotes, the whole in single ones, or a shell takes the double ones away. ${inFile}`,
  };
}

/** The object or list that was meant: pairs, or JSON without its quotes, which YAML reads. */
function meantBy(text: string): object | undefined {
  if (PAIRS.test(text))
    return Object.fromEntries(
      text.split(",").map((pair) => {
        const [name = "", value = ""] = pair.split("=");
        return [name, Number(value)];
      }),
    );
  const straight = text.replace(TYPOGRAPHIC, (quote) => (/[\u2018\u2019]/.test(quote) ? "'" : '"'));
  const read = /^\s*[[{]/.test(text)
    ? orInputFault(() => parseYaml("", straight).value)
    : undefined;
  return typeof read === "object" && read !== null && !(read instanceof Error) ? read : undefined;
}

/** The line of the stack file in place of an option that has a setting. */
function settingFor(setting: string, meant: object): string {
  const keys = Object.entries(meant).map(([key, value]) => {
    const named = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return `${named}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return `${setting}: { ${keys.join(", ")} }`;
}

/** The first release with data that takes a value of an option; `undefined` where none does. */
const versionsWithChoice = (option: string, choice: string): string | undefined =>
  engineVersions().find((version) => engineData(version)?.choices[option]?.includes(choice));

/** The engine that a log is of, by its own words, else by the image of the stack file. */
function engineOf({ hit: { log }, server: { settings }, picture }: Told): Engine {
  const reference = imageReference(settings?.image ?? "");
  const version =
    versionSeen({ ...picture, logs: [log] }) ??
    (settings && vllmOf(settings)) ??
    (reference && taggedVersion("vllm", reference));
  const release = version && /^\d+(?:\.\d+)*/.exec(releaseName(version) ?? "")?.[0];
  const data = nearestEngineData(release || undefined);
  if (!release) return { data };
  return engineVersionUpTo(release) === undefined
    ? { data, release, isOlder: true }
    : { data, release };
}

/** What is told of the leftovers, and how many more there are. */
function leftoversIn(text: string, program: string, engine: Engine) {
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return { found: [BLANK], more: 0 };
  const at = words.findIndex((word) => BEGINS_OPTION.test(word));
  const front = at < 0 ? words : words.slice(0, at);
  const isProgram = PROGRAM.test(front[0] ?? "");
  const inFront = isProgram
    ? [programTwice(front, program)]
    : front.slice(0, MOST_TOLD).map((word) => plainWord(word, program));
  // All that stands behind a shell is its own.
  const isShell = isProgram && front.some((word) => SHELL.test(word));
  const given = isShell ? [] : flagsIn(words.slice(front.length));
  const flags = given.filter(({ flag }) => !isProgram || flag !== "-m");
  const told = flags.slice(0, MOST_TOLD).map((each) => flagLeft(each, engine));
  const untold = isProgram ? 0 : front.length - inFront.length;
  return { found: [...inFront, ...told], more: untold + flags.length - told.length };
}

/** Options with the words behind each. Inside of JSON no word is an option. */
function flagsIn(words: readonly string[]): FlagWords[] {
  const found: { flag: string; values: string[] }[] = [];
  let depth = 0;
  for (const word of words) {
    if (depth === 0 && BEGINS_OPTION.test(word)) found.push({ flag: word, values: [] });
    else found.at(-1)?.values.push(word);
    depth = Math.max(0, depth + word.split("{").length - word.split("}").length);
  }
  return found;
}

/** Whether a word may be shown: nothing that could be a secret. */
const isShown = (word: string): boolean => /^[\w./:@+-]{1,80}$/.test(word) && !holdsSecret(word);

/** The entrypoint of images before `vllm serve`: it takes the model by its option alone. */
const API_SERVER = "api_server.py";

function programTwice(front: readonly string[], program: string): Leftover {
  const named = `\`${front.slice(0, 3).filter(isShown).join(" ")}\``;
  if (front.some((word) => SHELL.test(word)))
    return {
      why: `${named} came as arguments of vLLM, which the image's entrypoint already starts`,
      instead: [
        "Leave the shell out, or make it the entrypoint (`docker run --entrypoint bash IMAGE -c '...'`, `entrypoint:` in compose).",
      ],
    };
  if (program === API_SERVER)
    return {
      why: `${named} came as extra words, since the image's entrypoint starts the server already (${API_SERVER})`,
      instead: [
        "Leave out `vllm serve` (or the `python3 -m ...`) behind the image's name, and write `--model` in front of the model.",
      ],
    };
  return {
    why: `${named} came as extra words, since the image's entrypoint is \`vllm serve\` already: it stands twice`,
    instead: [
      "Leave out `vllm serve` (or the `python3 -m ...`) behind the image's name, and begin with the model.",
    ],
  };
}

/** A word of nothing but blanks, which a shell makes of a backslash with a blank behind it. */
const BLANK: Leftover = {
  why: "a word of nothing but a blank",
  instead: [
    "In a command of several lines nothing may stand behind the backslash that ends a line, not even a blank: what follows is then a command of its own (`command not found`). An empty pair of quotes does the same.",
  ],
};

/** A word that no option takes. */
function plainWord(word: string, program: string): Leftover {
  const named = isShown(word) ? `\`${word}\`` : "a word";
  if (/^(?:true|false)$/i.test(word))
    return {
      why: `${named} stands behind a switch, which takes no value`,
      instead: ["Leave the word out; `--no-NAME` in place of `--NAME` turns a switch off."],
    };
  if (word === "\\")
    return {
      why: "a backslash that doesn't end its line came as a word",
      instead: [
        "Nothing may stand behind a backslash, not even a blank; in a folded text of YAML leave it out.",
      ],
    };
  if (program === API_SERVER && /\//.test(word))
    return {
      why: `${named} came as a word of its own, and this entrypoint takes the model by its option`,
      instead: ["Write `--model` in front of it, and no `serve`."],
    };
  const twice = /\//.test(word) && isShown(word);
  return {
    why: `${named} belongs to no option`,
    instead: [
      twice
        ? "One model is all that may stand alone: see whether `serve` stands twice, since an image's entrypoint is `vllm serve` already, or another model. A value with blanks needs quotes."
        : "A value with blanks needs quotes, and one model is all that may stand alone.",
    ],
  };
}

/** Why an option was not taken. */
function flagLeft({ flag: given, values }: FlagWords, engine: Engine): Leftover {
  const { data, release } = engine;
  const [written = ""] = given.replace(/^["'`]|["'`,;\\]+$/g, "").split(/[=.]/, 1);
  const bare = written.replace(/^[-\u2010-\u2015\u2212]+/, "");
  const name = bare.toLowerCase().replaceAll("_", "-");
  const isNamed = /^[\w-]{1,60}$/.test(bare) && !holdsSecret(written);
  const flag = isNamed ? `\`${written}\`` : "an option";
  const { long, short } = optionTable(data);
  const isShort = /^-[^-]/.test(written);
  const versions = isShort ? [] : versionsWithOption(name);
  const isHere = isShort ? short.has(written) : long.has(name);
  const isSure = release !== undefined || isShort || versions.length === engineVersions().length;
  if (isHere && isSure) return formWrong({ flag: written, values }, engine, name);
  if (versions.length > 0) return otherVersions({ flag, values }, versions, name, engine);
  const near = short.has(`-${name}`) ? `-${name}` : nearLong(name, [...long.keys()]);
  if (near !== undefined)
    return { why: `${flag} is misspelt`, instead: [`Write \`${near}\` for ${flag}.`] };
  const [first, last] = [engineVersions()[0], engineVersions().at(-1)];
  return {
    why: `${flag} is unknown: no vLLM from ${first} to ${last} has it`,
    instead: [`Take ${flag} out.`],
  };
}

/** The option that a name means, in its long spelling. */
function nearLong(name: string, known: readonly string[]): string | undefined {
  const near = known.includes(name) ? name : slipOf(name, known);
  return near && `--${near}`;
}

/** An option that other versions have. */
function otherVersions(
  { flag, values }: FlagWords,
  versions: readonly string[],
  name: string,
  { data, release }: Engine,
): Leftover {
  const off = name.replace(/^disable-/, "no-enable-");
  const older = off !== name && optionTable(data).long.has(off);
  const oneWord =
    release === undefined && values.length > 0 ? ", or came with its value as one word" : "";
  return {
    why: `${flag} is in vLLM ${versionsInWords(versions)}${release === undefined ? " only" : ", not in this one"}${oneWord}`,
    instead: [
      older
        ? `Write \`--${off}\`, which older releases take, too.`
        : `Take ${flag} out, or take an image of such a release.`,
    ],
  };
}

/** Options that vLLM had by 0.6 (engine/arg_utils.py, entrypoints/openai/cli_args.py): every version that is met has them. */
const ALWAYS_THERE: ReadonlySet<string> = new Set([
  ...[
    "model",
    "tokenizer",
    "revision",
    "dtype",
    "max-model-len",
    "trust-remote-code",
    "load-format",
  ],
  ...["download-dir", "tensor-parallel-size", "pipeline-parallel-size", "gpu-memory-utilization"],
  ...["max-num-seqs", "max-num-batched-tokens", "seed", "block-size", "quantization"],
  ...["host", "port", "served-model-name", "chat-template", "allowed-origins"],
  ...["enable-auto-tool-choice", "tool-call-parser", "enable-prefix-caching", "enforce-eager"],
  ...["kv-cache-dtype", "enable-lora", "lora-modules", "limit-mm-per-prompt", "api-key"],
]);

/** What is wrong with an option that this vLLM has. */
function formWrong(
  { flag, values }: FlagWords,
  { release, isOlder }: Engine,
  name: string,
): Leftover {
  if (LONG_DASH.test(flag))
    return {
      why: `\`${flag}\` begins with a long dash, as web pages and editors make it`,
      instead: [`Write \`--${name}\` with two hyphens.`],
    };
  const [first] = engineVersions();
  const isThere =
    (release !== undefined && !isOlder) || ALWAYS_THERE.has(name) || !flag.startsWith("--");
  const [value = ""] = values;
  const form =
    value === "" ? switchForm(flag) : valueForm(flag, mayBeQuoted(value) ? value : "VALUE");
  if (isThere) return form;
  // argparse puts a blank between all that it leaves over, so the line doesn't say which it was.
  return {
    why: `\`${flag}\` is an option of vLLM ${first} and later: this one is older, or ${form.why}`,
    instead: [
      `Take an image of a release that has \`${flag}\`, or take it out.`,
      `Where it has it: ${form.instead[0] ?? ""}`,
    ],
  };
}

const switchForm = (flag: string) => ({
  why: `\`${flag}\` is an option of vLLM, but its word has more in it, such as a blank or a quote at its end`,
  instead: [`Write \`${flag}\` alone, without quotes inside the word.`],
});

const valueForm = (flag: string, value: string) => ({
  why: `\`${flag}\` and its value came as one word, with a blank inside`,
  instead: [
    `Write two words, \`${flag}\` and \`${value}\` (two items in a list of compose, no quotes around both), or \`${flag}=${value}\`.`,
  ],
});
