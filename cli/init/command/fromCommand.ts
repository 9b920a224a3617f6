import { defined } from "@local-serving/base/faults/defined";
import { putAt } from "@local-serving/base/faults/json";
import { listOf } from "@local-serving/base/faults/quoting";
import { readBy } from "@local-serving/base/faults/schemaFaults";
import { secretPaths } from "@local-serving/base/faults/secrets";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import {
  readServerArguments,
  type ServerArguments,
} from "@local-serving/vllm/argv/serverArguments";
import { isText } from "@local-serving/vllm/argv/unknown";
import { type Recipe, readRecipe } from "../../../components/catalogue";
import { parserByName } from "../../../components/inference-server";
import { makesNoCalls, withoutOrganization } from "../../../components/memory/model-name";
import { inferenceServer } from "../../../components/settings";
import { taggedVersion } from "../../../components/supply";
import { engineDataFor } from "../../../policies/lib/imageRecord";
import { engineFaults } from "../../../policies/rules/engineNames";
import { LEAST_SERVER } from "../../models/leastServer";
import { toolParser } from "../../models/mostWanted";
import { AS_COMMANDED, type ServerValue } from "../../models/serverValues";
import type { HostFacts } from "../../sees/computer/facts";
import { pageFromProject } from "../../stack/stackFile";
import { declaredPorts } from "../declared";
import { readDraft } from "../draft";
import { withFreeNames } from "../freeNames";
import type { Place } from "../offers";
import { freePort, type Wanted } from "../settings";
import { chosenValues } from "./chosen";
import { clientsOf, type Unfit } from "./clients";
import type { ContainerFacts } from "./dockerOptions";
import { withoutFaults } from "./faults";
import { filled } from "./filled";
import { type CommandImage, imageOf, type RefusedImage } from "./image";
import { LINE_GOES_ON } from "./launch";
import { placed } from "./lines";
import { kindText, modelOf, modelValues, taskText, thinkingText } from "./model";
import { type CommandNotes, leftOutText, severalGpusText } from "./notes";
import { cacheOf, ownModels } from "./ownModels";
import { runningAlready } from "./runningAlready";
import { hubSnapshot, type Snapshot } from "./snapshot";
import type { Launch } from "./started";
import { stopGraceValues } from "./stopGrace";
import { argumentValues } from "./values";
import { variableValues } from "./variables";
import { asWritten, type LeftOut, refuseCommand } from "./words";

/** Server B as a command starts it. */
export interface CommandServer {
  /** What a stack file is made of. */
  readonly server: Pick<
    Wanted,
    "server" | "modelCache" | "leftOut" | "clients" | "key" | "beside" | "takenOver"
  > &
    Required<Pick<Wanted, "server" | "image" | "port">>;
  /** Hub id of its model, or a path. */
  readonly model: string;
  /** What the catalogue knows of the model. */
  readonly recipe: Recipe | undefined;
  /** Clients that can't use it. */
  readonly unfit?: Unfit;
  readonly told: CommandNotes;
  /** What to mend before `up`, a sentence each. */
  readonly mend: readonly string[];
  /** Why no machine here runs its image, or what the image is given. */
  readonly refused: readonly RefusedImage[];
  /** What to see to before its start is sure: flags that vLLM lacks, and where the model is. */
  readonly lacks: readonly string[];
}

/** Order of a server's values in the stack file; the others follow. */
const FIRST = [
  ...[
    "model.id",
    "model.inImage",
    "model.family",
    "model.kind",
    "model.thinking",
    "model.revision",
  ],
  ...["servedModelName", "aliases", "gpuMemoryUtilization", "maxModelLen", "maxNumSeqs"],
  ...["maxNumBatchedTokens", "kvCacheDtype"],
];

/** Makes server B of a start, for a machine. Refuses one that can't be read for certain. */
export function commandServer(
  start: Launch,
  facts: HostFacts,
  base: Wanted,
  place: Place,
): CommandServer {
  return withoutFaults(start, () => {
    const made = serverOf(start, facts, base, place);
    readDraft(facts, { ...base, ...made.server, clients: [] });
    return made;
  });
}

