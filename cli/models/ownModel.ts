import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { defined } from "@local-serving/base/faults/defined";
import { objectOr } from "@local-serving/base/faults/json";
import { today } from "@local-serving/base/units/dateText";
import { homeOn, onMachine } from "@local-serving/machines/home";
import { cachedModels, cacheOn, modelFolder } from "@local-serving/machines/hubCache";
import { engineData, newestEngineData, versionsWithModel } from "@local-serving/vllm/engineData";
import {
  isHubId,
  isNearly,
  modelNamed,
  type NamedModel,
  type Recipe,
  readCatalogue,
} from "../../components/catalogue";
import { operatorHome } from "../../components/evidence";
import { familyOf } from "../../components/inference-server";
import { sureShare } from "../../components/memory";
import { namedPooling, readModelName, saidOfKind } from "../../components/memory/model-name";
import { isPooling } from "../../components/planned";
import { isOllamaName } from "../../components/planned/fields";
import { HubUnread, readCachedModel, readHubModel } from "../../components/preflight/fetch";
import { vllmOf } from "../../components/supply";
import { atLeast } from "../../components/supply/releases";
import type { OneMachine } from "../stack/readStack";
import { projectFolder } from "../stack/stackFile";
import { recipeByName, USUAL_WINDOW, writtenGB } from "./byName";
import { fitModel } from "./fit";
import { currentServer, machineOf, type Seat, seatFor } from "./seat";
import type { ServerValue } from "./serverValues";
import { called, unclearName, unservedHere, whyNoName } from "./useModel";

/** A config.json to be kept for later plans. */
interface KeptConfig {
  readonly id: string;
  readonly text: string;
}

/** What a model's own files say of it. */
type Facts = Awaited<ReturnType<typeof readHubModel>>;

/** The model that a name means, and where it would run. */
export interface ChosenModel {
  readonly recipe: Recipe;
  readonly seat: Seat;
  /** Its own config.json, where no recipe tells of it. */
  readonly own?: KeptConfig;
  /** Why nothing of it could be read, and what its name says, where that is all that is known. */
  readonly unread?: string;
  /** What the operator has to decide or to see to before a server serves it, a sentence each. */
  readonly lacks?: readonly string[];
}

/** For whom a model is chosen. */
interface Choosing extends Pick<OneMachine, "settings"> {
  /** Its answer needs no network: the hub isn't asked. */
  readonly withoutHub?: true;
}

/** Says of a model that only the hub could tell of it, and which command asks that. */
export const onlyAtHub = (id: string): string =>
  `Neither the catalogue nor this computer's model cache has ${id}, and \`serving fit\` asks no hub: \`serving models use ${id}\` of a project does, and \`hf download ${id}\` brings it into that cache.`;

/**
 * The model that a name means: one of the catalogue, one of the machine's model cache, or one of
 * the hub by its id. Throws as `chooseRecipe` does for a name that isn't clear, and `Failed` for a
 * model that can't be served.
 */
export async function chooseModel(
  { settings, withoutHub }: Choosing,
  bare: Seat,
  wanted: string,
): Promise<ChosenModel> {
  const recipes = readCatalogue(bare.project);
  const known = modelNamed(wanted, recipes);
  if (known.is === "one")
    return { recipe: called(wanted, known.model), seat: seatFor(known.model, bare) };
  if (known.is === "several" && isOllamaName(wanted)) throw unclearName(wanted, known);
  const elsewhere = whyNoName(wanted);
  // Of an address with a type behind it, the id is said first: its repository may have other files.
  const isSure = elsewhere === undefined || /gguf/i.test(wanted);
  const unserved = wanted.includes("/") && isSure ? unservedHere(wanted) : undefined;
  if (unserved !== undefined) throw new Failed(unserved);
  if (elsewhere !== undefined) throw elsewhere;
  const path = onMachine(settings.modelCache, { home: homeOn(settings, { home: operatorHome() }) });
  const cached = isHubId(wanted) ? [] : cachedModels(await cacheOn(settings, path));
  const others = cached.filter(({ id }) => recipes.every((each) => each.id !== id));
  const all: readonly NamedModel[] = [...recipes, ...others];
  const meant = modelNamed(wanted, all);
  if (meant.is !== "one" && !isHubId(wanted)) throw unclearName(wanted, meant);
  const id = meant.is === "one" ? meant.model.id : wanted.trim();
  try {
    const cache = await cacheOn(settings, path, id);
    const tokenVariable = tokenVariableOf(settings, bare.server);
    const read = withoutHub
      ? readCachedModel(id, cache)
      : await readHubModel(id, { cache, ...defined({ tokenVariable }) });
    if (read === undefined) throw new HubUnread(onlyAtHub(id));
    return ownModel(read, bare);
  } catch (error) {
    const named = error instanceof HubUnread ? modelByName(id, error, bare) : undefined;
    if (named !== undefined) return named;
    const close = recipes.find((each) => isNearly(id, each.id));
    if (close === undefined || !(error instanceof Failed)) throw error;
    throw new Failed(`Did you mean \`${close.id}\`? ${error.message}`);
  }
}

