import { isRecord, type JsonObject, objectOr, textOr } from "../../../faults/json";
import { listOf } from "../../../faults/quoting";
import { assigned } from "../command/assignments";
import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { asWritten, type LeftOut, standIn } from "../command/words";
import { companion } from "./companions";
import { plainWords, scalarText, scalarTexts } from "./container";
import { withEnvFiles } from "./envFiles";
import { type FilePart, type PublishedKind, readOf, unreadKeys } from "./kind";

/** The first port that llama-swap gives a model (its README, `startPort`). */
const FIRST_PORT = 5800;

export const llamaSwap: PublishedKind = {
  kind: "llama-swap's configuration",
  looksLike: ({ keys, text }) => keys.has("models") && /(?:^|[\s{,])["']?cmd["']?:/m.test(text),
  servers(source) {
    const [file = {}] = source.documents();
    const first = Number(scalarText(file.startPort) ?? FIRST_PORT);
    const found = Object.entries(objectOr(file.models)).map(([name, model], index) => {
      const given = { PORT: String(first + index), MODEL_ID: name };
      const macros = { ...macrosOf(file), ...given, ...macrosOf(objectOr(model)) };
      const written = withMacros(withoutRemarks(textOr(objectOr(model).cmd)), macros);
      return modelOf(name, objectOr(model), {
        macros,
        words: withEnvFiles(plainWords(written), source),
      });
    });
    const read = readOf(
      found,
      "No start of vLLM can be read in its `cmd`s. GGUF models belong in `simpleServer` (Ollama); a vLLM with `start: onRequest` is started and stopped as llama-swap does it.",
    );
    return {
      ...read,
      leftOut: [...(read.leftOut ?? []), ...unreadOfFile(file)],
      choice: choiceText(found),
    };
  },
};

function choiceText(parts: readonly FilePart[]): string {
  const names = parts.flatMap((part) => ("server" in part ? [part.server.name] : []));
  return `with ${names.length} servers of vLLM: ${listOf(names)}. Servers with \`start: onRequest\` take its place: \`serving init --all\` makes one of each. Or give the \`cmd\` of one.`;
}

type Macros = Readonly<Record<string, string>>;

/** Macros of the file or of a model: a map, or a list of maps. */
function macrosOf({ macros }: JsonObject): Macros {
  const maps = [macros].flat().filter(isRecord);
  return Object.fromEntries(
    maps.flatMap((map) =>
      Object.entries(map).map(([name, value]) => [name, scalarText(value) ?? ""]),
    ),
  );
}

/** How the file starts a model. */
interface Started {
  readonly words: readonly string[];
  readonly macros: Macros;
}

function modelOf(name: string, model: JsonObject, { words, macros }: Started): FilePart {
  const what = `the model \`${asWritten(name)}\``;
  if (!startsVllm(words))
    return { other: companion(what, ...programsOf(words), ...words.filter(isScript)) };
  const variables = new Map(
    scalarTexts(model.env).map((each) => assigned(withMacros(each, macros))),
  );
  return {
    server: {
      name: what,
      called: name,
      launch() {
        const launch = theLaunch(words, variables);
        const values = [{ path: ["start"], value: "onRequest", why: ON_REQUEST }];
        return { ...launch, values, leftOut: [...launch.leftOut, ...unread(model)] };
      },
    },
  };
}

const isScript = (word: string): boolean => /\.(?:sh|py)$|^IMAGE=/.test(word);

const ON_REQUEST = "judged: llama-swap starts it when it is asked for";

/** Lines of a command that llama-swap passes over. */
const withoutRemarks = (command: string): string => command.replace(/^[ \t]*#.*$/gm, "");

/** Deepest nesting of macros. */
const PASSES = 5;

/** Longest command that macros may make. */
const LONGEST = 100_000;

/** A text with the macros that the file has; any other is what only a shell knows. */
function withMacros(text: string, macros: Macros): string {
  let made = text;
  for (let pass = 0; pass < PASSES && made.length < LONGEST; pass++)
    made = made.replace(/\$\{([\w.-]+)\}/g, (whole, name: string) =>
      Object.hasOwn(macros, name) ? (macros[name] ?? "") : whole,
    );
  return made.slice(0, LONGEST).replace(/\$\{[\w.-]+\}/g, standIn);
}

/** Why a key of a model has no place in a stack file. */
const WHY: Readonly<Record<string, string>> = {
  ttl: "with `onDemand`, `idleMinutes` says it.",
  aliases: "write its `aliases` below the server.",
  filters: "requests reach the server as they are.",
};

/** The same of the whole file. */
const WHY_OF_FILE: Readonly<Record<string, string>> = {
  groups: "which servers run together follows from the machine's memory (`onDemand`).",
  matrix: "which servers run together follows from the machine's memory (`onDemand`).",
  hooks: "a server with `start: always` runs from the beginning.",
};

/** Keys that are read, or that only name what is there. */
const READ = new Set(["cmd", "env", "macros", "name", "description", "unlisted", "metadata"]);
const READ_OF_FILE = new Set(["models", "macros", "startPort"]);

const unread = (model: JsonObject): LeftOut[] =>
  unreadKeys(Object.keys(model), (key) => READ.has(key), {
    named: (key) => `the model's \`${key}\``,
    why: WHY,
  });

const unreadOfFile = (file: JsonObject): LeftOut[] =>
  unreadKeys(Object.keys(file), (key) => READ_OF_FILE.has(key), {
    named: (key) => `the file's \`${key}\``,
    why: WHY_OF_FILE,
    otherwise: "nothing here takes it over.",
  });
