import { defined } from "@local-serving/base/faults/defined";
import { objectsIn, textOr } from "@local-serving/base/faults/json";
import { BYTES_PER_GB, BYTES_PER_GIB } from "@local-serving/base/units/memory";
import type { Files } from "@local-serving/machines/files";
import { upToHundredth } from "@local-serving/vllm/utilization";
import { askOllama } from "../../../components/preflight";
import { Api } from "../api";
import type { OllamaFacts } from "./facts";

const OLLAMA_UNIT = "ollama.service";

/**
 * An Ollama on the machine: its unit as systemd has it, and what answers where something listens at
 * its usual address. `undefined` where there is neither.
 */
export async function readOllama(
  files: Files,
  listens:
    | {
        readonly url: string | undefined;
        readonly address: string;
        /** The container that publishes its port. */
        readonly container: string | undefined;
      }
    | undefined,
): Promise<OllamaFacts | undefined> {
  const { url, address, container } = listens ?? {};
  const [unit, answers] = await Promise.all([
    readUnit(files),
    url === undefined ? undefined : readAnswers(url),
  ]);
  if (unit === undefined && answers === undefined) return undefined;
  return {
    unit: unit !== undefined,
    ...unit,
    ...defined({
      runsIn: container === undefined ? undefined : `container ${container}`,
      address,
      version: answers?.version,
    }),
    models: answers === undefined ? [] : answers.models,
  };
}

async function readUnit(
  files: Files,
): Promise<Pick<OllamaFacts, "user" | "modelsDirectory"> | undefined> {
  const properties = "--property=LoadState,User,Environment";
  const ran = await files.ask(["systemctl", "show", OLLAMA_UNIT, properties]);
  if (ran.code !== 0 || !/^LoadState=(loaded|masked)$/m.test(ran.out)) return undefined;
  // Only this variable of its environment is read: another may hold a secret.
  const directory = /^Environment=(?:.*\s)?"?OLLAMA_MODELS=([^\s"]+)/m.exec(ran.out)?.[1];
  return defined({ user: /^User=(\S+)$/m.exec(ran.out)?.[1], modelsDirectory: directory });
}

async function readAnswers(url: string) {
  const answer = await askOllama(url);
  return answer.kind === "ollama"
    ? { version: answer.version, models: await readModels(url) }
    : undefined;
}

async function readModels(url: string): Promise<OllamaFacts["models"]> {
  const api = new Api(url);
  const list = async (path: string) =>
    objectsIn((await api.json(path).catch(() => undefined))?.models);
  const [there, loaded] = await Promise.all([list("/api/tags"), list("/api/ps")]);
  // What is taken is never shown as less.
  const sizeIn = (unit: number, size: unknown) =>
    upToHundredth(Math.max(0, Number(size) || 0) / unit);
  return there.flatMap(({ name, size }) => {
    if (textOr(name) === "") return [];
    const loadedGiB =
      sizeIn(BYTES_PER_GIB, loaded.find((each) => each.name === name)?.size) || undefined;
    return [{ name: textOr(name), sizeGB: sizeIn(BYTES_PER_GB, size), ...defined({ loadedGiB }) }];
  });
}
