import { clause } from "@local-serving/base/faults/quoting";
import type { LogReading, Refused } from "../../sees/log/scanLog";
import { READY, STARTED_WITH } from "../../sees/log/sign";
import { AGAIN_AND_AGAIN } from "../oneTry";
import { isHealthy, isUp, type Picture, serverOf } from "../picture";
import { type Explanation, LOOK, ofSomeLog, type WeighingRule } from "../rule";
import { endOf } from "./engineSaid";
import { argumentsOf } from "./pointed";

/** As often a failure is no mishap. */
const FAILED_AGAIN = 2;
/** What a client doesn't find twice, since its address is written wrong. */
const ADDRESS_AGAIN = 2;

const PIN = "serving pin vllm/vllm-openai:v0.30.0";

/** Whose exception it is that a request failed of, by the files of its frames. */
const RAISED_BY = [
  {
    below: /^openai_harmony\//,
    what: "vLLM's reader of gpt-oss (openai_harmony) fails on what the model writes now and then",
    advice:
      "The client may send the request again. If it happens often, pin a newer release: its reader is another one.",
  },
  {
    below: /(?:^|\/)tool_parsers?\/|_tool_parser\.py$/,
    what: "the tool parser fails on what the model writes",
    advice: "Set `tools.parser` to the parser that reads it, or pin a newer release.",
  },
  {
    below: /(?:^|\/)reasoning\/|_reasoning_parser\.py$/,
    what: "the reasoning parser fails on what the model writes",
    advice: "Set `reasoningParser` to that of the model's family, or pin a newer release.",
  },
  {
    below: /^(?:xgrammar|outlines\w*|llguidance|lmformatenforcer)\/|structured_output/,
    what: "the form that the client asks for (a JSON schema or a grammar) can't be made",
    advice:
      'Take what the message names out of the client\'s schema, or another backend: `--structured-outputs-config \'{"backend":"guidance"}\'` in `extraArgs`.',
  },
  {
    below: /^(?:PIL|av|cv2|torchvision|decord|soundfile|librosa)\/|\/multimodal\//,
    what: "a picture, a film or a sound of the request can't be read",
    advice: "Look at what the client sends; vLLM has to reach an address itself that it is given.",
  },
  {
    below: /^mistral_common\//,
    what: "Mistral's own tokenizer refuses the conversation",
    advice:
      "It wants roles that take turns, and ids of tool calls of 9 letters and digits: look at what the client sends.",
  },
] as const;

/** Whether a log is of a server that serves, and goes on. */
const serves = (picture: Picture, log: LogReading): boolean =>
  isUp(log) && (endOf(picture, log) === undefined || isHealthy(picture, log));

/** Of whom a rule has to say nothing: another one reads its words. */
const KNOWN_ELSEWHERE =
  /maximum context length|max_model_len=|system message must be|[Ss]ystem message|jinja2|[Cc]hat template|TemplateError|UndefinedError|EngineDead|out of memory|CUDA|claude-/;

const saidOf = ({ why }: Pick<Refused, "why">): string =>
  why === undefined ? "" : `${why.kind ?? ""} ${why.said}`;

/** Requests that fail again and again while the server goes on. */
function failing(_picture: Picture, log: LogReading): Explanation | undefined {
  const { refused = [], broken = [] } = log.requests ?? {};
  const failed = [
    ...refused
      .filter(({ status }) => status >= 500)
      .flatMap(({ count, line, why, method, path, status }) =>
        why === undefined ? [] : { count, line, why, what: `${method} ${path} with ${status}` },
      ),
    ...broken.map(({ count, why }) => ({
      count,
      line: why.line,
      why,
      what: "in the middle of a stream",
    })),
  ];
  const most = failed.find(
    (each) => each.count >= FAILED_AGAIN && !KNOWN_ELSEWHERE.test(saidOf(each)),
  );
  if (most === undefined) return failingUnsaid(log);
  const { said, at, files = [] } = most.why;
  const by = RAISED_BY.find(({ below }) => files.some((file) => below.test(file)));
  const place = at?.split(": ", 1)[0];
  return {
    cause: `Requests fail again and again (${most.count} times, ${most.what}): ${by === undefined ? "" : `${by.what}: `}${clause(said.slice(0, SHOWN))}.`,
    evidence: most.line,
    target: log.container,
    advice:
      by?.advice ??
      `The server goes on, so it is these requests${place === undefined ? "" : `, or the code in ${place}`}: look at what the client sends, or pin another release.`,
    command: PIN,
  };
}

