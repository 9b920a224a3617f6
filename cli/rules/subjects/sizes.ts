import { clause } from "@local-serving/base/faults/quoting";
import { FLAGS_WITH_SETTING } from "../../../components/settings";
import type { LastWord, LogReading } from "../../sees/log/scanLog";
import { startSign } from "../../sees/log/sign";
import { isUp, type Picture, serverOf } from "../picture";
import { type Explanation, ofSomeLog, type WeighingRule } from "../rule";
import { endOf, sightingOf } from "./engineSaid";
import { argumentsOf } from "./pointed";

/** A number that has to be a multiple of another one, as messages put it. */
const FORMS: readonly RegExp[] = [
  /(?<what>[\w' .-]{3,100}?)\s*[(=:]?\s*(?<count>\d+)\)? (?:must|should|has to) be (?:evenly )?(?:divisible by|a multiple of) (?<by>[\w' .-]{0,80}?)\s*[(=:]?\s*(?<parts>\d+)/,
  /(?<what>[\w' .-]{0,100}?)\s*[(=:]?\s*(?<count>\d+)\)? (?:is|are)(?: not|n't) (?:evenly )?(?:divisible by|a multiple of) (?<by>[\w' .-]{0,80}?)\s*[(=:]?\s*(?<parts>\d+)/,
];
/** The same without the numbers, or as the code that looks. */
const WITHOUT_FIGURES =
  /\bmust be (?:evenly )?(?:divisible by|a multiple of) [\w' -]{0,60}(?:parallel|size|rank)|\bnot (?:evenly )?divisible by [\w' -]{0,60}(?:parallel|size|rank)/i;
const ASSERTED = /\bassert .{1,120}% ?[\w.]*(?:size|rank|parallel|partition|ep|tp)\w* == 0/;

/** What a model is split by, with the options that say into how many parts. */
const SPLITS: readonly { readonly is: RegExp; readonly options: readonly string[] }[] = [
  {
    is: /expert[ _]parallel|\bep_(?:size|rank|group|world)|\bep\b|expert/i,
    options: ["--enable-expert-parallel", "--tensor-parallel-size"],
  },
  { is: /pipeline|\bpp_/i, options: ["--pipeline-parallel-size"] },
  { is: /data[ _]parallel|\bdp_/i, options: ["--data-parallel-size"] },
];
const TENSOR = ["--tensor-parallel-size"];
const OF_EXPERTS =
  "Expert parallelism puts whole experts onto each of the GPUs that tensor and data parallelism have together; without it they are cut by tensor parallelism.";
/** Blocks in which weights are quantized: a part may not end inside of one. */
const OF_BLOCKS = /block_[nk]|group_size|min_thread|quantization/i;

/** Divisors that are named. */
const MOST = 8;

const divisorsOf = (count: number): number[] =>
  Array.from({ length: Math.min(count, 64) }, (_, index) => index + 1).filter(
    (each) => count % each === 0,
  );

interface Division {
  readonly count: number;
  readonly parts: number;
  /** What the message says of both. */
  readonly words: string;
}

/** What doesn't divide, where the program ended of that. */
function divisionIn({ said, at = "" }: Pick<LastWord, "said" | "at">): Division | undefined {
  for (const form of FORMS) {
    const { what = "", count, by = "", parts } = form.exec(said)?.groups ?? {};
    if (count !== undefined)
      return { count: Number(count), parts: Number(parts), words: `${what} ${by}` };
  }
  if (WITHOUT_FIGURES.test(said)) return { count: 0, parts: 0, words: said };
  return ASSERTED.test(at) ? { count: 0, parts: 0, words: at.replace(/^\S+ /, "") } : undefined;
}

/** How the options that split the model are written, as far as the log shows it. */
function optionsOf({ words, count }: Division, log: LogReading, key: string): string {
  const given = argumentsOf(log);
  const options = SPLITS.find(({ is }) => is.test(words))?.options ?? TENSOR;
  const shown = options.map((option) => {
    const own = given.find(({ names }) => names.includes(option))?.shown ?? `\`${option}\``;
    const setting = FLAGS_WITH_SETTING[option];
    return setting === undefined ? own : `${own} (\`${setting}\` of inferenceServers.${key})`;
  });
  const values = count > 0 ? divisorsOf(count).slice(0, MOST) : [];
  const fits =
    values.length > 1 && !OF_BLOCKS.test(words) ? ` ${values.join(", ")} divide ${count}.` : "";
  return `${shown.join(" and ")}.${fits}`;
}

/** The words of a message without what was raised. */
const SAID_ALONE = startSign(
  "divisible by",
  /[(=: ]\d+\)? (?:(?:must|should|has to) be|is not|are not) (?:evenly )?divisible by [\w' .-]{0,80}?[(=: ]*\d/,
);

/** What ended a program, or the line alone that says it, with what doesn't divide. */
function divisionOf(picture: Picture, log: LogReading) {
  const raised = endOf(picture, log);
  const division = raised && divisionIn(raised);
  if (raised !== undefined && division !== undefined) {
    const said = raised.said === raised.name ? (raised.at ?? "") : raised.said;
    return { division, said, hit: sightingOf(raised, log) };
  }
  const alone = raised === undefined && !isUp(log) ? log.hits.get(SAID_ALONE) : undefined;
  const told = alone && divisionIn({ said: alone.line });
  return told && alone && { division: told, said: alone.line, hit: { ...alone, log } };
}

function notDivisible(picture: Picture, log: LogReading): Explanation | undefined {
  const found = divisionOf(picture, log);
  if (found === undefined) return undefined;
  const { division, said, hit } = found;
  const { key } = serverOf(picture, log);
  const isOfBlocks = OF_BLOCKS.test(division.words);
  return {
    cause: `The model can't be split so: ${clause(said.slice(0, SHOWN))}.`,
    evidence: hit.line,
    target: log.container,
    advice: [
      `Take another number of parts: ${optionsOf(division, log, key)}`,
      ...(SPLITS[0]?.is.test(division.words) && !isOfBlocks ? [OF_EXPERTS] : []),
      ...(isOfBlocks
        ? [
            "Its weights are quantized in blocks, and a part has to hold whole ones: fewer parts are larger, and with `--enable-expert-parallel` experts aren't cut at all.",
          ]
        : []),
      "GPUs that this leaves over can hold stages (`pipelineParallelSize`) or another server.",
    ].join(" "),
    command: "serving plan",
    hit,
    failsStart: true,
  };
}

/** Characters of a message that are shown. */
const SHOWN = 300;

/** vLLM's own words where drafts take the whole batch. */
const NOTHING_LEFT = /max_num_scheduled_tokens is set to (-?\d+)/;

function draftsTakeAll(picture: Picture, log: LogReading): Explanation | undefined {
  const raised = endOf(picture, log);
  const left = NOTHING_LEFT.exec(raised?.said ?? "")?.[1];
  if (raised === undefined || left === undefined) return undefined;
  const { key } = serverOf(picture, log);
  return {
    cause: `The drafts of all sequences take more than a whole batch: ${left} tokens are left for anything else (max_num_scheduled_tokens).`,
    evidence: raised.line,
    target: log.container,
    advice: `vLLM keeps room for the drafts of every sequence that may run (\`num_speculative_tokens\` x \`max_num_seqs\`) in each batch. In inferenceServers.${key} lower \`maxNumSeqs\` (\`--max-num-seqs\`; by default it is large), raise \`maxNumBatchedTokens\` (\`--max-num-batched-tokens\`) above that product, or make fewer drafts (\`speculative.numSpeculativeTokens\`).`,
    command: "serving plan",
    hit: sightingOf(raised, log),
    failsStart: true,
  };
}

/** Numbers that don't go together. */
export const sizes: readonly WeighingRule[] = [
  { id: "not-divisible", explain: ofSomeLog(notDivisible) },
  { id: "drafts-fill-batch", explain: ofSomeLog(draftsTakeAll) },
];
