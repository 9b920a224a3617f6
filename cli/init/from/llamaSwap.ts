import { isRecord, type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import { listOf } from "@local-serving/base/faults/quoting";
import { assigned } from "../command/assignments";
import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { asWritten, type LeftOut, standIn } from "../command/words";
import { alike, NOT_CARRIED } from "../notCarriedOver";
import { companion } from "./companions";
import { plainWords, scalarText, scalarTexts } from "./container";
import { withEnvFiles } from "./envFiles";
import { type FilePart, type PublishedKind, readOf } from "./kind";
import type { Source } from "./source";
import { type Keys, unreadIn } from "./unread";

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
        source,
        words: withEnvFiles(plainWords(written), source),
      });
    });
    const read = readOf(
      found,
      "No start of vLLM can be read in its `cmd`s. GGUF models belong in `simpleServer` (Ollama); a vLLM with `start: onRequest` is started and stopped as llama-swap does it.",
    );
    return {
      ...read,
      leftOut: [...(read.leftOut ?? []), ...unreadOfFile(file, source)],
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
  readonly source: Source;
}

function modelOf(name: string, model: JsonObject, { words, macros, source }: Started): FilePart {
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
      line: source.lineAt(["models", name]),
      launch() {
        const launch = theLaunch(words, variables);
        const values = [{ path: ["start"], value: "onRequest", why: ON_REQUEST }];
        const leftOut = [
          ...launch.leftOut,
          ...unread(name, model, source, launch.container === undefined ? {} : OF_CONTAINER),
        ];
        return { ...launch, values, leftOut };
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

/** What becomes of the keys of a model. */
const OF_MODEL: Keys = {
  ...alike(true, "cmd env macros"),
  ...alike("clients see a server by its names alone.", "name description metadata"),
  unlisted: (value) => (value === true ? "clients are told of each server's name." : undefined),
  ttl: "with `onDemand`, `idleMinutes` says it.",
  aliases: "write its `aliases` below the server.",
  filters: "requests reach the server as they are.",
  cmdStop: "`serving stop` stops it.",
  proxy: "the server is asked at its own port.",
  checkEndpoint: NOT_CARRIED.health,
  useModelName: "write that name as `servedModelName`.",
};

/** The same of a model in a container. */
const OF_CONTAINER: Keys = {
  env: "only `docker` has these variables, and no container gets them.",
};

/** The same of the whole file. */
const OF_FILE: Keys = {
  ...alike(true, "models macros startPort"),
  apiKeys: "with `onDemand`, `keyVariable` names the variable with the key of its clients.",
  groups: NOT_CARRIED.togetherByMemory,
  matrix: NOT_CARRIED.togetherByMemory,
  hooks: "a server with `start: always` runs from the beginning.",
  healthCheckTimeout: NOT_CARRIED.health,
};

const unread = (name: string, model: JsonObject, { lineAt }: Source, more: Keys): LeftOut[] =>
  unreadIn(
    model,
    { ...OF_MODEL, ...more },
    {
      named: (key) => `the model's \`${key}\``,
      lineAt: (path) => lineAt(["models", name, ...path]),
    },
  );

const unreadOfFile = (file: JsonObject, { lineAt }: Source): LeftOut[] =>
  unreadIn(file, OF_FILE, {
    named: (key) => `the file's \`${key}\``,
    lineAt,
    otherwise: NOT_CARRIED.setting,
  });
