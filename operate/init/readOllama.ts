import { BYTES_PER_GB } from "../../components/evidence/modelCache";
import type { Files } from "../../components/host/files";
import { BYTES_PER_GIB, upToHundredth } from "../../components/planned/utilization";
import { askOllama } from "../../components/preflight/readSimpleServer";
import { defined } from "../../faults/defined";
import { objectsIn, textOr } from "../../faults/json";
import { Api } from "../verify/api";
import type { OllamaFacts } from "./facts";

const OLLAMA_UNIT = "ollama.service";

const ANSWER_WITHIN_SECONDS = 5;

/**
 * An Ollama on the machine: its unit as systemd has it, and what answers where something listens at its usual address.
 * `undefined` where there is neither.
 */
export async function readOllama(
  files: Files,
  listens: { readonly url: string; readonly address: string } | undefined,
): Promise<OllamaFacts | undefined> {
  const { url = "", address } = listens ?? {};
  const [unit, answer] = await Promise.all([readUnit(files), url === "" ? undefined : askOllama(url)]);
  const answers = answer?.kind === "ollama";
  if (unit === undefined && !answers) return undefined;
  return {
    unit: unit !== undefined,
    ...unit,
    ...defined({ address, version: answers ? answer.version : undefined }),
    models: answers ? await readModels(url) : [],
  };
}

async function readUnit(files: Files): Promise<Pick<OllamaFacts, "user" | "modelsDirectory"> | undefined> {
  const properties = "--property=LoadState,User,Environment";
  const ran = await files.ask(["systemctl", "show", OLLAMA_UNIT, properties], ANSWER_WITHIN_SECONDS);
  if (ran.code !== 0 || !/^LoadState=(loaded|masked)$/m.test(ran.out)) return undefined;
  // Of its environment this variable alone is read: another may hold a secret.
  const directory = /^Environment=(?:.*\s)?"?OLLAMA_MODELS=([^\s"]+)/m.exec(ran.out)?.[1];
  return defined({ user: /^User=(\S+)$/m.exec(ran.out)?.[1], modelsDirectory: directory });
}

async function readModels(url: string): Promise<OllamaFacts["models"]> {
  const api = new Api(url, ANSWER_WITHIN_SECONDS);
  const list = async (path: string) => objectsIn((await api.json(path).catch(() => undefined))?.models);
  const [there, loaded] = await Promise.all([list("/api/tags"), list("/api/ps")]);
  // What is taken is never shown as less.
  const sizeIn = (unit: number, size: unknown) => upToHundredth(Math.max(0, Number(size) || 0) / unit);
  return there.flatMap(({ name, size }) => {
    if (textOr(name) === "") return [];
    const loadedGiB = sizeIn(BYTES_PER_GIB, loaded.find((each) => each.name === name)?.size) || undefined;
    return [{ name: textOr(name), sizeGB: sizeIn(BYTES_PER_GB, size), ...defined({ loadedGiB }) }];
  });
}