/** Requests that fail again and again, where the log doesn't say of what. */
function failingUnsaid(log: LogReading): Explanation | undefined {
  const most = log.requests?.refused.find(
    ({ status, why, count, answered }) =>
      status >= 500 &&
      why === undefined &&
      count >= (isExcerpt(log) ? 1 : AGAIN_AND_AGAIN) &&
      answered === 0,
  );
  if (most === undefined) return undefined;
  const what = `${most.method} ${most.path} with ${most.status}`;
  return {
    cause: `${most.count === 1 ? `A request fails (${what})` : `Requests fail again and again (${most.count} times, ${what})`}, and the log doesn't say why.`,
    evidence: most.line,
    target: log.container,
    advice:
      "Give doctor the whole log: what is raised stands before the first of them. The client's own answer may say it, and so does vLLM with `--log-error-stack` in `extraArgs`.",
    command: "serving verify --only chat",
  };
}

/** Characters of a message that are shown. */
const SHOWN = 300;

/** Where a client asks for an answer of the model. */
const FOR_AN_ANSWER = /\/(?:chat\/completions|completions|messages|responses)$/;
/** What browsers and monitoring ask of any server. */
const NOBODY_MEANT =
  /^\/$|favicon|robots\.txt|\.well-known|apple-touch|^\/(?:metrics|health|ping)$/;

