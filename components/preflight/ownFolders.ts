import { posix } from "node:path";
import { jsonIn } from "@local-serving/base/faults/json";
import type { Files } from "@local-serving/machines/files";
import { isIn } from "@local-serving/machines/home";
import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText } from "@local-serving/vllm/argv/unknown";
import { type PreflightFinding, refused } from "../features/kind";
import {
  adapterConfig,
  adapterFaults,
  filesFaults,
  type MachinePlan,
  type OwnFolder,
  placeFaults,
} from "../plan";
import { serversOn } from "../planned";
import { INSIDE } from "../settings";
import type { MachineFacts, OwnFolderFacts } from "./types";

/** What our own servers are always given, which is no folder of the operator's. */
const OURS = ["/run", "/var", INSIDE.modelCache, INSIDE.jitCache];

/** More links than a model has; each is asked for by itself. */
const MOST_LINKS = 50;

/** What is listed of a folder: far more than the names of a model's files. */
const LARGEST_LIST_BYTES = 2_000_000;

/** Largest adapter_config.json that is read. */
const LARGEST_CONFIG_BYTES = 1024 ** 2;

type Server = ReturnType<typeof serversOn>[number];
type Adapter = NonNullable<Server["adapters"]>[number];

/** A folder of the operator's that a server gets, and what for. */
interface Given {
  readonly path: string;
  readonly server: Server;
  /** Absent for a folder of `mounts`. */
  readonly use?: "model" | Adapter;
}

/** Reads the operator's own folders that servers of a machine get, here or over ssh. */
export async function readOwnFolders(
  machine: MachinePlan,
  files: Files,
): Promise<OwnFolderFacts[]> {
  const secrets = machine.secretFiles.map(({ path }) => path);
  const given = serversOn(machine).flatMap(givenTo);
  const first = given.filter(
    ({ path, use }, index) =>
      given.findIndex((each) => each.path === path && each.use === use) === index,
  );
  return Promise.all(first.map((each) => readOwn(each, files, secrets)));
}

function givenTo(server: Server): Given[] {
  const { container, adapters = [] } = server;
  const folders = container.mounts.filter(
    ({ type, target }) => type === "bind" && !OURS.some((folder) => isIn(target, folder)),
  );
  const [model] = container.command;
  return folders.map(({ source: path, target }) => {
    const adapter = adapters.find((each) => each.target === target);
    const use = model === target ? "model" : adapter;
    return { path, server, ...(use === undefined ? {} : { use }) };
  });
}

const MODEL_GONE =
  "it is not there: Docker would not start the server. If the image contains the model, write `model.inImage: true`";

async function readOwn(
  { path, server, use }: Given,
  files: Files,
  secrets: readonly string[],
): Promise<OwnFolderFacts> {
  const found = await files.state(path);
  if (found === "missing")
    return {
      path,
      problem: use === "model" ? MODEL_GONE : "it is not there: Docker would not start the server",
    };
  if (found === "unreadable") return { path, problem: "it can't be read: correct its permissions" };
  if (found.kind !== "folder") return { path, problem: "it is not a folder: correct the path" };
  const real = (await files.realPath(path)) ?? path;
  const secret = secrets.find((each) => isIn(each, real));
  if (secret !== undefined)
    return {
      path,
      problem: `${secret}, a file of ours with a secret, is in it: name the model's folder alone`,
    };
  const read = await filesIn(path, real, files);
  if (typeof read === "string") return { path, problem: read };
  const faults = use === undefined ? placeFaults(read) : usedFaults(read, server, use);
  return faults.length === 0 ? { path } : { path, faults };
}

