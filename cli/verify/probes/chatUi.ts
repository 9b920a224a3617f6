import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { ask } from "@local-serving/base/http/ask";
import { BadAnswer, quote, quotedList } from "../../sees/answer";
import { answeredText } from "../../sees/api";
import { fail, pass, skip, type Verdict } from "../probe";
import type { ChatUiTarget, ProbesOf } from "../target";

/**
 * Name of the variable with a token of the chat UI (Settings, Account, JWT Token). With it the chat
 * UI's own model list is checked too. The chat UI's API keys are switched off by default.
 */
export const CHAT_UI_KEY_VARIABLE = "LOCAL_SERVING_CHAT_UI_KEY";

export const chatUiProbes: ProbesOf<"chat-ui"> = [
  {
    name: "chat-ui-health",
    about: "GET /health of the chat UI",
    fix: ({ name }) => `See docker logs ${name}; a first start takes one to two minutes.`,
    run: async ({ api }) => {
      const answer = await api.get("/health");
      const isWell = answer.status === 200 && objectOr(jsonIn(answer.text)).status === true;
      return isWell ? pass("healthy") : fail(answeredText("/health", answer));
    },
  },
  {
    name: "chat-ui-models",
    about: "the chat UI sees the models of each of its connections",
    fix: ({ name }) =>
      `The container must reach each connection's address: try docker exec ${name} curl URL/models, then see \`chatUi.connections\`, and \`listen\` of the server.`,
    run: seeModels,
  },
];

/**
 * How a kind of connection is declared in the container's variables, and where it lists its models.
 */
const OPENAI = {
  enabledBy: "ENABLE_OPENAI_API",
  urls: "OPENAI_API_BASE_URLS",
  keys: "OPENAI_API_KEYS",
  path: "/models",
  list: "data",
  id: "id",
};
const OLLAMA: typeof OPENAI = {
  enabledBy: "ENABLE_OLLAMA_API",
  urls: "OLLAMA_BASE_URLS",
  keys: "",
  path: "/api/tags",
  list: "models",
  id: "name",
};

const hostnameOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : "");

type Connection = ReturnType<typeof connectionsOf>[number];

async function seeModels(target: ChatUiTarget): Promise<Verdict> {
  const connections = connectionsOf(target.container.env);
  if (connections.length === 0)
    return fail("it has no connection to any server", "Set `chatUi.connections`.");
  const running = await runningVariables(target);
  const there = running === undefined ? connections : connectionsOf(running);
  const lost = connections.filter(
    ({ url, kind }) => !there.some((it) => it.url === url && it.kind === kind),
  );
  if (lost.length > 0) {
    const fix =
      "`serving up` brings the container to the plan; if you want other connections, set `chatUi.connections`.";
    return fail(
      `its container runs without the planned connection ${lost.map(({ url }) => url).join(", ")}`,
      fix,
    );
  }
  const asked = connections.filter(({ url }) => !target.stopped.includes(hostnameOf(url)));
  if (asked.length === 0) return skip("none of the servers it is connected to runs, as planned");
  const offered = await Promise.all(asked.map((each) => modelsBehind(target, each)));
  const blind = offered.filter((each) => typeof each === "string");
  if (blind.length > 0) return fail(blind.join("; "));
  const seen = offered.flatMap((each) => (typeof each === "string" ? [] : each));
  const models = quotedList(seen);
  const token = target.host.env[CHAT_UI_KEY_VARIABLE] ?? "";
  if (token === "")
    return pass(
      `${models} (asked from inside its container; set ${CHAT_UI_KEY_VARIABLE} to its token to compare its own list too)`,
    );
  const listed = await ownList(target, token);
  if (listed === "refused") {
    const fix = `Copy a new one (in the chat UI: Settings, Account, JWT Token), or unset ${CHAT_UI_KEY_VARIABLE}.`;
    return fail(`it refuses the token in ${CHAT_UI_KEY_VARIABLE}`, fix);
  }
  const missing = seen.filter((model) => !listed.includes(model));
  if (missing.length === 0) return pass(`${models} (its own list)`);
  const fix = `An administrator sees every model, other users only those that they were given: take an administrator's token. If it is one, see which connection fails in docker logs ${target.name}.`;
  return fail(`its own list lacks ${quotedList(missing)}`, fix);
}

/**
 * Variables that a container really runs with; `undefined` if Docker does not tell. Keys among them
 * are not shown.
 */
export async function runningVariables({
  host,
  name,
}: Pick<ChatUiTarget, "host" | "name">): Promise<Variables | undefined> {
  const text = await host.docker(["inspect", "--type", "container", name]).catch(() => "");
  const [container] = objectsIn(jsonIn(text));
  const env = objectOr(container?.Config).Env;
  if (!Array.isArray(env)) return undefined;
  const pairs = env.map((each): [string, string] => {
    const [variable = "", ...value] = String(each).split("=");
    return [variable, value.join("=")];
  });
  return Object.fromEntries(pairs);
}

type Variables = Readonly<Record<string, string | undefined>>;

function connectionsOf(env: Variables) {
  const list = (name: string) => (env[name] ?? "").split(";").filter(Boolean);
  return [OPENAI, OLLAMA]
    .filter(({ enabledBy }) => env[enabledBy]?.toLowerCase() !== "false")
    .flatMap((kind) =>
      list(kind.urls).map((url, index) => ({ kind, url, key: list(kind.keys)[index] })),
    );
}

/**
 * Models that a connection offers, asked from inside the container; a sentence if it offers none.
 */
async function modelsBehind(
  target: ChatUiTarget,
  { url, key, kind }: Connection,
): Promise<string[] | string> {
  const bearer = key === undefined ? [] : ["-H", `Authorization: Bearer ${key}`];
  const args = ["exec", target.name, "curl", "-fsS", "-m", "10", ...bearer, `${url}${kind.path}`];
  let text: string;
  try {
    text = await target.host.docker(args);
  } catch (error) {
    return `${url} can't be reached from inside ${target.name} (${quote(error instanceof Error ? error.message : String(error))})`;
  }
  const models = objectsIn(objectOr(jsonIn(text))[kind.list]).map((model) =>
    textOr(model[kind.id]),
  );
  // An Ollama without models is fine.
  return models.length > 0 || kind === OLLAMA ? models : `${url} offers no model`;
}

/** Ids in the chat UI's own list for the owner of the token. */
async function ownList({ api }: ChatUiTarget, token: string): Promise<string[] | "refused"> {
  const answer = await ask(`${api.baseUrl}/api/models`, {
    headers: { authorization: `Bearer ${token}` },
    timeoutSeconds: api.timeoutSeconds,
  });
  if (answer.status === 401 || answer.status === 403) return "refused";
  if (answer.status !== 200) throw new BadAnswer(answeredText("/api/models", answer));
  return objectsIn(objectOr(jsonIn(answer.text)).data).map((model) => textOr(model.id));
}
