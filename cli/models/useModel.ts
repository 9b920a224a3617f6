import { isDeepStrictEqual } from "node:util";
import { Failed, SeveralMeant, WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { FaultyInput, orInputFault } from "@local-serving/base/faults/fault";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { downToHundredth } from "@local-serving/vllm/utilization";
import { parse } from "yaml";
import {
  isHubId,
  type Meant,
  modelNamed,
  type NamedModel,
  type Recipe,
  readCatalogue,
} from "../../components/catalogue";
import {
  ggufText,
  namedWeights,
  readModelName,
  saidOfKind,
  unservedByName,
} from "../../components/memory/model-name";
import { isOllamaName, nameElsewhere } from "../../components/planned/fields";
import { NAMESPACE, parseStackFile, type StackSettings } from "../../components/settings";
import { pinEdits } from "../pin/writePin";
import type { OneMachine } from "../stack/readStack";
import { pageFromProject } from "../stack/stackFile";
import { applyEdits, type Edit, unifiedDiff } from "../stackEdit/applyEdits";
import { clientChanges } from "./clientChanges";
import { type Fit, fitModel } from "./fit";
import { lowerText, sharesToLower } from "./lowerShare";
import { withoutReasons, withReasons } from "./reasons";
import { aloneIn, currentServer, leavesOf, type Seat } from "./seat";
import { modelKeys, reasonsOf } from "./serverValues";

/** The change of a stack file by which a server serves a model. */
export interface ModelChange {
  readonly fit: Fit;
  readonly before: string;
  readonly after: string;
  readonly diff: string;
  /** Other servers that change with it, since they repeat its block by an alias. */
  readonly also: readonly string[];
}

/**
 * The recipe that a name means. Throws `SeveralMeant` where it may mean several, and else
 * `WrongUse` with what comes close.
 */
export function chooseRecipe(project: string, wanted: string): Recipe {
  const meant = modelNamed(wanted, readCatalogue(project));
  if (meant.is === "one") return called(wanted, meant.model);
  if (meant.is === "several") throw unclearName(wanted, meant);
  throw whyNoName(wanted) ?? unclearName(wanted, meant);
}

/** A model of the catalogue; of a name of Ollama's it is said that this is meant. */
export function called(wanted: string, model: Recipe): Recipe {
  if (isOllamaName(wanted))
    say(`\`${wanted}\` is a name of Ollama's: the same model in the catalogue is ${model.id}.`);
  return model;
}

/** Says what to write in place of something else than a name: a folder, an address, a tag. */
export function whyNoName(wanted: string): WrongUse | undefined {
  if (/^(?:[/~]|\.\.?(?:\/|$))/.test(wanted))
    return new WrongUse(
      `${wanted} is a folder. Write its whole path into the stack file yourself: a model's as \`model.id\` of a server, an adapter's as a \`path\` below \`adapters\` of its base model's server (${pageFromProject("docs/guide/your-own-models.md")}).`,
    );
  const instead = nameElsewhere(wanted.trim());
  if (instead === undefined) return undefined;
  const none = isOllamaName(wanted) ? " No model of the catalogue is the same." : "";
  return new WrongUse(`${instead}${none}`);
}

/** Says of a model that no server here loads by its name what to serve instead. */
export const unservedHere = (id: string): string | undefined =>
  readModelName(id).gguf
    ? `By its name, ${id.trim()} ${ggufText(id.trim())}`
    : unservedByName(id.trim());

/** What a model's name says of its kind and its size. */
function byName(id: string): string {
  const kind = saidOfKind(id);
  const weights = namedWeights(id);
  const said = [
    ...(kind === undefined ? [] : [`it ${kind}`]),
    ...(weights === undefined
      ? []
      : [`its weights take ${weights.gib.toFixed(1)} GiB at least (${weights.source})`]),
  ];
  return said.length === 0 ? "" : ` By its name, ${said.join("; ")}.`;
}

/** Says that a name means several models or none, with those that it may mean. */
export function unclearName(
  wanted: string,
  { is, models }: Exclude<Meant<NamedModel>, { readonly is: "one" }>,
): WrongUse {
  const ids = models.map(({ id }) => id);
  if (is === "several") return new SeveralMeant(wanted, `${wanted} fits ${ids.length} models`, ids);
  const unserved = isHubId(wanted) ? unservedHere(wanted) : undefined;
  if (unserved !== undefined) return new WrongUse(unserved);
  const close = ids.length === 0 ? "no name comes close" : `closest is ${ids.join(", ")}`;
  return new WrongUse(
    isHubId(wanted)
      ? `${wanted} is not in the catalogue: ${close}. \`serving models use ${wanted}\` reads it from the hub.${byName(wanted.trim())}`
      : `${wanted} is not in the catalogue: ${close}. For any other model, write its hub id: ORG/NAME.`,
  );
}

/**
 * Where a model would run: the server that is named, else the machine's only one for chat. A model
 * of another kind takes the only one of its own, or a new one.
 */
export function seatOf(
  stack: OneMachine,
  project: string,
  named?: string,
  kind: Recipe["kind"] = "chat",
): Seat {
  const servers = Object.entries(stack.settings.inferenceServers);
  const chats = servers.filter(([, { model }]) => model.kind === "chat");
  const [first] = chats.length > 0 ? chats : servers;
  const own = servers.filter(([, { model }]) => model.kind === kind);
  const meant = own.length > 0 || kind !== "chat" ? own : servers;
  if (named === undefined && meant.length > 1)
    throw new WrongUse(
      `Which server? Say --server ${meant.map(([key]) => key).join(" or --server ")}.`,
    );
  if (named !== undefined && !/^[a-z][a-z0-9-]{0,30}$/.test(named))
    throw new WrongUse(
      `--server ${named}: expected lower-case letters, digits and dashes, first a letter.`,
    );
  const settings = parseStackFile(stack.file, stack.text);
  const seat = { settings, machine: stack.name, server: named ?? first?.[0] ?? "b", project };
  return { ...seat, leaves: leavesOf(seat) };
}

/**
 * The change by which a seat gets a model. Throws `Failed` with figures and remedies where it
 * doesn't fit.
 */
export function changeModel(stack: OneMachine, seat: Seat, recipe: Recipe): ModelChange {
  const found = orInputFault(() => fitModel(recipe, seat));
  if (found instanceof FaultyInput) throw new Failed(faultyWith(recipe.id, found, stack.file));
  if (found instanceof Error) throw found;
  if (found.verdict === "no") throw new Failed(refusal(found, seat));
  // Before the edits, as a reason whose key goes would stand above another comment.
  const bare = withoutReasons(stack.text, seat);
  const edited = applyEdits(bare, editsOf(stack, seat, found));
  const after = bare === stack.text ? edited : withReasons(edited, seat, reasonsOf(found.values));
  const read = orInputFault(() => parseStackFile(stack.file, after));
  if (read instanceof FaultyInput) throw new Failed(faultyWith(recipe.id, read, stack.file));
  if (read instanceof Error) throw read;
  return {
    fit: found,
    before: stack.text,
    after,
    diff: unifiedDiff(stack.file, stack.text, after),
    also: otherServers(seat, read),
  };
}

/** The servers besides a seat's own that a changed stack file has otherwise. */
function otherServers({ settings, machine, server }: Seat, after: StackSettings): string[] {
  return Object.entries(after.machines).flatMap(([name, { inferenceServers }]) =>
    Object.entries(inferenceServers).flatMap(([key, has]) => {
      const had = settings.machines[name]?.inferenceServers[key];
      const isOwn = name === machine && key === server;
      return isOwn || isDeepStrictEqual(had, has) ? [] : [`${name}.${key}`];
    }),
  );
}

/** Says what of a stack file doesn't go with a model; lines would be those of no file that exists. */
function faultyWith(id: string, { faults }: FaultyInput, file: string): string {
  const said = faults.map(({ path, message }) => `${path}: ${message}`).join(" ");
  return `${id} conflicts with the rest of ${file}. ${said} Change that first, or keep the present model and give this one a server of its own: \`--server NAME\`.`;
}

function editsOf({ settings, text }: OneMachine, seat: Seat, { values }: Fit): Edit[] {
  const at = ["machines", seat.machine, "inferenceServers", seat.server];
  const kept = (path: readonly string[]) => values.some((each) => each.path.join() === path.join());
  const server = settings.inferenceServers[seat.server];
  const stays = Object.keys(server?.environment ?? {}).some((name) => !seat.leaves.includes(name));
  const variables = stays || values.some(({ path }) => path[0] === "environment");
  const leaves = variables ? seat.leaves.map((name) => ["environment", name]) : [["environment"]];
  const block = valueAt(parse(text), ["config", `${NAMESPACE}:machines`, ...at.slice(1)]);
  const gone = [...modelKeys(server, values), ...leaves].filter(
    (path) => !kept(path) && valueAt(block, path) !== undefined,
  );
  const { image, versions, port } = currentServer(seat);
  const added: Edit[] = [
    { path: [...at, "image"], value: image },
    ...Object.entries(versions ?? {}).map(([key, value]) => ({
      path: [...at, "versions", key],
      value,
    })),
    { path: [...at, "port"], value: port },
  ];
  return [
    ...(server === undefined ? added : imageEdits(seat, at)),
    ...clientChanges(settings, seat.server, values).map(({ path, value }) => ({
      path: ["machines", seat.machine, "clients", ...path],
      value,
    })),
    ...gone.map((path) => ({ path: [...at, ...path], value: undefined })),
    ...values
      .filter(({ path, value }) => !isDeepStrictEqual(valueAt(block, path), value))
      .flatMap(({ path, value }) => [
        ...(typeof value === "object" ? [{ path: [...at, ...path], value: undefined }] : []),
        { path: [...at, ...path], value },
      ]),
  ];
}

/** What a server's block gets of another image; before that was read, no versions are its own. */
function imageEdits({ image, machine, server }: Seat, at: readonly string[]): Edit[] {
  if (image === undefined) return [];
  const { image: name, reading } = image;
  const entry = { machine, path: ["inferenceServers", server], image: name };
  return reading === undefined
    ? [
        { path: [...at, "image"], value: name },
        { path: [...at, "versions"], value: undefined },
      ]
    : pinEdits(entry, reading);
}

function refusal(found: Fit, seat: Seat): string {
  const { recipe, reasons, beside, missingGiB, lacks, lacksMachines, isRefused } = found;
  const isNever = whyNoServer(seat.settings.machines[seat.machine]?.device) !== undefined;
  if (lacksMachines || isNever) return `${recipe.id}: ${reasons.join(" ")}`;
  if (isRefused) return `${recipe.id} is refused in this stack file. ${reasons.join(" ")}`;
  const { instanceA, totalGiB } = seat.settings.machines[seat.machine] ?? {
    instanceA: "none",
    totalGiB: 0,
  };
  const there = beside ? "beside the other engines of this machine" : "on this machine";
  const lowered = sharesToLower(found, seat);
  if (lowered.length > 0)
    return `${recipe.id} does not fit ${there}. ${reasons.join(" ")} Instead ${lowered.map(lowerText).join(", or ")}.`;
  const alone = beside && fitModel(recipe, aloneIn(seat)).verdict !== "no";
  const lower =
    instanceA === "none" || missingGiB === undefined || lacks !== undefined
      ? 0
      : downToHundredth(instanceA.gpuMemoryUtilization - missingGiB / totalGiB);
  const remedies = [
    "take a smaller model (`serving models` lists what fits)",
    ...(lower > 0
      ? [`lower instance A to ${lower}, where it is started and in \`instanceA\``]
      : []),
    ...(alone ? ["run it alone (`instanceA: none`, and no other server)"] : []),
  ];
  return `${recipe.id} does not fit ${there}. ${reasons.join(" ")} Instead ${remedies.join(", or ")}.`;
}