/** The variable with the hub's token: that of a server, else of any that names one. */
function tokenVariableOf(
  { inferenceServers }: OneMachine["settings"],
  server: string,
): string | undefined {
  const all = [inferenceServers[server], ...Object.values(inferenceServers)];
  return all.flatMap((each) => each?.huggingFaceTokenVariable ?? [])[0];
}

/** A model of which nothing could be read, by its name; `undefined` where that says nothing. */
function modelByName(
  id: string,
  { message: unread, weightsGB }: HubUnread,
  bare: Seat,
): ChosenModel | undefined {
  const { totalGiB } = machineOf(bare.settings, bare.machine);
  const named = recipeByName({ id, totalGiB, weightsGB });
  if (named === undefined) return undefined;
  const { recipe, values } = named;
  const kind = saidOfKind(id);
  const said = kind === undefined ? "" : ` By its name it ${kind}.`;
  const seat = { ...seatFor(recipe, bare), own: { evidence: {}, values } };
  if (weightsGB === undefined)
    return { recipe, seat, unread: `${unread}${said} What is here rests on its name alone.` };
  return { recipe, seat, lacks: [`${unread}${said}`] };
}

/** Keeps a model's config.json in the operator's `models/`, where every plan reads it. */
export function keepConfig({ id, text }: KeptConfig): string {
  // The cache may lie on another machine, and a model that is there in part would seem to be whole.
  const folder = join(projectFolder(), "models", modelFolder(id));
  mkdirSync(folder, { recursive: true });
  replaceFile(join(folder, "config.json"), text, { newFileMode: 0o644 });
  return join(folder, "config.json");
}

/**
 * The longest window that is chosen for a model without a recipe, in tokens. Our judgement: what
 * recipes for one machine name most, of each kind; a longer one is yours to write.
 */
const LONGEST_WINDOW = { chat: 262_144, embedding: 32_768, rerank: 32_768 } as const;

/** A recipe of what a model's own files say, with the share that the plan of its cache asks for. */
function ownModel(facts: Facts, bare: Seat): ChosenModel {
  const { id, config, weightsGB } = facts;
  const kind = namedPooling(id) ?? facts.kind ?? "chat";
  const placed = seatFor({ kind }, bare);
  refuseUnservable(facts);
  const family = kind === "chat" && facts.kind !== undefined ? familyOf(config) : undefined;
  const isGuard = kind === "chat" && readModelName(id).kind === "guard";
  const parser =
    kind === "chat" && !isGuard && family === undefined ? toolParserOf(facts, placed) : {};
  const computed = ownRecipe(facts, { kind, family: family ?? "other", parser });
  const trusted = currentServer(placed);
  const isTrusted = trusted.trustRemoteCode && trusted.model.id === id;
  const lacks = [
    ...(parser.lacks === undefined ? [] : [parser.lacks]),
    ...("auto_map" in config && !isTrusted ? [codeText(id, placed)] : []),
  ];
  const values = ownValues(facts, isGuard || parser.lacks !== undefined);
  const read = { source: `config.json of ${id}`, config, ...defined({ weightsGB }) };
  const seat = { ...placed, own: { evidence: { [id]: read }, values } };
  const minimumVllm = leastVllm(facts, placed);
  const first = {
    of: ["minimumVllm"],
    basis: "judged" as const,
    source: FIRST_VLLM,
    date: today(),
  };
  const sources = [...computed.sources, first];
  const known = minimumVllm === undefined ? computed : { ...computed, minimumVllm, sources };
  return {
    recipe: withShare(known, seat),
    seat,
    own: facts,
    ...(lacks.length > 0 ? { lacks } : {}),
  };
}

const computedFrom = ({ from }: Facts): string =>
  `computed from its own files in the ${from}; not measured yet`;

/** What is decided of a model before its recipe. */
interface Decided extends Pick<Recipe, "kind" | "family"> {
  readonly parser: ToolParser;
}

/** The recipe of a model's own files, without a share. */
function ownRecipe(facts: Facts, { kind, family, parser }: Decided): Recipe {
  const { id, config, weightsGB, thinking, from } = facts;
  const { max_position_embeddings: positions } = objectOr(config.text_config ?? config);
  const window = typeof positions === "number" ? positions : USUAL_WINDOW;
  const [source, date, basis] = [computedFrom(facts), today(), "judged" as const];
  return {
    id,
    kind,
    thinking: kind === "chat" && thinking,
    family,
    machines: 1,
    servedModelName: (id.split("/")[1] ?? id).toLowerCase(),
    config: { from: "model", source: `its own, from the ${from}`, date },
    weights: { partlyOnDisk: false, ...defined({ diskGB: weightsGB }) },
    parsers: defined({ tool: parser.name }),
    share: {},
    settings: { maxModelLen: Math.min(window, LONGEST_WINDOW[kind]), kvCacheDtype: "auto" },
    speeds: [],
    starts: [],
    against: [],
    notes: [],
    sources: [
      { of: ["weights.diskGB", "share.alone", "settings.maxModelLen"], basis, source, date },
      { of: ["parsers.tool"], basis, source: parser.source ?? source, date },
      { of: ["settings.kvCacheDtype"], basis, source: "the model's own format", date },
    ],
  };
}