/** How a refusal is told by its status, its path and what vLLM logs of it; the first that fits. */
const REFUSALS: readonly {
  readonly is: (refused: Refused) => boolean;
  readonly atLeast?: number;
  readonly say: (
    refused: Refused,
    served: readonly string[],
  ) => { readonly cause: string; readonly advice: string; readonly command?: string };
}[] = [
  {
    is: ({ status, path }) => (status === 404 || status === 405) && /\/\//.test(path),
    atLeast: ADDRESS_AGAIN,
    say: ({ path }) => ({
      cause: `it asks for \`${path}\`, since its base URL ends in a slash and it adds another`,
      advice: /\/v1\b/.test(path)
        ? "Take the slash at the end of the client's base URL away."
        : "Take the slash at the end of the client's base URL away, and write /v1 in its place, unless it is a client of the messages API, which takes the bare address.",
    }),
  },
  {
    is: ({ status, path }) =>
      status === 404 && /^\/(?:models|completions|embeddings|rerank)$/.test(path),
    say: ({ path }) => ({
      cause: `it asks for \`${path}\`, so its base URL lacks the /v1 that it doesn't add itself`,
      advice: "Write the base URL with /v1 at its end.",
    }),
  },
  {
    is: ({ status, path }) =>
      status === 404 &&
      /^\/(?:v1\/)?api\/(?:tags|chat|generate|show|ps|version|embed\w*|pull)$/.test(path),
    say: ({ path }) => ({
      cause: `it speaks Ollama's API (\`${path}\`), which vLLM doesn't have`,
      advice:
        "Set the client's provider to an OpenAI-compatible one, with a base URL that ends in /v1.",
    }),
  },
  {
    is: ({ status, answered }) => (status === 401 || status === 403) && answered === 0,
    say: () => ({
      cause:
        "it sends no key, or another one than the server was started with (`--api-key`, VLLM_API_KEY)",
      advice: "Give the client the server's key, or start the server without one.",
    }),
  },
  {
    atLeast: ADDRESS_AGAIN,
    // One that is answered by another name only tries.
    is: (refused) =>
      refused.status === 404 && refused.answered === 0 && /does not exist/.test(saidOf(refused)),
    say: (refused, served) => {
      const name =
        /The model [`'"]([^`'"]{1,120})[`'"]/.exec(saidOf(refused))?.[1] ?? "another model";
      return {
        cause: `it asks for the model \`${name}\`, and the server answers to ${served.length === 0 ? "another name" : served.map((each) => `\`${each}\``).join(", ")}`,
        advice: `Write that name in the client's file, or add \`${name}\` to \`servedModelName\`.`,
      };
    },
  },
  {
    is: ({ status, path }) =>
      status === 404 &&
      /^\/v1\/(?:embeddings|rerank|score|audio\/\w+|images\/\w+|pooling)$/.test(path),
    say: ({ path }) => ({
      cause: `it asks for \`${path}\`, which this model doesn't have`,
      advice: "Such a request needs a server with a model of that kind (`model.kind`).",
    }),
  },
  {
    is: ({ status, path }) => status === 405 && /^\/v1\//.test(path),
    say: ({ method, path }) => ({
      cause: `it asks for \`${path}\` by ${method}, which isn't how that is asked`,
      advice:
        "A redirection (from http to https, or of a slash) makes a GET of a POST: write the address in the client as the server has it.",
    }),
  },
  {
    is: (refused) => /tool choice requires|--enable-auto-tool-choice/.test(saidOf(refused)),
    say: () => ({
      cause: "it sends tools, and the server was started without a tool parser",
      advice:
        "Set `tools.parser` (and `tools.autoChoice: true`) to the parser of the model's family.",
    }),
  },
  {
    is: (refused) =>
      /not a multimodal model|At most 0 (?:image|video|audio)|does not support (?:image|video|audio)/i.test(
        saidOf(refused),
      ),
    say: () => ({
      cause: "it sends pictures or sounds, and the model only reads text",
      advice: "Switch them off in the client, or serve a model that reads them.",
    }),
  },
  {
    is: (refused) =>
      /encoder cache|At most \d+ (?:image|video|audio)|too many (?:image|video|audio)/i.test(
        saidOf(refused),
      ),
    say: ({ why }) => ({
      cause: `vLLM says: ${clause((why?.said ?? "").slice(0, SHOWN))}`,
      advice:
        'Let the client send fewer or smaller pictures. Or start the server with room for them: `--limit-mm-per-prompt \'{"image": {"count": 4, "width": 2048, "height": 2048}}\'` in `extraArgs` says how many and how large, and `maxNumBatchedTokens` must be no less than the tokens of one.',
    }),
  },
  {
    is: ({ status, why }) => ![401, 403, 404].includes(status) && why !== undefined,
    say: ({ why }) => ({
      cause: `vLLM says: ${clause((why?.said ?? "").slice(0, SHOWN))}`,
      advice: "Look at what that client sends: the server is well.",
    }),
  },
  {
    is: ({ status, path, answered }) =>
      (status === 400 || status === 422) && answered === 0 && FOR_AN_ANSWER.test(path),
    say: () => ({
      cause: "it got no answer at all, and vLLM only tells the client why",
      advice:
        "Read what the client shows; `--log-error-stack` in `extraArgs` has vLLM log it too. Usual are a prompt longer than the window (`maxModelLen`), tools without a parser (`tools.parser`), pictures for a model that only reads text, and a model without a chat template (`chatTemplate`).",
      command: "serving verify",
    }),
  },
  {
    is: ({ status, path, answered, why }) =>
      status === 404 && answered === 0 && why === undefined && FOR_AN_ANSWER.test(path),
    say: ({ path }) => ({
      cause: /\/(?:messages|responses)$/.test(path)
        ? `the server has no model of the name that it asks for, or no \`${path}\`, which older releases and other servers lack`
        : "the server has no model of the name that it asks for",
      advice:
        "Compare the client's model with what /v1/models lists (`servedModelName`): vLLM answers 404 to any other name.",
      command: "serving plan --format json | jq '.machines[].endpoints'",
    }),
  },
  {
    is: ({ status, path, answered }) =>
      status === 404 && answered === 0 && !NOBODY_MEANT.test(path) && !FOR_AN_ANSWER.test(path),
    say: ({ path }) => ({
      cause: `it asks for \`${path}\`, which this server doesn't have`,
      advice:
        "Chats are at /v1/chat/completions: set the client to an OpenAI-compatible server, with a base URL that ends in /v1.",
    }),
  },
];

/** The names that a server answers to, as it was started. */
function namesOf(picture: Picture, log: LogReading): string[] {
  const { settings } = serverOf(picture, log);
  const given = argumentsOf(log).find(({ names }) => names.includes("--served-model-name"))?.value;
  const names =
    given === undefined ? [] : [...given.matchAll(/'([^']+)'/g)].map(([, name = ""]) => name);
  return names.length > 0 || settings === undefined
    ? names
    : [settings.servedModelName].flat().slice(0, 3);
}

