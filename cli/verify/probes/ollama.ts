import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { isHere } from "@local-serving/machines/address";
import { lowestAllowed, whyRefused } from "../../../components/supply/releases";
import { quote, quotedList } from "../../sees/answer";
import type { Api } from "../../sees/api";
import { fail, pass, skip } from "../probe";
import type { ProbesOf } from "../target";
import { askOnTheNetwork } from "./asking";
import { isVersion } from "./server";

const SETTING = "simpleServer";

/** Loaded models may come out this much above their record before the ledger is wrong. */
const MEMORY_TOLERANCE = 0.02;

const modelsOf = async (api: Api) =>
  objectsIn((await api.json("/api/tags")).models).map((model) => textOr(model.name));

/** Whether a declared name is this model's; Ollama adds the tag `latest`. */
const isNamed = (declared: string) => (name: string) =>
  name === declared || name === `${declared}:latest`;

const NONE_LOADED = "no model is loaded: send one a request, then run this again";

/** The longest context that a model has by itself, as `ollama show` prints it; 0 if it says none. */
async function ownContext(api: Api, model: string): Promise<number> {
  const shown = await api.json("/api/show", { model }).catch(() => ({ model_info: {} }));
  const info = Object.entries(objectOr(shown.model_info));
  const lengths = info.flatMap(([key, value]) =>
    key.endsWith(".context_length") && typeof value === "number" ? [value] : [],
  );
  return Math.max(0, ...lengths);
}

/** How a loaded model differs from what is declared, and what mends that. */
async function loadedOtherwise(
  api: Api,
  { name, context_length: context, size, size_vram: vram }: JsonObject,
  declared: number,
): Promise<{ readonly fault: string; readonly fix: "context" | "place" }[]> {
  const model = quote(textOr(name));
  const faults: { fault: string; fix: "context" | "place" }[] = [];
  const own = typeof context === "number" ? await ownContext(api, textOr(name)) : 0;
  const wanted = own > 0 ? Math.min(own, declared) : declared;
  if (typeof context === "number" && context !== wanted)
    faults.push({
      fault: `${model} has a context of ${context} tokens, and ${declared} are declared`,
      fix: "context",
    });
  if (typeof size === "number" && typeof vram === "number" && vram < size)
    faults.push({
      fault: `${Math.round((1 - vram / size) * 100)} % of ${model} is on the processor, which is slow`,
      fix: "place",
    });
  return faults;
}

/** Whether an Ollama has a model; asking loads nothing. */
export const ollamaHas = async (api: Api, model: string) =>
  (await modelsOf(api)).some(isNamed(model));