/** Values of its server beside a recipe's. */
function ownValues(facts: Facts, hasNoTools: boolean): ServerValue[] {
  const { config, weightsGB, revision } = facts;
  const why = computedFrom(facts);
  return [
    ...(weightsGB === undefined
      ? []
      : [{ path: ["model", "weightsGB"], value: writtenGB(weightsGB), why }]),
    { path: ["model", "revision"], value: revision, why: "the commit that was read" },
    ...("auto_map" in config
      ? [{ path: ["trustRemoteCode"], value: true, why: "you wrote it for this model" }]
      : []),
    ...(hasNoTools ? [{ path: ["tools", "autoChoice"], value: false, why }] : []),
  ];
}

/** A model's tool parser, or why it has none although calls are wanted. */
interface ToolParser {
  readonly name?: string;
  readonly source?: string;
  readonly lacks?: string;
}

/**
 * The tool parser of a chat model of no known family: the one that was declared for this very
 * model, else by what its chat template writes.
 */
function toolParserOf({ id, kind, tool, from }: Facts, seat: Seat): ToolParser {
  if (kind === undefined) return { lacks: noTemplateText(id) };
  const { tools, model } = currentServer(seat);
  const declared = model.id === id && tools.parser !== "auto" ? tools.parser : undefined;
  if (declared !== undefined && declared !== tool)
    return { name: declared, source: "you wrote it for this model" };
  if (tool !== undefined) return { name: tool, source: `by its chat template, from the ${from}` };
  if (model.id === id && !tools.autoChoice) return {};
  return {
    lacks: `${id}: its chat template has no known form of tool calls, so no parser is known for them: without one it only chats. Write \`model.id: ${id}\` and the parser named on its page, as \`tools.parser\`, into ${seat.server} yourself, or \`tools.autoChoice: false\` for a chat without tools, then run this again.`,
  };
}

/** Throws `Failed` for a model without weights that vLLM reads. */
function refuseUnservable({ id, weightsGB }: Facts): void {
  if (weightsGB === undefined)
    throw new Failed(
      `${id} has no weights that vLLM reads, neither safetensors nor pytorch_model.bin: choose a repository of the model that has them.`,
    );
}

const noTemplateText = (id: string): string =>
  `${id} has no chat template: it only continues texts, and no client here can use it. Choose its version for chat, or write \`model.kind: base\` yourself.`;

/** Says of a model with code of its own what its operator has to decide. */
const codeText = (id: string, seat: Seat): string =>
  `${id} brings code of its own, which would run on your machine: read it at https://huggingface.co/${id}/tree/main. If you trust it, write \`model.id: ${id}\` and \`trustRemoteCode: true\` into ${seat.server} yourself, then run this again.`;

/** Where the least vLLM of a model without a recipe is from. */
const FIRST_VLLM = "the first vLLM that is known to have its class";

/**
 * The first vLLM that has a model's class, where the server's lacks it. Throws `Failed` where no
 * newer one is known to have it.
 */
function leastVllm({ id, config }: Facts, seat: Seat): string | undefined {
  const version = vllmOf(currentServer(seat));
  const engine = version === undefined ? undefined : engineData(version);
  const classes = [config.architectures].flat().map(String);
  if (engine === undefined || classes.some((each) => engine.architectures.includes(each)))
    return undefined;
  const versions = versionsWithModel(classes);
  const first = versions.find((each) => !atLeast(engine.version, each));
  if (first !== undefined) return first;
  const last = versions.at(-1);
  // A version may drop a class.
  const then =
    last === undefined
      ? `no version up to ${newestEngineData().version} is known to have it`
      : `${last} is the last that is known to have it: choose another model`;
  throw new Failed(
    `${id} is of the class ${classes.join(", ")}, which vLLM ${version} lacks; ${then}.`,
  );
}

/**
 * The largest share that is chosen without a recipe: the largest that a recipe for one machine
 * names. On a DGX Spark 101.3 to 102.2 of 121.69 GiB were free for CUDA, a share of 0.83, unless
 * caches are dropped first (MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks #47).
 */
const LARGEST_SHARE = 0.8;

/**
 * Whole windows for which there should be room, even at the worst that was seen of others. Our
 * judgement: as many as run at once by default (`maxNumSeqs`), so that none waits for another.
 */
const WINDOWS = 4;

/**
 * A recipe with the share that its weights and some whole windows need at the worst that was seen of
 * other models. That of one that writes no text is computed wherever it is placed.
 */
function withShare(recipe: Recipe, seat: Seat): Recipe {
  const largest = { ...recipe, share: { alone: LARGEST_SHARE } };
  const { kv } = fitModel(largest, seat);
  if (kv === null || isPooling(recipe.kind)) return largest;
  const totalGiB = seat.settings.machines[seat.machine]?.totalGiB ?? 0;
  const needed = sureShare(kv, totalGiB, WINDOWS);
  return { ...recipe, share: { alone: Math.min(LARGEST_SHARE, needed) } };
}