function serverOf(start: Launch, facts: HostFacts, base: Wanted, place: Place): CommandServer {
  const parts = readParts(start, base);
  const { launch, image, args, unknownFlags } = parts;
  const { own, ofVariables, recipe, values: said, leftOut } = readValues(parts, place);
  const { model } = own;
  const named = withFreeNames(said, base);
  const { port, told: ofPort } = portOf(args, launch, facts, base);
  const modelCache =
    launch.container?.modelCache ?? ofVariables.modelCache ?? parts.cache?.modelCache;
  const wanted = { ...base, image: image.image, port };
  const chosen = chosenValues(named.values, { facts, place, recipe, wanted });
  const values = inOrder(withoutTools([...named.values, ...chosen.values]));
  const {
    clients,
    told: ofClients,
    unfit,
  } = clientsOf(values, base, {
    parser: parserOf(model, recipe),
    areMade: recipe !== undefined || !makesNoCalls(model),
  });
  const elsewhere = launch.container?.elsewhere ?? [];
  const ofNoUse = [...[withoutOrganization(model) ?? []].flat(), ...randomText(args)];
  return {
    server: {
      server: values,
      image: image.image,
      port,
      clients,
      leftOut: leftOut.map(leftOutText),
      ...defined({ modelCache }),
    },
    model,
    recipe,
    ...defined({ unfit }),
    told: {
      leftOut,
      setHere: [...(launch.container?.setHere ?? []), ...ofVariables.setHere],
      chosen: [
        ...(launch.told ?? []),
        ...snapshotText(parts.snapshot),
        ...image.told,
        ...named.told,
        ...ofPort,
        ...chosen.told,
        ...(ofVariables.tokenVariable === undefined ? [] : [tokenText(ofVariables.tokenVariable)]),
        ...kindText(values, args, model),
        ...taskText(args),
        ...thinkingText(values, recipe),
        ...ofClients,
      ],
    },
    lacks: [...unknownFlags, ...own.lacks, ...ofNoUse],
    refused: refusedOf(image, elsewhere),
    mend: [
      ...image.mend,
      ...elsewhere,
      ...unknownFlags,
      ...severalGpusText(leftOut),
      ...own.lacks,
      ...ofNoUse,
      ...own.mend,
      ...runningAlready(model, facts),
    ],
  };
}

/** The settings that a command says, and what of it has no place in a stack file. */
function readValues(
  { launch, args, engine, model: named, snapshot, cache }: ReturnType<typeof readParts>,
  { project }: Place,
) {
  const { container } = launch;
  const inContainer = container !== undefined;
  const hasOwnNetwork = inContainer && !sharesNetwork(container);
  const ofArguments = argumentValues(args, { engine, hasOwnNetwork });
  const ofModels = ownModels(args, launch, { model: named, values: ofArguments.values });
  const ofCache = cache?.volume === undefined ? [] : [cache.volume.what];
  const own = { ...ofModels, carried: [...ofModels.carried, ...ofCache] };
  const recipe = readRecipe(project, own.model);
  const lost = (container?.volumes ?? []).flatMap(({ what, target }) =>
    own.carried.includes(what) ? [] : [target],
  );
  const ofVariables = variableValues(launch.variables, {
    inContainer,
    lost,
    origins: launch.origins,
  });
  const said = fitting([
    ...modelValues(args, own.model, recipe),
    ...(args.options.has("revision") ? [] : revisionValues(snapshot)),
    ...own.values,
    ...ofVariables.values,
    ...stopGraceValues(container?.stopGraceSeconds),
    ...(launch.values ?? []),
  ]);
  const leftOut = [
    ...launch.leftOut,
    ...(container?.leftOut ?? []).filter(({ what }) => !own.carried.includes(what)),
    ...ofVariables.leftOut,
    ...ofArguments.leftOut,
    ...own.leftOut,
    ...said.leftOut,
  ].map(placed(launch.lineOf, launch.from ?? launch.line));
  return { own, ofVariables, recipe, values: said.values, leftOut };
}

