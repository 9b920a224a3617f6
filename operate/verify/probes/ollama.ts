import { gte } from "@renovatebot/pep440";
import { isHere } from "../../../components/planned/reach";
import type { Api } from "../api";
import { ask } from "../http";
import { objectsIn, textOr } from "../json";
import { fail, type Probe, pass, skip } from "../probe";
import { quote } from "../quote";
import type { OllamaTarget } from "../targets";
import { isVersion } from "../versionNumber";

type OllamaProbe = Probe<OllamaTarget>;

/** First version with a messages-style surface: the specification, "Versioning" 4. */
const FLOOR = "0.14.0";

const SETTING = "simpleServer";

/** Seconds that an address of this very machine gets; a firewall that drops answers nothing at all. */
const ADDRESS_SECONDS = 3;

const ollamaVersion: OllamaProbe = {
  name: "ollama-version",
  about: `GET /api/version is at least ${FLOOR}`,
  fix: () => "See `systemctl status ollama` and who has the port (`ss -lntp`).",
  run: async ({ api }) => {
    const version = textOr((await api.json("/api/version")).version);
    if (!isVersion(version))
      return fail(
        `it says no version: \`${quote(version)}\``,
        "What listens there may be no Ollama: `ss -lntp`.",
      );
    return gte(version, FLOOR)
      ? pass(`Ollama ${version}`)
      : fail(
          `Ollama ${version} has no messages-style surface`,
          `Install ${FLOOR} or later (curl -fsSL https://ollama.com/install.sh | sh).`,
        );
  },
};

const ollamaModels: OllamaProbe = {
  name: "ollama-models",
  about: "GET /api/tags lists the declared models",
  fix: () => `\`${SETTING}.models\`; \`ollama pull NAME\` brings one.`,
  run: async ({ api, plan: { models } }) => {
    const there = await modelsOf(api);
    const missing = models.filter((model) => !isAmong(there, model));
    if (missing.length === 0)
      return pass(there.length === 0 ? "no model yet, none declared" : there.map(quote).join(", "));
    return fail(
      `not there: ${missing.join(", ")}`,
      `${missing.map((model) => `ollama pull ${model}`).join("; ")} (or \`${SETTING}.pull: true\`). If they were pulled before: an older container keeps its models in a volume of its own.`,
    );
  },
};

async function modelsOf(api: Api): Promise<string[]> {
  return objectsIn((await api.json("/api/tags")).models).map((model) => textOr(model.name));
}

const isAmong = (models: readonly string[], model: string) =>
  models.includes(model) || models.includes(`${model}:latest`);

/** Whether an Ollama has a model; asking loads nothing. */
export async function ollamaHas(api: Api, model: string): Promise<boolean> {
  return isAmong(await modelsOf(api), model);
}

const ollamaListen: OllamaProbe = {
  name: "ollama-listen",
  about: "it listens where it is declared to, and answers on the network address if declared",
  fix: () => `\`${SETTING}.listen\``,
  run: async ({ host, plan: { listen, port, unit }, machine }) => {
    if (!isHere(machine)) return skip("addresses are read on the machine itself");
    const addresses = host.lanAddresses();
    if (addresses.length === 0) return skip("this machine has no network address");
    const answers = await Promise.all(
      addresses.map((address) =>
        ask(`http://${address}:${port}/api/version`, { timeoutSeconds: ADDRESS_SECONDS }).catch(
          () => undefined,
        ),
      ),
    );
    const reachable = addresses.filter((_, index) => answers[index]?.status === 200);
    if (listen === "0.0.0.0") {
      const missing = addresses.filter((address) => !reachable.includes(address));
      return missing.length === 0
        ? pass(`answers on ${reachable.join(", ")}`)
        : fail(
            `declared for the network, it does not answer on ${missing.join(", ")}`,
            `The listen override was not applied: sudo systemctl daemon-reload && sudo systemctl restart ${unit} (its drop-in sets OLLAMA_HOST), or a firewall is in between.`,
          );
    }
    return reachable.length === 0 || reachable.includes(listen)
      ? pass(`only on ${listen}`)
      : fail(
          `declared for ${listen} alone, it answers on ${reachable.join(", ")}`,
          `\`${SETTING}.listen: 0.0.0.0\`, if that is meant; else restart the service so that its drop-in applies.`,
        );
  },
};

const ollamaDirectory: OllamaProbe = {
  name: "ollama-directory",
  about: "its model directory is there",
  fix: () => `\`${SETTING}.modelsDirectory\``,
  run: async ({ host, plan: { modelsDirectory, serviceUser }, machine }) => {
    if (!isHere(machine)) return skip("files are read on the machine itself");
    return (await host.file(modelsDirectory)) === undefined
      ? fail(
          `${modelsDirectory} is not there`,
          `Make it, owned by ${serviceUser}, or set \`${SETTING}.modelsDirectory\`.`,
        )
      : pass(modelsDirectory);
  },
};

/** Loaded models may come out this much above their record before the ledger is wrong. */
const MEMORY_TOLERANCE = 0.02;

const BYTES_PER_GIB = 1024 ** 3;

const ollamaMemory: OllamaProbe = {
  name: "ollama-memory",
  about: "GET /api/ps: what loaded models take, against the memory ledger",
  fix: () => `\`${SETTING}.loadedGiB\``,
  run: async ({ api, plan: { loadedGiB, models }, machine }) => {
    const loaded = objectsIn((await api.json("/api/ps")).models).flatMap(({ name, size }) =>
      typeof size === "number"
        ? [{ name: textOr(name), gib: Math.round((size / BYTES_PER_GIB) * 100) / 100 }]
        : [],
    );
    if (loaded.length === 0) return skip("no model is loaded: ask one something, then look again");
    const seen = loaded.map(({ name, gib }) => `${quote(name)} ${gib.toFixed(2)} GiB`).join(", ");
    const declared = loaded.flatMap(({ name, gib }) => {
      const model = models.find((each) => each === name || `${each}:latest` === name);
      return model === undefined ? [] : [{ model, gib, counted: loadedGiB[model] }];
    });
    const other = declared.filter(
      ({ gib, counted }) => counted === undefined || Math.abs(gib - counted) > MEMORY_TOLERANCE * counted,
    );
    const record = [
      `Record in the stack file, below machines.${machine.name}.${SETTING}:`,
      "  loadedGiB:",
      ...other.map(({ model, gib }) => `    ${model}: ${gib}`),
    ].join("\n");
    const above = other.filter(({ gib, counted }) => counted !== undefined && gib > counted);
    if (above.length > 0) {
      const counts = above.map(({ model, counted }) => `${model} with ${counted} GiB`).join(", ");
      return fail(`${seen}; the memory ledger counts ${counts}`, record);
    }
    return pass(seen, other.length === 0 ? "" : record);
  },
};

export const ollamaProbes: readonly OllamaProbe[] = [
  ollamaVersion,
  ollamaModels,
  ollamaListen,
  ollamaDirectory,
  ollamaMemory,
];