/** Lists a folder by one program: type of each entry and of what it leads to, size and name. */
async function filesIn(path: string, real: string, files: Files): Promise<ModelFiles | string> {
  const script = `find "$1" -printf '%y%Y %s %P\\0' | head -c ${LARGEST_LIST_BYTES}`;
  const { out, err } = await files.ask(["env", "LC_ALL=C", "sh", "-c", script, "sh", real]);
  if (/Permission denied/.test(err)) return "a folder in it can't be read: correct its permissions";
  if (out.length >= LARGEST_LIST_BYTES)
    return "it has far more files than a model: name the model's folder alone";
  const entries = out.split("\0").flatMap((line) => {
    const [, type = "", leads = "", size, name = ""] = /^(.)(.) (\d+) (.+)$/s.exec(line) ?? [];
    return name === "" ? [] : [{ type, leads, bytes: Number(size), name }];
  });
  const links = entries.filter(({ type }) => type === "l").slice(0, MOST_LINKS);
  const targets = await Promise.all(
    links.map(async ({ name }) => ({
      link: name,
      target: (await files.realPath(posix.join(real, name))) ?? "nothing",
    })),
  );
  const linksOutside = targets.filter(({ target }) => !isIn(target, real));
  const own = entries.filter(({ leads, name }) => leads === "f" && !name.includes("/"));
  const special = entries.filter(({ type }) => "psbc".includes(type)).map(({ name }) => name);
  const config = own.find(({ name }) => name === "adapter_config.json");
  const text =
    config === undefined || config.bytes > LARGEST_CONFIG_BYTES || linksOutside.length > 0
      ? undefined
      : await files.text(posix.join(real, config.name));
  return {
    ...(real === path ? {} : { leadsTo: real }),
    files: own.map(({ name }) => name).sort(),
    linksOutside,
    special,
    weightsBytes: 0,
    ...(text === undefined ? {} : { adapterConfig: text }),
  };
}

/** What is wrong with the folder of a model or an adapter. */
function usedFaults(files: ModelFiles, server: Server, use: "model" | Adapter): string[] {
  const isAdapter = use !== "model";
  const folder: OwnFolder = { what: isAdapter ? use.name : "model.id", files, isAdapter };
  const { allowPickle = false, serve } = server;
  const broken = filesFaults(folder, { allowPickle }).map(({ message }) => message);
  const config = isAdapter ? adapterConfig(files) : undefined;
  if (!isAdapter || config === undefined) return broken;
  const said = adapterFaults(use, config, serve.model).map(({ message }) => message);
  return [...broken, ...said, ...slotFaults(use, config.rank, server)];
}

/** A rank that no slot holds; that of a folder that the plan could not read is told only here. */
function slotFaults({ name }: Adapter, rank: number | undefined, { container }: Server): string[] {
  const [given] = readServerArguments(container.command).options.get("max-lora-rank") ?? [];
  const slot = isText(given) ? jsonIn(given) : undefined;
  return rank === undefined || typeof slot !== "number" || rank <= slot
    ? []
    : [`${name} has rank ${rank}, which no slot of ${slot} holds: write a larger \`maxLoraRank\`.`];
}

/** Refuses folders that a server would not find, and adapters of the hub that vLLM doesn't load. */
export function ownFolderFindings(
  machine: MachinePlan,
  { ownFolders = [], needs }: MachineFacts,
): PreflightFinding[] {
  const missing = needs?.models ?? [];
  return [
    ...ownFolders
      .flatMap(({ path, problem, faults = [] }) => [
        ...(problem === undefined ? [] : [`${path}, but ${problem}.`]),
        ...faults.map((fault) => `${path}. ${fault}`),
      ])
      .flatMap((what) => refused(`A server uses ${what}`)),
    ...serversOn(machine).flatMap(({ key, adapters = [] }) =>
      adapters.flatMap(({ name, id, revision }) =>
        missing.some((each) => each.name === id && each.revision === revision)
          ? refused(
              `The adapter ${name} (${id}) is not in the model cache. vLLM doesn't download adapters: run \`serving fetch\` first.`,
              `inferenceServers.${key}.adapters`,
            )
          : [],
      ),
    ),
  ];
}
