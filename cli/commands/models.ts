import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { Failed } from "@local-serving/base/commandLine/exit";
import { hanging, terminalWidth } from "@local-serving/base/commandLine/layout";
import { say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import { FaultyInput, orInputFault } from "@local-serving/base/faults/fault";
import { capital } from "@local-serving/base/faults/quoting";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { homeOn, onMachine } from "@local-serving/machines/home";
import { cacheOn } from "@local-serving/machines/hubCache";
import { Argument, type Command, Option } from "commander";
import { modelNamed, type Recipe, readCatalogue } from "../../components/catalogue";
import { operatorHome } from "../../components/evidence";
import {
  type Downloads,
  downloadsDoubt,
  downloadsOf,
  downloadsResult,
  downloadsText,
} from "../fetch/downloads";
import { bareSeat } from "../fit/bareSeat";
import { addModel } from "../models/addModel";
import { type Fit, fitModel } from "../models/fit";
import { isOpenBelow, type ModelRow, modelTable, recipeText, unfitText } from "../models/modelText";
import { callsTools, mostWanted } from "../models/mostWanted";
import { chooseModel, keepConfig } from "../models/ownModel";
import { aloneIn, declaredServer, type Seat, seatFor } from "../models/seat";
import { changeWithImage, imageLines, writeLine } from "../models/useImage";
import { chooseRecipe, seatOf } from "../models/useModel";
import { readOneMachine } from "../stack/readStack";
import {
  askedStack,
  machineOption,
  projectFolder,
  projectOrProgram,
  type StackFileOptions,
  stackFile,
  stackFileOptions,
  stacksHere,
} from "../stack/stackFile";
import { forStack, givenOptions } from "../stack/typed";
import { writeStackFile } from "../stackEdit/writeStackFile";
import { kvCommand } from "./kv";

type Options = StackFileOptions & { readonly machine?: string; readonly server?: string };

const seatOptions = () => [
  ...stackFileOptions(),
  machineOption(),
  new Option(
    "--server <key>",
    "server of the stack file that the model would run in (default: the only one)",
  ),
];
const model = () =>
  new Argument("<model>", "hub id, or a name or part of a name that only one model has");

/** The catalogue, and what becomes of a stack file with one of its models. */
export function modelsCommand(): Command {
  const list = command({
    name: "models",
    options: [
      ...seatOptions(),
      new Option("--all", "also list models that don't fit, and those that need more machines"),
    ],
    notes: `fits: "yes" and how that is known: "started here" (measured), "started by SOURCE" (published, at that share or lower),
"computed" (with the most that any start took). "maybe": how much the model takes beside its weights is not known.
serving models show MODEL names the sources. Without a project the machine is a DGX Spark that runs nothing else, or
that of --machine, as for \`serving fit\`. Exit code: 0, or 2 for wrong use.`,
    example: "models",
    run: (options: Options & { readonly all?: true }) => {
      const seat = seatShown(options);
      const known = readCatalogue(seat.project).map((recipe) => rowOf(recipe, seat));
      const shown = known.filter(({ fit }) => options.all === true || !fit.lacksMachines);
      const rows = sortedRows(shown);
      const listed = rows.filter(({ fit }) => options.all === true || fit.verdict !== "no");
      const where = rows.some((row) => row.fit.beside) ? "beside its other engines" : "alone";
      const never = whyNoServer(seat.settings.machines[seat.machine]?.device);
      const given = seatGiven(options);
      const text = [
        `Machine ${seat.machine}, server ${seat.server}, ${where}:`,
        "",
        ...(never === undefined ? [...tableText(rows, listed), ""] : []),
        ...(never === undefined ? [`${servedText(rows, seat)}${legend(listed)}`, ""] : []),
        never ?? `Next: serving models show MODEL${given}, then ${nextOf(options)}`,
      ];
      const result = { machine: seat.machine, server: seat.server, models: rows.map(rowResult) };
      return { result, text: text.join("\n") };
    },
  });
  return list.addCommand(show()).addCommand(use()).addCommand(add()).addCommand(kvCommand());
}

/** The models that fit, and below them those that don't. */
function tableText(rows: readonly ModelRow[], listed: readonly ModelRow[]): string[] {
  const width = terminalWidth(process.stdout);
  const folded = rows.filter((row) => !listed.includes(row));
  const table = listed.length === 0 ? ["No model fits here."] : modelTable(listed, width);
  return folded.length === 0 ? table : [...table, "", hanging(unfitText(folded), 2, width)];
}

/** What the words of a table mean, of those that it has. */
const legend = (listed: readonly ModelRow[]): string =>
  [
    "What surely starts comes first; each part is sorted by tool calls, speed, room.",
    ...(listed.some(({ fit }) => isOpenBelow(fit))
      ? ["`up to`: at worst there is no room at all."]
      : []),
    "`tokens/s`: one answer alone with what `use` writes, and with `use --drafts`;",
    "measured here, or published of a DGX Spark.",
  ].join("\n");

/** Which of the models the server serves now. */
function servedText(rows: readonly ModelRow[], seat: Seat): string {
  const id = declaredServer(seat)?.model.id;
  const served = rows.find(({ fit: { recipe } }) => recipe.id === id)?.fit.recipe.servedModelName;
  return served === undefined ? "" : `${seat.server} serves ${served} now.\n`;
}

function show(): Command {
  return command({
    name: "show",
    description: "Show everything that is known about a model, each value with its source.",
    arguments: [model()],
    options: seatOptions(),
    example: "models show gpt-oss-120b",
    run: (options: Options, wanted: string) => {
      const seat = seatShown(options);
      const recipe = chooseRecipe(seat.project, wanted);
      const row = rowOf(recipe, seat);
      return { result: { ...rowResult(row), recipe }, text: recipeText(recipe, row) };
    },
  });
}

function use(): Command {
  return command({
    name: "use",
    description:
      "Show how the stack file changes so that a server serves this model; --write changes it.",
    arguments: [model()],
    options: [
      new Option("--write", "write the change; the old file is kept beside it as FILE.bak"),
      new Option("--drafts", "also set speculative decoding, if the recipe has it"),
      new Option(
        "--image <image:tag>",
        "image for the server with this model (default: its own, or the one that the model needs)",
      ),
      ...seatOptions(),
    ],
    notes: `A hub id that the catalogue lacks is read from the machine's model cache, else from the hub: share and window are
then computed from its own files, not proven by a start. --write keeps its config.json in models/.

What belongs to the earlier model is removed with it: parsers, window, share, variables of its recipe. A model
of another kind than the server's gets a server of its own, named after the kind: embedding or rerank.

A model that needs another image gets it: --write pulls it and reads its digest and versions, as \`serving pin\` does.
Exit code: 0 shown or written, 1 the model doesn't fit or its image can't be read, 2 wrong use.`,
    example: "models use gpt-oss-120b --write && serving plan",
    run: useOutcome,
  });
}

type UseOptions = Options & {
  readonly drafts?: true;
  readonly image?: string;
  readonly write?: true;
};

/** Whether a model lacks memory or machines: nobody has to decide anything else of it then. */
function isTooLarge(recipe: Recipe, seat: Seat): boolean {
  const fits = orInputFault(() => fitModel(recipe, seat));
  return !(fits instanceof Error) && (fits.missingGiB !== undefined || fits.lacksMachines);
}

async function useOutcome(options: UseOptions, wanted: string): Promise<Outcome> {
  const { stack, seat: bare } = placed(options, wanted);
  const { recipe, own, unread, lacks, seat: chosen } = await chooseModel(stack, bare, wanted);
  const seat = { ...chosen, drafts: options.drafts === true };
  if (lacks !== undefined && !isTooLarge(recipe, seat)) throw new Failed(lacks.join(" "));
  const change = await changeWithImage(stack, seat, recipe, {
    ...defined({ image: options.image, write: options.write }),
    given: givenOptions(options),
  }).catch((error: unknown) => {
    // What a name says needs that sentence where it is refused, too.
    throw unread !== undefined && error instanceof Failed
      ? new Failed(`${error.message} ${unread}`)
      : error;
  });
  const { fit: found, before, after, diff, image, also } = change;
  const backup =
    options.write === true && diff !== "" ? writeStackFile(stack.file, before, after) : undefined;
  const kept = backup !== undefined && own !== undefined ? keepConfig(own) : undefined;
  const why = found.values.map(
    ({ path, value, why: reason }) => `  ${path.join(".")}: ${JSON.stringify(value)}  ${reason}`,
  );
  const plan = `Next: ${forStack("serving plan", options)}`;
  const written =
    backup === undefined
      ? []
      : [
          `${stack.file} is written; the old file is ${backup}.`,
          ...(kept === undefined ? [] : [`${kept} is what plans read of the model.`]),
        ];
  const next = backup === undefined && diff !== "" ? [writeLine(image)] : [...written, plan];
  const shown = diff.trimEnd() || `${stack.file} has all of this already.`;
  const other = imageLines(image, seat.server);
  const doubt = [
    ...(unread === undefined ? [] : [unread, ""]),
    ...(found.doubt === undefined ? [] : [capital(found.doubt), ""]),
    ...(found.byShare === undefined ? [] : [found.byShare, ""]),
  ];
  const repeated =
    also.length === 0 ? [] : [`${also.join(", ")} repeats its block, and changes too.`, ""];
  const changed = readOneMachine(stack.file, stack.name, after);
  const downloads = await downloadsOf(changed.machine, changed.settings);
  const row = rowResult({ fit: found, alone: found.verdict });
  const file = { diff, written: backup !== undefined, backup: backup ?? "" };
  return {
    result: { ...row, imageChange: image ?? null, downloads: downloadsResult(downloads), ...file },
    text: [
      shown,
      "",
      ...repeated,
      ...doubt,
      ...other,
      "Why each value:",
      ...why,
      "",
      ...downloadLines(downloads),
      "",
      ...next,
    ].join("\n"),
  };
}

function downloadLines(downloads: Downloads): string[] {
  const doubt = downloadsDoubt(downloads);
  const isBare = "looked" in downloads && !downloads.looked;
  const where = isBare ? " on a machine that has nothing of it" : "";
  return [
    `To download${where}: ${downloadsText(downloads)}`,
    ...(doubt === undefined ? [] : [`May not fit: ${doubt}`]),
  ];
}

function add(): Command {
  return command({
    name: "add",
    description: "Add a model to models/: its config.json, and a recipe whose gaps you fill in.",
    arguments: [new Argument("<id>", "hub id of the model")],
    options: [
      new Option("--config <file>", "its config.json").conflicts("fromCache"),
      new Option(
        "--from-cache",
        "take config.json from the model cache of the stack file's machine",
      ),
      ...stackFileOptions(),
      machineOption(),
    ],
    notes:
      "Nothing is overwritten. Exit code: 0 added, 2 wrong use, or a config.json that can't be read.",
    example: "models add org/model --config config.json",
    run: async (
      options: Options & { readonly config?: string; readonly fromCache?: true },
      id: string,
    ) => {
      const cache = () => {
        const { settings } = readOneMachine(stackFile(options), options.machine);
        const home = homeOn(settings, { home: operatorHome() });
        return cacheOn(settings, onMachine(settings.modelCache, { home }), id);
      };
      const written = addModel(
        projectFolder(),
        id,
        options.fromCache === true ? await cache() : options.config,
      );
      const next = "Fill in what you know, and where it is from: docs/reference/model-recipe.md";
      return {
        result: { written },
        text: [...written.map((file) => `wrote ${file}`), next].join("\n"),
      };
    },
  });
}

/** The stack and the seat that options name; which server is meant may depend on the model. */
function placed(options: Options, wanted?: string) {
  const stack = readOneMachine(stackFile(options), options.machine);
  const project = projectOrProgram();
  const meant = wanted === undefined ? undefined : modelNamed(wanted, readCatalogue(project));
  const kind = meant?.is === "one" ? meant.model.kind : undefined;
  return { stack, seat: seatOf(stack, project, options.server, kind) };
}

/** The seat that a model is shown in: of the stack file, or without one of a bare machine. */
function seatShown(options: Options): Seat {
  if (hasStack(options)) return placed(options).seat;
  const { seat, told } = bareSeat(options.machine);
  say(told);
  return seat;
}

/** Whether somebody named a stack file, or there is one that a command without its name could mean. */
const hasStack = (options: Options): boolean =>
  options.file !== undefined || askedStack(options) !== undefined || stacksHere().length > 0;

/** What comes behind the list: without a stack file that is written first. */
const nextOf = (options: Options): string =>
  `${hasStack(options) ? "" : "serving init and "}serving models use MODEL${seatGiven(options)} --write`;

/** The options of a seat as they were given, to be put behind another command. */
const seatGiven = (options: Options): string =>
  [
    givenOptions(options),
    options.machine === undefined ? "" : ` --machine ${options.machine}`,
    options.server === undefined ? "" : ` --server ${options.server}`,
  ].join("");

function rowOf(recipe: Recipe, given: Seat): ModelRow {
  const seat = seatFor(recipe, given);
  const here = fitOrFault(recipe, seat);
  const alone =
    here.beside && here.verdict === "no" ? fitModel(recipe, aloneIn(seat)).verdict : here.verdict;
  return { fit: here, alone };
}

/** Whether a model fits; one that conflicts with the rest of the stack file doesn't. */
function fitOrFault(recipe: Recipe, seat: Seat): Fit {
  const found = orInputFault(() => fitModel(recipe, seat));
  if (!(found instanceof Error)) return found;
  if (!(found instanceof FaultyInput)) throw found;
  const reasons = found.faults.map(({ path, message }) => `${path}: ${message}`);
  const none = { verdict: "no", lacksMachines: false, values: [], kv: null } as const;
  return { recipe, beside: false, reasons, ...none };
}

function rowResult({ fit: { recipe, speed, ...found }, alone }: ModelRow) {
  return {
    id: recipe.id,
    servedModelName: recipe.servedModelName,
    ...found,
    alone,
    speeds: recipe.speeds,
    speed: speed ?? null,
  };
}

/** Those that fit come first, and of them what people ask for. */
function sortedRows(rows: readonly ModelRow[]): ModelRow[] {
  const wishOf = ({ fit: { recipe, speed, kv } }: ModelRow) => ({
    toolCalls: callsTools(recipe),
    speed,
    agents: kv?.fits === true ? kv.agents[0]?.atOnce : undefined,
  });
  return [...rows].sort((a, b) => rank(a.fit) - rank(b.fit) || mostWanted(wishOf(a), wishOf(b)));
}

const rank = ({ verdict }: Fit): number => ["yes", "perhaps", "no"].indexOf(verdict);
