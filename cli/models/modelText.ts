import { hanging, headed, type Width } from "@local-serving/base/commandLine/layout";
import { columns, styled } from "@local-serving/base/commandLine/output";
import type { Recipe } from "../../components/catalogue";
import { speedTexts } from "../../components/memory";
import { isPooling } from "../../components/planned";
import type { Fit } from "./fit";
import { conditionsOf, type ServedSpeed, speedCells, UNKNOWN } from "./speeds";

/** One model of the table: whether it fits where it would run, and whether it would fit alone. */
export interface ModelRow {
  readonly fit: Fit;
  readonly alone: Fit["verdict"];
}

type Column = "model" | "fits" | "share" | "windows" | "agents" | "speed" | "drafts" | "needs";
type Cells = Readonly<Record<Column | "how", string>>;

const HEADS: Cells = {
  model: "model",
  fits: "fits",
  how: "",
  share: "share",
  windows: "windows",
  agents: "agents",
  speed: "tokens/s",
  drafts: "with drafts",
  needs: "needs",
};
const ALL = ["model", "fits", "share", "windows", "agents", "speed", "drafts", "needs"] as const;

/** What is read first: these have a column of their own also where the terminal is narrow. */
const FIRST = ["model", "fits", "share", "agents", "speed", "drafts"] as const;

/**
 * The catalogue for one machine, a line for each model. Where that is wider than the terminal, what
 * is read least stands below each model.
 */
export function modelTable(rows: readonly ModelRow[], width: Width): string[] {
  const cells = rows.map((row) => cellsOf(row));
  const named = cells.map((cell) => ({ ...cell, fits: fitText(cell.fits, cell.how) }));
  const whole = columns([HEADS, ...named].map((cell) => ALL.map((key) => cell[key])));
  return whole.every(({ length }) => length <= width) ? whole : narrowTable(cells, width);
}

const ALONE = { yes: "fits alone", perhaps: "may fit alone", no: "" } as const;

/** The models that don't fit, in one sentence with what each lacks. */
export function unfitText(rows: readonly ModelRow[]): string {
  const each = rows.map(({ fit, alone }) => {
    const single = fit.beside ? ALONE[alone] : "";
    const why = [howText(fit), single].filter((text) => text !== "");
    return fitText(fit.recipe.servedModelName, why.join("; "));
  });
  return `Don't fit here: ${each.join(", ")}. \`--all\` lists them too.`;
}

function cellsOf({ fit, alone }: ModelRow): Cells {
  const { recipe, verdict } = fit;
  const [share = "-", windows = "-", agents = "-"] = verdict === "no" ? [] : figures(fit);
  const [speed, drafts] = speedCells(fit.speed);
  const rest = { speed, drafts, needs: needs(recipe, fit, alone) };
  const fits = WORDS[verdict];
  return {
    model: recipe.servedModelName,
    fits,
    how: howText(fit),
    share,
    windows,
    agents,
    ...rest,
  };
}

function speedText(speed: ServedSpeed): string {
  const { decode, withDrafts } = speedTexts(speed);
  const more = withDrafts === undefined ? [] : [`${withDrafts} (\`models use ... --drafts\`)`];
  return [decode, ...more].join("; ");
}

function narrowTable(cells: readonly Cells[], width: Width): string[] {
  const short = (text: string) => (text === UNKNOWN ? "?" : text);
  const [head = "", ...lines] = columns(
    [HEADS, ...cells].map((cell) => FIRST.map((key) => short(cell[key]))),
  );
  const below = cells.map(({ how, windows, needs }) =>
    [...(how === "" ? [] : [how]), ...(windows === "-" ? [] : [`windows ${windows}`]), needs].join(
      "; ",
    ),
  );
  return [
    head,
    ...lines.flatMap((line, index) => [line, `    ${hanging(below[index] ?? "", 4, width)}`]),
    "?: not known",
  ];
}

const WORDS = { yes: "yes", perhaps: "maybe", no: "no" } as const;

const fitText = (fits: string, how: string): string => (how === "" ? fits : `${fits} (${how})`);

/** How a verdict is known, or what is lacking; "" where that is all. */
function howText({ recipe, verdict, kv, missingGiB, lacksMachines }: Fit): string {
  if (verdict === "perhaps") return kv === null ? "KV cache not known" : "";
  if (verdict === "no" && lacksMachines) return `needs ${recipe.machines} machines`;
  if (verdict === "no") return missingGiB === undefined ? "" : `${missingGiB.toFixed(1)} GiB over`;
  if (kv?.room.basis === "measured") return "started here";
  const by = kv?.room.started?.source.split(/[,;]/)[0];
  return by === undefined ? "computed" : `started by ${by}`;
}

/** Whether a model's KV cache may have no room at all. */
export const isOpenBelow = ({ verdict, kv }: Fit): boolean =>
  verdict !== "no" && kv !== null && kv.room.lowGiB <= 0;

function figures({ recipe, values, kv }: Fit): string[] {
  const share = String(values.find(({ path }) => path[0] === "gpuMemoryUtilization")?.value);
  const unknownAgents = isPooling(recipe.kind) ? "-" : UNKNOWN;
  if (kv === null) return [share, UNKNOWN, unknownAgents];
  const { room, atBest, maxConcurrency, agents } = kv;
  const window = `${Math.round(kv.maxModelLen / 1024)}K`;
  const most = atBest.maxConcurrency.toFixed(1);
  // What isn't known at all is no figure: a low end below nothing says as much.
  const windows = `${room.lowGiB > 0 ? `${maxConcurrency.toFixed(1)} to` : "up to"} ${most} of ${window}`;
  const [first] = agents;
  const atOnce = first === undefined ? "-" : kv.fits ? String(first.atOnce) : UNKNOWN;
  return [share, windows, atOnce];
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
function hereText(fit: Fit, alone: Fit["verdict"]): string {
  const how = fit.lacksMachines ? "" : howText(fit);
  const here = [fitText(WORDS[fit.verdict], how), ...fit.reasons].join(". ");
  if (!fit.beside) return here;
  return `${here}${here.endsWith(".") ? " Alone" : "; alone"} on the machine: ${WORDS[alone]}`;
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
    ...(fit.speed === undefined ? [] : [`speed here: ${speedText(fit.speed)}`]),
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