export const ollamaProbes: ProbesOf<"simple-server"> = [
  {
    name: "ollama-version",
    about: "GET /api/version is a release that may run",
    fix: () => "See `systemctl status ollama` and which program has the port (`ss -lntp`).",
    run: async ({ api }) => {
      const version = textOr((await api.json("/api/version")).version);
      if (!isVersion(version)) {
        const fix = "The program that listens there may not be Ollama: `ss -lntp`.";
        return fail(`it gives no version: \`${quote(version)}\``, fix);
      }
      const why = whyRefused("ollama", version);
      if (why === undefined) return pass(`Ollama ${version}`);
      const fix = `Install ${lowestAllowed("ollama")} or later (curl -fsSL https://ollama.com/install.sh | sh).`;
      return fail(`Ollama ${version}: ${why}`, fix);
    },
  },
  {
    name: "ollama-models",
    about: "GET /api/tags lists the declared models",
    fix: () => `\`${SETTING}.models\` lists them; \`ollama pull NAME\` downloads one.`,
    run: async ({ api, plan: { models } }) => {
      const there = await modelsOf(api);
      const missing = models.filter((model) => !there.some(isNamed(model)));
      if (missing.length === 0) return pass(quotedList(there, "no model yet, none declared"));
      const fix = `${missing.map((model) => `ollama pull ${model}`).join("; ")} (or \`${SETTING}.pull: true\`). If you pulled them before, look for an older Ollama container: it keeps its models in its own volume.`;
      return fail(`not there: ${missing.join(", ")}`, fix);
    },
  },
  {
    name: "ollama-listen",
    about: "it listens on its declared address, and answers on the network only if declared",
    fix: () => `See \`${SETTING}.listen\`.`,
    run: async ({ host, plan: { listen, port, unit }, machine }) => {
      if (!isHere(machine)) return skip("addresses are read on the machine itself");
      const addresses = await host.lanAddresses();
      if (addresses.length === 0) return skip("this machine has no network address");
      const answers = await askOnTheNetwork(host, port, "/api/version");
      const reachable = addresses.filter((address) => answers.get(address) === 200);
      if (listen === "0.0.0.0") {
        const missing = addresses.filter((address) => !reachable.includes(address));
        if (missing.length === 0) return pass(`answers on ${reachable.join(", ")}`);
        const fix = `The listen override was not applied: sudo systemctl daemon-reload && sudo systemctl restart ${unit} (its drop-in sets OLLAMA_HOST), or a firewall is in between.`;
        return fail(
          `it is declared for the network, but does not answer on ${missing.join(", ")}`,
          fix,
        );
      }
      if (reachable.length === 0 || reachable.includes(listen)) return pass(`only on ${listen}`);
      const fix = `Ollama asks for no key. Let its drop-in apply: sudo systemctl daemon-reload && sudo systemctl restart ${unit}. Other computers reach its models through the bridge, with a key (\`bridge.listen\`, \`bridge.keyVariable\`).`;
      return fail(
        `it is declared for ${listen} alone, but answers on ${reachable.join(", ")}`,
        fix,
      );
    },
  },
  {
    name: "ollama-directory",
    about: "its model directory exists",
    fix: () => `See \`${SETTING}.modelsDirectory\`.`,
    run: async ({ host, plan: { modelsDirectory, serviceUser } }) => {
      if ((await host.file(modelsDirectory)) !== undefined) return pass(modelsDirectory);
      const fix = `Make it, owned by ${serviceUser}, or set \`${SETTING}.modelsDirectory\`.`;
      return fail(`${modelsDirectory} is not there`, fix);
    },
  },
  {
    name: "ollama-memory",
    about: "GET /api/ps: memory of loaded models, against the memory ledger",
    fix: () => `See \`${SETTING}.loadedGiB\`.`,
    run: async ({ api, plan: { loadedGiB, models }, machine }) => {
      const loaded = objectsIn((await api.json("/api/ps")).models).flatMap(({ name, size }) =>
        typeof size === "number"
          ? [{ name: textOr(name), gib: Math.round((size / BYTES_PER_GIB) * 100) / 100 }]
          : [],
      );
      if (loaded.length === 0) return skip(NONE_LOADED);
      const seen = loaded.map(({ name, gib }) => `${quote(name)} ${gib.toFixed(2)} GiB`).join(", ");
      const other = loaded
        .flatMap(({ name, gib }) => {
          const model = models.find((each) => isNamed(each)(name));
          if (model === undefined) return [];
          return [
            { model, gib, counted: Object.hasOwn(loadedGiB, model) ? loadedGiB[model] : undefined },
          ];
        })
        .filter(
          ({ gib, counted }) =>
            counted === undefined || Math.abs(gib - counted) > MEMORY_TOLERANCE * counted,
        );
      const lines = other.map(({ model, gib }) => `\n    ${model}: ${gib}`).join("");
      const record = `Record in the stack file, below machines.${machine.name}.${SETTING}:\n  loadedGiB:${lines}`;
      const above = other.filter(({ gib, counted }) => counted !== undefined && gib > counted);
      if (above.length === 0) return pass(seen, other.length === 0 ? "" : record);
      const counts = above.map(({ model, counted }) => `${model} with ${counted} GiB`).join(", ");
      return fail(`${seen}; the memory ledger counts ${counts}`, record);
    },
  },
  {
    name: "ollama-context",
    about: "GET /api/ps: loaded models have the declared context, on the GPU",
    fix: () => `See \`${SETTING}.contextLength\`.`,
    run: async ({ api, plan: { environment, unit } }) => {
      const declared = Number(environment.OLLAMA_CONTEXT_LENGTH);
      const loaded = objectsIn((await api.json("/api/ps")).models);
      if (loaded.length === 0) return skip(NONE_LOADED);
      const found = await Promise.all(loaded.map((each) => loadedOtherwise(api, each, declared)));
      const faults = found.flat();
      const seen = loaded
        .map(({ name, context_length: context }) =>
          typeof context === "number" ? `${quote(textOr(name))} ${context} tokens` : "",
        )
        .filter((each) => each !== "");
      if (faults.length === 0)
        return pass(seen.join(", ") || "this Ollama doesn't say the context");
      const fixes = {
        context: `The drop-in isn't in effect (\`systemctl cat ${unit}\` shows which file sets OLLAMA_CONTEXT_LENGTH last), or a client asks with its own \`num_ctx\`. To keep what runs, write it as \`${SETTING}.contextLength\`.`,
        place: `Write a smaller \`${SETTING}.contextLength\`, take a smaller model, or free memory before it is loaded. If no model is on the GPU, the first lines of Ollama's log say why: serving doctor.`,
      };
      const fix = [...new Set(faults.map((each) => fixes[each.fix]))].join(" ");
      return fail(faults.map(({ fault }) => fault).join("; "), fix);
    },
  },
];
