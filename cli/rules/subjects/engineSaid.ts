import { basename } from "node:path";
import { clause } from "@local-serving/base/faults/quoting";
import { startedAgain } from "@local-serving/machines/docker/containers";
import { FLAGS_WITH_SETTING } from "../../../components/settings";
import type { LastWord, LogReading } from "../../sees/log/scanLog";
import { startSign } from "../../sees/log/sign";
import {
  isHealthy,
  isUp,
  type Picture,
  type Server,
  type Sighting,
  serverOf,
  stateOf,
} from "../picture";
import {
  APPLY,
  type Explanation,
  explaining,
  type Held,
  isHarmless,
  type WeighingRule,
} from "../rule";
import {
  argumentsIn,
  argumentsOf,
  linesOfStack,
  ofMissingPath,
  optionsNamed,
  type WordsOfError,
} from "./pointed";

/** Characters of a message that are shown as the cause, and of one that is added to it. */
const SHOWN = 400;
const SHOWN_MORE = 160;

/** Sentences of a message that say what to do instead. */
const ADVISES =
  /\b(?:valid (?:options|values|choices)|[Mm]ust be|[Ee]xpected|[Ss]upported|[Cc]ho(?:o|)se from|should be|[Pp]lease|[Tt]ry|[Cc]onsider|Use|Run|Install|[Mm]ake sure|[Ii]ncrease|[Dd]ecrease|[Ss]et)\b/;

/** What argparse would take instead. */
const CHOICES = /\(choose from .*\)/;

/** A message that says next to nothing: the code that raised it says more. */
const SAYS_LITTLE = 60;

/** NCCL says what is wrong above the traceback, whose words are the same for everything. */
const NCCL_WARNS = startSign("NCCL WARN", /NCCL WARN (.{3,300})/);

/** Files of a traceback, from its end, that tell what was asked for. */
const LAST_FRAMES = 4;

/** Lines around what was raised that may tell more of it. */
const [BEFORE, BEHIND] = [200, 50];

/** What a program said itself, where no known line explains it. */
export const engineSaid: WeighingRule = {
  id: "engine-said",
  explain(picture, before) {
    const log = picture.logs.find((each) => endOf(picture, each) !== undefined);
    const raised = log && endOf(picture, log);
    // What one line says alone may be anybody's, and is explained by whatever else holds.
    const isExplained =
      raised?.isAlone === true
        ? before.some((each) => each.rule.is !== "version" && !isHarmless(each))
        : explaining(before).some((each) => explainsTheEnd(picture, each));
    return raised && !isExplained ? explained(picture, log, raised) : undefined;
  },
};

/** Whether a rule tells why the program ended, and not only what else it logged. */
function explainsTheEnd(picture: Picture, { explanation: { hit, failsStart } }: Held): boolean {
  const end = hit && endOf(picture, hit.log);
  if (hit === undefined || end === undefined || failsStart === true) return true;
  return (
    hit.lineNumber >= end.firstLineNumber - BEFORE && hit.firstLineNumber <= end.lineNumber + BEHIND
  );
}

/** What ended the program of a log; `undefined` where it goes on, or doesn't say. */
export function endOf(picture: Picture, log: LogReading): LastWord | undefined {
  const { raised, kind } = log;
  if (raised === undefined || kind === "kernel" || kind === "probes") return undefined;
  if (raised.afterServing) return raised;
  if (isHealthy(picture, log)) return undefined;
  // An error that was only logged ends a program that never came up.
  return raised.isEnd || !isUp(log) ? raised : undefined;
}

/** What ended a program, as a rule was told by it; `groups` are what its pattern caught. */
export const sightingOf = (
  { line, lineNumber, firstLineNumber }: LastWord,
  log: LogReading,
  groups: readonly string[] = [],
): Sighting => ({ line, groups, lineNumber, firstLineNumber, count: 1, log });