/** Why no machine here runs a command's image, or what its container is given. */
const refusedOf = ({ refused }: CommandImage, elsewhere: readonly string[]): RefusedImage[] => [
  ...(refused === undefined ? [] : [refused]),
  ...elsewhere.map((why) => ({ why, isOther: true })),
];

/** What a command says, before anything of a machine is known. */
function readParts(start: Launch, base: Partial<Pick<Wanted, "key" | "digests">> = {}) {
  const launch = filled(start);
  const found = imageOf(launch.image, base);
  const isUnnamed = start.image !== undefined && launch.image === undefined;
  const image = isUnnamed ? { ...found, told: [] } : found;
  const version = image.image.versions?.vllm ?? taggedIn(image.image.image);
  const { data: engine, exact: isOwn, doubt } = engineDataFor(image.image.image, version);
  const args = readServerArguments(launch.words, engine);
  if (args.unreadable.length > 0)
    refuseCommand(
      `It can't be read for certain: ${args.unreadable.join("; ")}.`,
      ...(launch.words.some((word) => /^--config(?:=|$)/.test(word)) ? [CONFIG_BESIDE] : []),
    );
  const surplus = args.surplus.filter(isText).map((word) => `\`${asWritten(word)}\``);
  if (surplus.length > 0)
    refuseCommand(
      `vLLM doesn't take these words: ${surplus.join(", ")}. An option begins with two hyphens (--). ${LINE_GOES_ON}`,
    );
  refuseValues(args);
  refuseRank(args);
  // Of vLLM's own image the policies say it.
  const faults = isOwn ? [] : engineFaults(args, new Map(), engine);
  // The file has each flag in the version's own spelling.
  const unknownFlags = faults.flatMap(({ about, message, name, spelling }) =>
    about === "flag" && spelling === undefined && !(name === "--task" && taskText(args).length > 0)
      ? [`${message} ${doubt}`]
      : [],
  );
  const model = modelOf(args);
  const snapshot = hubSnapshot(model);
  const cache = snapshot && cacheOf(snapshot, launch);
  return {
    launch,
    image,
    args,
    engine,
    model: snapshot?.id ?? model,
    snapshot,
    cache,
    unknownFlags,
  };
}

/** The commit of a model that a command names by its folder in the hub's cache. */
const revisionValues = (snapshot: Snapshot | undefined): ServerValue[] =>
  snapshot?.revision === undefined
    ? []
    : [{ path: ["model", "revision"], value: snapshot.revision, why: AS_COMMANDED }];

/** Says of such a folder that it is the hub's. */
const snapshotText = (snapshot: Snapshot | undefined): string[] =>
  snapshot === undefined
    ? []
    : [
        `The model's folder is that of ${snapshot.id} in the hub's cache${snapshot.revision === undefined ? ", without a commit of 40 digits" : ""}: \`model.id\` names it, and \`serving fetch\` brings what the machine's cache lacks.`,
      ];

const CONFIG_BESIDE =
  "Give this text as a file with that one beside it, or write its options in its place.";

/** Refuses another machine's part of a model, which answers nobody. */
function refuseRank({ options }: ServerArguments): void {
  const rank = options.get("node-rank")?.[0];
  const isRank = isText(rank) && Number(rank) > 0;
  if (!isRank && !options.has("headless")) return;
  const what = isRank ? `\`--node-rank ${asWritten(String(rank))}\`` : "`--headless`";
  refuseCommand(
    `It is only a part of a server over several machines (${what}), and answers no requests: give the command of rank 0. ${pageFromProject("docs/guide/two-as-one.md")} describes a server over two machines.`,
  );
}

/** Refuses switches with a value, with what to write instead. */
function refuseValues({ valuedSwitches }: ServerArguments): void {
  const [first] = valuedSwitches;
  if (first === undefined) return;
  const whats = valuedSwitches.map(({ written, instead }) => {
    const what = `\`${asWritten(written)}\``;
    return instead === undefined ? `leave ${what} out` : `write \`${instead}\` for ${what}`;
  });
  refuseCommand(`vLLM takes no value behind a switch: ${listOf(whats)}.`);
}

/** The parser of a model's tool calls, by its recipe or its name. */
const parserOf = (model: string, recipe: Recipe | undefined): string | undefined =>
  recipe === undefined ? parserByName(model, "tool") : toolParser(recipe);