/** Lines of a log of which somebody kept only what failed. */
const FEW_LINES = 20;

/**
 * Whether nothing but failed requests is left of a log: then one is what somebody asks about. A
 * server may have come up in it where it says why it refuses.
 */
const isExcerpt = ({ lines, hits, requests }: LogReading, why?: Refused["why"]): boolean =>
  lines <= FEW_LINES &&
  requests?.answered === 0 &&
  !hits.has(STARTED_WITH) &&
  (why !== undefined || !hits.has(READY));

function refusing(picture: Picture, log: LogReading): Explanation | undefined {
  for (const refused of log.requests?.refused ?? []) {
    if (refused.status >= 500 || KNOWN_ELSEWHERE.test(saidOf(refused))) continue;
    const kind = REFUSALS.find(({ is }) => is(refused));
    const same = kind?.atLeast === undefined ? refused.count : countOf(log, kind.is);
    const why = kind?.atLeast === undefined ? refused.why : undefined;
    const least = isExcerpt(log, why) ? 1 : (kind?.atLeast ?? AGAIN_AND_AGAIN);
    if (kind === undefined || same < least) continue;
    const { cause, advice, command = LOOK } = kind.say(refused, namesOf(picture, log));
    const { client, method, path, status } = refused;
    const often = same === 1 ? "(" : `again and again (${same} times, `;
    return {
      cause: `A client${client === "" ? "" : ` (${client})`} is refused ${often}${method} ${path}, ${status}): ${cause}.`,
      evidence: refused.line,
      target: log.container,
      advice,
      command,
    };
  }
  return undefined;
}

const countOf = ({ requests }: LogReading, is: (refused: Refused) => boolean): number =>
  (requests?.refused ?? []).filter(is).reduce((sum, { count }) => sum + count, 0);

/** What jinja raises, and how vLLM says it. */
const OF_TEMPLATE =
  /jinja2\.exceptions\.\w+|[Cc]hat template (?:rejected|error)|\bTemplate(?:Syntax|Runtime|Assertion|sNotFound)?Error\b|UndefinedError/;
/** A system element in the middle has its own rule. */
const OF_SYSTEM = /[Ss]ystem message must be/;

function refusedByTemplate(picture: Picture, log: LogReading): Explanation | undefined {
  const { refused = [], answered = 0 } = log.requests ?? {};
  const found = refused.filter(
    ({ status, why }) =>
      status >= 400 &&
      why !== undefined &&
      OF_TEMPLATE.test(`${why.kind ?? ""} ${why.said}`) &&
      !OF_SYSTEM.test(why.said),
  );
  const [first] = found;
  const count = found.reduce((sum, each) => sum + each.count, 0);
  if (first?.why === undefined || (answered > 0 && first.count < AGAIN_AND_AGAIN)) return undefined;
  const { settings, set } = serverOf(picture, log);
  const told = first.why.said.replace(/^.*?[Cc]hat template rejected the request: /, "");
  const said = clause(told.slice(0, SHOWN));
  const every = answered === 0 ? "every chat so far" : `${count} chats`;
  const turns = /roles? must alternate|alternate user/i.test(said);
  return {
    cause: `The chat template refuses ${every}: ${said}.`,
    evidence: first.line,
    target: log.container,
    edits: settings?.chatTemplate === undefined ? [] : [set(["chatTemplate"], undefined)],
    advice: [
      settings?.chatTemplate === undefined
        ? "Correct the model's own chat_template.jinja, or give another template with `chatTemplate`."
        : "Without the setting the model's own template is used. Or correct the template.",
      ...(turns
        ? [
            "It takes no two messages of one role in a row: agents that send a system element or tool results need a template that takes them.",
          ]
        : []),
    ].join(" "),
    command: "serving plan && serving up && serving verify --only chat",
  };
}

const overServing = (explain: Parameters<typeof ofSomeLog>[0]) => ofSomeLog(explain, serves);

/** What a server that is up tells of its requests. */
export const requestRules: readonly WeighingRule[] = [
  { id: "template-refuses", explain: overServing(refusedByTemplate) },
  { id: "requests-fail", explain: overServing(failing) },
  { id: "client-refused", explain: overServing(refusing) },
];