function explained(picture: Picture, log: LogReading, raised: LastWord): Explanation {
  const server = serverOf(picture, log);
  const {
    said,
    name,
    first = "",
    at = "",
    argument,
    files = [],
  } = isGeneric(raised) ? { ...raised, said: raised.first ?? "", first: "" } : raised;
  // The number of an item in a list ends no sentence.
  const sentences = said.split(/(?<=[.!?])(?<!(?:^| )\d+\.) (?=["'`]?[A-Z])/);
  const advised = sentences.slice(1).filter((each) => ADVISES.test(each));
  const told = sentences.filter((each) => !advised.includes(each)).join(" ");
  const words = wordsOf(
    { ...raised, said, first, at, files, ...(argument && { argument }) },
    told,
    log,
  );
  const inFile = picture.stack === undefined ? [] : linesOfStack(words, server, picture.stack);
  const missing = ofMissingPath(told, server, picture.stack);
  const warned = /NCCL/.test(said) ? log.hits.get(NCCL_WARNS)?.groups[0] : undefined;
  const given = startedWith(log, words);
  const isPointed = given !== "" || inFile.length > 0;
  const named =
    isPointed || raised.by === "docker" ? "" : optionText({ raised, words, server, log });
  const advice = [
    warned === undefined ? "" : `NCCL itself said: ${cut(warned, SHOWN_MORE)}.`,
    missing ?? (advised.length === 0 ? "" : `It says: ${cut(advised.join(" "), SHOWN)}`),
    picture.stack === undefined || inFile.length === 0
      ? given
      : `In ${basename(picture.stack.file)}: ${inFile.join("; ")}.`,
    named,
  ].filter((each) => each !== "");
  // A name without words says nothing; the code that raised it does.
  const shown = said === name && at !== "" ? `${name} in ${at}` : cut(told, SHOWN);
  const rooted = first === "" ? "" : ` (first: ${cut(first, SHOWN_MORE)})`;
  return {
    cause: `${whoEnded(raised)}: ${clause(shown)}${rooted}.${againText(picture, log, raised)}`,
    evidence: [
      cut(raised.line, SHOWN),
      ...(at !== "" && said.length < SAYS_LITTLE ? [`raised in ${at}`] : []),
    ].join(" | "),
    advice: advice.length > 0 ? advice.join(" ") : placeToLook(raised),
    command: nextOf(raised, server, { inFile: inFile.length > 0, isGiven: given !== "" }),
  };
}

/** Docker was asked to start a container, and not to show, fetch or enter one. */
const STARTS =
  /^docker: |OCI runtime create|create (?:shim )?task|start container|container init|^exec |nvidia-container-cli|exec user process/;

/** What to run next, by where the value stands that is to be corrected. */
function nextOf(
  { by }: LastWord,
  { container }: Server,
  { inFile, isGiven }: { readonly inFile: boolean; readonly isGiven: boolean },
): string {
  if (inFile) return APPLY;
  // Docker kept no log of what it didn't start.
  if (by === "docker") return "docker ps --all";
  return isGiven ? "serving fit command.sh" : `docker logs --tail 200 ${container} 2>&1 | less`;
}

/** What may name an argument or a line of the stack file. */
function wordsOf(
  { said, first, at = "", argument, files = [], by }: LastWord,
  told: string,
  log: LogReading,
): WordsOfError {
  // Docker names an option where it took that for the program.
  if (by === "docker") return { text: told.replace(/--[\w-]+/g, "") };
  // What else would be valid names no setting that is wrong.
  const text = [told.replace(CHOICES, ""), first].join("\n");
  // An address that can't be bound to is that of `--host`, whose name no frame has.
  const isBound = /\b(?:sock|listener|socket)\.bind\(/.test(at);
  const isPort = isBound && /Errno 13\b/.test(said);
  const option = isPort ? "--port" : (argument ?? (isBound ? addressOption(log) : undefined));
  const short = said.length < SAYS_LITTLE ? option : undefined;
  return { text, at, option: short, files: files.slice(-LAST_FRAMES) };
}

/** The option that gives an address to listen on. */
const addressOption = (log: LogReading): string => {
  const names = argumentsOf(log).flatMap((each) => each.names);
  const isAddress = (name: string) => /^--[\w-]*(?:addr|address)$/.test(name);
  return names.includes("--host") ? "--host" : (names.find(isAddress) ?? "--host");
};

/** A library's sentence for anything that goes wrong, which comes of something else that is said. */
const isGeneric = ({ said, first }: LastWord): boolean =>
  first !== undefined &&
  /If you were trying to load it from|make sure you don't have a local directory/.test(said);

function whoEnded(raised: LastWord): string {
  const { by, line, isAlone, isEnd, hadServed, afterServing } = raised;
  if (by === "docker")
    return STARTS.test(line) ? "The container can't be started" : "Docker refuses";
  if (isAlone) return "The log says";
  if (!isEnd) return "The server did not come up. It logged last";
  const who = isAnothers(raised) ? "The program" : "vLLM";
  return hadServed || afterServing === true ? `${who} served, then ended` : `${who} ended`;
}

/** Whether no process of vLLM raised it, nor code of vLLM. */
const isAnothers = ({ process, files = [] }: LastWord): boolean =>
  process === "" && files.length > 0 && !files.some((file) => /(?:^|\/)vllm\b/.test(file));

/** How often it was started since, by Docker's own count where that was read. */
export function againText(
  picture: Picture,
  { container, starts = 1 }: LogReading,
  { afterServing }: Pick<LastWord, "afterServing">,
): string {
  const { restartCount = 0 } = (container && stateOf(picture, container)) || {};
  if (restartCount > 0) return ` ${startedAgain(restartCount)}.`;
  return afterServing === true && starts > 1 ? " It has been started again since." : "";
}

function startedWith(log: LogReading, words: WordsOfError): string {
  const given = argumentsIn(words, log);
  return given.length === 0 ? "" : `It was started with ${given.join(", ")}.`;
}

/** Code that looks at what vLLM was started with. */
const OF_OPTIONS =
  /^vllm\/(?:config|engine\/arg_utils|entrypoints\/(?:cli|openai\/cli_args|utils))/;

/** The options that a refused value is given by, where the words don't give what the log has. */
function optionText({ raised, words, server, log }: Refused): string {
  const { validated, at = "", files = [] } = raised;
  const places = [at, ...files.slice(-LAST_FRAMES)];
  const isOfOptions =
    validated?.endsWith("Config") === true || places.some((each) => OF_OPTIONS.test(each));
  const started = argumentsOf(log);
  const [option, ...others] = isOfOptions ? optionsNamed(words, { validated, given: started }) : [];
  if (option === undefined) return "";
  const setting = FLAGS_WITH_SETTING[option] ?? "extraArgs";
  const given = started.find(({ names }) => names.includes(option))?.shown;
  const shown =
    given === undefined ? `That is the option \`${option}\`` : `It was started with ${given}`;
  const more = others.map((each) => `\`${each}\``).join(" and ");
  return `${shown}, in the stack file \`${setting}\` of inferenceServers.${server.key}.${more === "" ? "" : ` It depends on ${more}, too.`}`;
}

interface Refused {
  readonly raised: LastWord;
  readonly words: WordsOfError;
  readonly server: Server;
  readonly log: LogReading;
}

/** A file outside of the folder that packages are in. */
const OWN_CODE = /^\/(?!\S*(?:site|dist)-packages\/)\S+\.py:\d+/;

function placeToLook({ process, lineNumber, at, by, isAlone }: LastWord): string {
  if (by === "docker")
    return "Docker itself says it: correct the command or the compose file that the container was to be started with.";
  if (isAlone === true)
    return "No traceback shows where that was raised: give doctor the whole log, from the first line of its start.";
  const own = OWN_CODE.exec(at ?? "")?.[0];
  if (own !== undefined)
    return `It was raised in ${own}, which is no part of vLLM: correct that code, or take out what loads it.`;
  const whose = process === "" ? "" : ` of ${process}`;
  const raisedAt = at === undefined ? "" : `; it was raised in ${at}`;
  return `Look at line ${lineNumber}${whose} and at what comes before it in the log${raisedAt}.`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).replace(/\s\S*$/, "")} ...`;
}
