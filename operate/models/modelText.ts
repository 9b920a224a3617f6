import { hanging, headed, type Width } from "../../commandLine/layout";
import { columns, styled } from "../../commandLine/output";
import type { Recipe } from "../../components/catalogue";
import { isPooling } from "../../components/planned";
import type { Fit } from "./fit";
import { conditionsOf, type ShownSpeed, speedCell } from "./speeds";

/** What is said where nobody published a figure. */
const UNKNOWN = "not known";

/** One model of the table: whether it fits where it would run, and whether it would fit alone. */
export interface ModelRow {
  readonly fit: Fit;
  readonly alone: Fit["verdict"];
  readonly speed?: ShownSpeed;
}

/**
 * The catalogue for one machine, a line for each model. Where that is wider than the terminal, what
 * is read least stands below each model.
 */
export function modelTable(rows: readonly ModelRow[], width: Width): string[] {
  const cells = rows.map(({ fit, alone, speed: seen }): Cells => {
    const [share = "-", room = "-", windows = "-", agents = "-"] =
      fit.verdict === "no" ? [] : figures(fit);
    const { recipe } = fit;
    const model = recipe.servedModelName;
    const [fits, speed] = [fitText(fit), seen === undefined ? UNKNOWN : speedCell(seen)];
    return { model, fits, share, room, windows, agents, speed, needs: needs(recipe, fit, alone) };
  });
  const whole = columns([
    ["model", "fits", "share", "KV room", "windows", "agents", "tokens/s", "needs"],
    ...cells.map(({ model, fits, share, room, windows, agents, speed, needs }) => {
      return [model, fits, share, room, windows, agents, speed, needs];
    }),
  ]);
  return whole.every(({ length }) => length <= width) ? whole : narrowTable(cells, width);
}

type Cells = Readonly<
  Record<"model" | "fits" | "share" | "room" | "windows" | "agents" | "speed" | "needs", string>
>;

/** A speed that needs more room than its column has, as it is of other values. */
const hasConditions = (speed: string) => speed.includes(" with ");

/** Columns that the verdict of a model gets in a narrow table; a longer one stands below. */
const VERDICT = 17;

function narrowTable(cells: readonly Cells[], width: Width): string[] {
  const short = (text: string) => (text === UNKNOWN || hasConditions(text) ? "?" : text);
  const [head = "", ...lines] = columns([
    ["model", "fits", "share", "agents", "tokens/s"],
    ...cells.map(({ model, fits, share, agents, speed }) => {
      const verdict = fits.length > VERDICT ? "see below" : fits;
      return [model, verdict, share, short(agents), short(speed)];
    }),
  ]);
  const below = cells.map(({ fits, room, windows, speed, needs }) =>
    [
      ...(fits.length > VERDICT ? [fits] : []),
      ...(room === "-" ? [] : [`KV room ${room}`, `windows ${windows}`]),
      ...(hasConditions(speed) ? [speed.replace(" ", " tokens/s ")] : []),
      needs,
    ].join("; "),
  );
  return [
    head,
    ...lines.flatMap((line, index) => [line, `    ${hanging(below[index] ?? "", 4, width)}`]),
    "?: not known",
  ];
}

function fitText({ recipe, verdict, evidence, missingGiB, lacksMachines }: Fit): string {
  if (verdict !== "no") return evidence?.split(";")[0] ?? verdict;
  if (lacksMachines) return `needs ${recipe.machines} machines`;
  return missingGiB === undefined ? "no" : `no: ${missingGiB.toFixed(1)} GiB over`;
}

function figures({ recipe, values, kv }: Fit): string[] {
  const share = String(values.find(({ path }) => path[0] === "gpuMemoryUtilization")?.value);
  const unknownAgents = isPooling(recipe.kind) ? "-" : UNKNOWN;
  if (kv === null) return [share, UNKNOWN, UNKNOWN, unknownAgents];
  const { room, atBest, maxConcurrency, agents } = kv;
  const window = `${Math.round(kv.maxModelLen / 1024)}K`;
  const most = atBest.maxConcurrency.toFixed(1);
  // What isn't known at all is no figure: a low end below nothing says as much.
  const figures =
    room.lowGiB > 0
      ? [
          `${room.lowGiB.toFixed(1)} to ${room.highGiB.toFixed(1)} GiB`,
          `${maxConcurrency.toFixed(1)} to ${most} of ${window}`,
        ]
      : [`up to ${room.highGiB.toFixed(1)} GiB`, `up to ${most} of ${window}`];
  const [first] = agents;
  const atOnce = first === undefined ? "-" : kv.fits ? String(first.atOnce) : UNKNOWN;
  return [share, ...figures, atOnce];
}

function needs(
  { minimumVllm, image, weights, machines }: Recipe,
  { verdict, beside, lacks }: Fit,
  alone: string,
): string {
  const otherwise = lacks === undefined ? "the machine to itself" : "lower shares for the others";
  return [
    ...(machines > 1 ? [`${machines} linked machines`] : []),
    ...(beside && verdict === "no" && alone !== "no" ? [otherwise] : []),
    ...(image === undefined ? [] : [`image ${image}`]),
    ...(minimumVllm === undefined ? [] : [`vLLM ${minimumVllm}`]),
    weights.diskGB === undefined ? "disk not known" : `${weights.diskGB} GB of disk`,
  ].join(", ");
}

/** Whether a model fits and why not, and beside other engines whether it would fit alone. */
function hereText(fit: Fit, alone: string): string {
  const here = [fit.lacksMachines ? fit.verdict : fitText(fit), ...fit.reasons].join(". ");
  if (!fit.beside) return here;
  return `${here}${here.endsWith(".") ? " Alone" : "; alone"} on the machine: ${alone}`;
}

/** Everything that is known of a model, each value with its source. */
export function recipeText(recipe: Recipe, { fit, alone }: ModelRow): string {
  const { config, notes, speeds, starts, sources, against } = recipe;
  const value = (path: string) => {
    const found = path
      .split(".")
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], recipe);
    return typeof found === "object" ? JSON.stringify(found) : String(found);
  };
  const known = sources.flatMap(({ of, basis, source, date }) =>
    of.map((path) => [path, value(path), `${basis}: ${source} (${date})`]),
  );
  const missing = [
    "weights.diskGB",
    "quantization",
    "minimumVllm",
    "share.alone",
    "share.beside",
    "draft",
  ].filter((path) => !known.some(([each]) => each === path));
  return headed(styled("bold", recipe.id), [
    `family ${recipe.family}, ${recipe.kind}${recipe.thinking ? ", with a thinking mode" : ""}`,
    `config.json: ${config.from}, ${config.source} (${config.date})`,
    `here: ${hereText(fit, alone)}`,
    "",
    ...columns([...known, ...missing.map((path) => [path, UNKNOWN, ""])]),
    "",
    ...speeds.map((each) => {
      const how = conditionsOf(each);
      return `${each.what} ${each.tokensPerSecond} tokens/s${how === "" ? "" : ` (${how})`}, ${each.basis}: ${each.source} (${each.date})`;
    }),
    ...starts.map(
      (each) =>
        `${each.works ? "started" : "failed"} at ${each.share}: ${each.source} (${each.date})`,
    ),
    ...against.map(
      ({ of, what, upTo, source, date }) =>
        `against ${of}: ${what}${upTo === undefined ? "" : `, up to vLLM ${upTo}`}: ${source} (${date})`,
    ),
    ...notes,
  ]);
}
