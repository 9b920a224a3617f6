import type { Api } from "../api";
import { type JsonObject, objectsIn, textOr } from "../json";
import { BadAnswer, fail, pass, type ServerProbe } from "../probe";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";

/** Entries of /v1/models, the canonical one first. */
export async function servedModels(api: Api): Promise<JsonObject[]> {
  const listed = objectsIn((await api.json("/v1/models")).data);
  if (listed.length === 0) throw new BadAnswer("/v1/models lists no model");
  return listed;
}

/** The name to ask for: the declared one, or what is served instead, so that one wrong name isn't forty faults. */
export async function modelName({ api, server }: ServerTarget): Promise<string> {
  const ids = (await servedModels(api)).map((each) => textOr(each.id));
  return ids.includes(server.servedModelName) ? server.servedModelName : (ids[0] ?? server.servedModelName);
}

/** The window in tokens that the server says it has, else the declared one. */
export async function servedWindow({ api, maxModelLen }: ServerTarget): Promise<number> {
  const [first] = await servedModels(api);
  return typeof first?.max_model_len === "number" ? first.max_model_len : maxModelLen;
}

const models: ServerProbe = {
  name: "models",
  about: "GET /v1/models: the first id is the declared name without a slash, every alias is there",
  fix: ({ setting }) => `The names are ${setting("servedModelName")} and ${setting("aliases")}.`,
  run: async ({ api, server, aliases, setting }) => {
    const ids = (await servedModels(api)).map((each) => textOr(each.id));
    const [first = ""] = ids;
    const restart = "The running server was started with other names: npm run up.";
    if (first.includes("/")) {
      return fail(
        `the first id is \`${quote(first)}\`: a coding client can't address an id with a slash`,
        `${setting("servedModelName")}: ${server.servedModelName.includes("/") ? server.servedModelName.split("/").at(-1) : server.servedModelName}, and the hub id under ${setting("aliases")}. ${restart}`,
      );
    }
    if (first !== server.servedModelName) {
      return fail(
        `the first id is \`${quote(first)}\`, declared is \`${server.servedModelName}\``,
        `${setting("servedModelName")}: ${quote(first)}, if that is meant. ${restart}`,
      );
    }
    const missing = aliases.filter((alias) => !ids.includes(alias));
    if (missing.length > 0) {
      return fail(
        `the aliases \`${missing.join("`, `")}\` are not served; served are \`${ids.map(quote).join("`, `")}\``,
        `${setting("aliases")} names them. ${restart}`,
      );
    }
    return pass(ids.map(quote).join(", "));
  },
};

const maxModelLen: ServerProbe = {
  name: "max-model-len",
  about: "GET /v1/models: max_model_len is the declared window",
  fix: ({ setting }) => `The window is ${setting("maxModelLen")}.`,
  run: async ({ api, maxModelLen: declared, setting }) => {
    const wrong = (await servedModels(api)).filter((each) => each.max_model_len !== declared);
    const [first] = wrong;
    if (first === undefined) return pass(`${declared} tokens`);
    return fail(
      `\`${quote(textOr(first.id))}\` has a window of ${String(first.max_model_len)} tokens, declared are ${declared}`,
      `${setting("maxModelLen")}: ${String(first.max_model_len)}, if that is meant; else start the server as planned (npm run up).`,
    );
  },
};

export const modelProbes: readonly ServerProbe[] = [models, maxModelLen];
