import { refusalText } from "../api";
import { ask } from "../http";
import { isJsonObject, objectOr, objectsIn, parseJson, textOr } from "../json";
import { BadAnswer, fail, type Probe, pass } from "../probe";
import { quote } from "../quote";
import type { ChatUiTarget } from "../targets";

type ChatUiProbe = Probe<ChatUiTarget>;

/** Name of the variable with an API key of the chat UI, for who wants its own model list checked too. */
export const CHAT_UI_KEY_VARIABLE = "LOCAL_SERVING_CHAT_UI_KEY";

const chatUiHealth: ChatUiProbe = {
  name: "chat-ui-health",
  about: "GET /health of the chat UI",
  fix: ({ name }) => `See docker logs ${name}; a first start takes one to two minutes.`,
  run: async (target) => {
    const answer = await target.api.get("/health");
    const body = parseJson(answer.text);
    return answer.status === 200 && isJsonObject(body) && body.status === true
      ? pass("healthy")
      : fail(`/health answered ${answer.status}: ${refusalText(answer)}`, chatUiHealth.fix(target));
  },
};

/** One connection of the chat UI, as its variables have it. */
interface Connection {
  readonly url: string;
  readonly key: string | undefined;
  readonly kind: "openai" | "ollama";
}

const chatUiModels: ChatUiProbe = {
  name: "chat-ui-models",
  about: "the chat UI sees the models of each of its connections",
  fix: ({ name }) =>
    `A connection is an address as the container sees it (docker exec ${name} curl URL/models): \`chatUi.connections\`, and \`listen\` of the server.`,
  run: async (target) => {
    const connections = connectionsOf(target);
    if (connections.length === 0) return fail("it has no connection to any server", "`chatUi.connections`");
    const seen: string[] = [];
    const blind: string[] = [];
    for (const connection of connections) {
      const models = await modelsBehind(target, connection);
      if (typeof models === "string") blind.push(models);
      else seen.push(...models);
    }
    if (blind.length > 0) return fail(blind.join("; "), chatUiModels.fix(target));
    const listed = await ownList(target);
    const missing = listed === undefined ? [] : seen.filter((model) => !listed.includes(model));
    return missing.length === 0
      ? pass(
          `${seen.map(quote).join(", ")} ${listed === undefined ? `(asked from inside its container; with ${CHAT_UI_KEY_VARIABLE} its own list is compared too)` : "(its own list)"}`,
        )
      : fail(`its own list lacks ${missing.map(quote).join(", ")}`, chatUiModels.fix(target));
  },
};

function connectionsOf({ container: { env } }: ChatUiTarget): Connection[] {
  const list = (name: string) => (env[name] ?? "").split(";").filter(Boolean);
  const keys = list("OPENAI_API_KEYS");
  const on = (name: string) => env[name]?.toLowerCase() !== "false";
  return [
    ...(on("ENABLE_OPENAI_API")
      ? list("OPENAI_API_BASE_URLS").map((url, index) => ({ url, key: keys[index], kind: "openai" as const }))
      : []),
    ...(on("ENABLE_OLLAMA_API")
      ? list("OLLAMA_BASE_URLS").map((url) => ({ url, key: undefined, kind: "ollama" as const }))
      : []),
  ];
}

/** Models that a connection offers, asked from inside the container; a sentence where it offers none. */
async function modelsBehind(
  target: ChatUiTarget,
  { url, key, kind }: Connection,
): Promise<string[] | string> {
  const path = kind === "openai" ? `${url}/models` : `${url}/api/tags`;
  const bearer = key === undefined ? [] : ["-H", `Authorization: Bearer ${key}`];
  const args = ["exec", target.name, "curl", "-fsS", "-m", "10", ...bearer, path];
  let text: string;
  try {
    text = await target.host.docker(args);
  } catch (error) {
    return `${url} can't be reached from inside ${target.name} (${quote(error instanceof Error ? error.message : String(error))})`;
  }
  const body = objectOr(parseJson(text));
  const models =
    kind === "openai"
      ? objectsIn(body.data).map((model) => textOr(model.id))
      : objectsIn(body.models).map((model) => textOr(model.name));
  // An Ollama without models is well and has nothing to show.
  return models.length > 0 || kind === "ollama" ? models : `${url} offers no model`;
}

/** Ids in the chat UI's own list; `undefined` where no key for it is set. */
async function ownList({ api, host }: ChatUiTarget): Promise<string[] | undefined> {
  const key = host.env[CHAT_UI_KEY_VARIABLE];
  if (key === undefined || key === "") return undefined;
  const answer = await ask(`${api.baseUrl}/api/models`, {
    headers: { authorization: `Bearer ${key}` },
    timeoutSeconds: api.timeoutSeconds,
  });
  if (answer.status !== 200)
    throw new BadAnswer(`/api/models answered ${answer.status}: ${refusalText(answer)}`);
  return objectsIn(objectOr(parseJson(answer.text)).data).map((model) => textOr(model.id));
}

export const chatUiProbes: readonly ChatUiProbe[] = [chatUiHealth, chatUiModels];