/** The vLLM that an image's tag names. */
function taggedIn(image: string): string | undefined {
  const reference = imageReference(image);
  return reference && taggedVersion("vllm", reference);
}

const tokenText = (variable: string) =>
  `\`serving up\` reads the Hugging Face token from ${variable} of your shell.`;

/** Leaves out each value that a stack file can't have, and each secret. */
function fitting(values: readonly ServerValue[]) {
  const leftOut: LeftOut[] = [];
  const kept = values.filter(({ path, value }) => {
    const block: Record<string, unknown> = { ...LEAST_SERVER, model: { ...LEAST_SERVER.model } };
    putAt(block, path, value);
    const what = `what would be \`${path.join(".")}\``;
    const { faults } = readBy(inferenceServer, block);
    if (secretPaths(block).length > 0)
      leftOut.push({ what, why: "a secret has no place in a stack file." });
    else if (faults.length > 0)
      leftOut.push({ what, why: faults.map(({ message }) => message).join(" ") });
    else return true;
    return false;
  });
  return { values: kept, leftOut };
}

/** A model that makes vectors has no tools. */
function withoutTools(values: readonly ServerValue[]): readonly ServerValue[] {
  const kind = values.find(({ path }) => path.join(".") === "model.kind")?.value ?? "chat";
  return kind === "chat" ? values : values.filter(({ path }) => path[0] !== "tools");
}

function inOrder(values: readonly ServerValue[]): ServerValue[] {
  const rank = ({ path }: ServerValue) => {
    const at = FIRST.indexOf(path.join("."));
    return at < 0 ? FIRST.length : at;
  };
  return [...values].sort((one, other) => rank(one) - rank(other));
}

/** vLLM's own port. */
const USUAL_PORT = 8000;

/** The port of the machine that clients know, or the next one that is free. */
function portOf(args: ServerArguments, launch: Launch, facts: HostFacts, base: Wanted) {
  const { inside, asked } = askedPort(args, launch);
  const wanted = asked ?? inside;
  const port = freePort(wanted, facts, base);
  const other = base.beside?.find((each) => each.port === wanted);
  const key = other?.key ?? (base.into && declaredPorts(base.into).get(wanted));
  const by = key === undefined ? `is taken on ${facts.host}` : `is that of \`${key}\``;
  const taken = port === wanted ? [] : [`Port ${wanted} ${by}: the server gets ${port}.`];
  return { port, told: taken };
}

/** Says of weights that are made up that no answer of theirs means anything. */
const randomText = ({ options }: ServerArguments): string[] =>
  options.get("load-format")?.[0] === "dummy"
    ? [
        "`--load-format dummy` fills the model with random weights, so its answers mean nothing: delete `loadFormat`, unless only speed or memory is to be measured.",
      ]
    : [];

/** What decides how a start goes together with others; it refuses what can't be read. */
export function glanceAt(start: Launch, { project }: Place) {
  const { launch, args, model } = readParts(start);
  const recipe = readRecipe(project, model);
  const said = modelValues(args, model, recipe);
  const kind =
    recipe?.kind ?? said.find(({ path }) => path.join(".") === "model.kind")?.value ?? "chat";
  const { inside, asked } = askedPort(args, launch);
  const hasOwnNetwork = launch.container !== undefined && !sharesNetwork(launch.container);
  return {
    isPooling: kind === "embedding" || kind === "rerank",
    /** The port of the machine that it takes, if it takes one. */
    port: hasOwnNetwork ? asked : inside,
  };
}

const sharesNetwork = ({ isOnHost, leftOut }: ContainerFacts): boolean =>
  isOnHost === true || leftOut.some(({ what }) => what === "--network host");

function askedPort(args: ServerArguments, { container }: Launch) {
  const [written] = args.options.get("port") ?? [];
  const given = inferenceServer.shape.port.safeParse(
    Number(isText(written ?? undefined) ? written : USUAL_PORT),
  );
  const inside = given.success ? given.data : USUAL_PORT;
  return { inside, asked: container?.ports.get(inside) };
}
