import { posix } from "node:path";
import { isPython } from "@local-serving/vllm/argv/serverInvocations";
import { baseName, isText, SOME_WORDS, type Word } from "@local-serving/vllm/argv/unknown";
import type { LaunchInputs } from "./container";

/** What a container runs, as it was read. */
interface Run {
  readonly commands: readonly (readonly Word[])[];
  readonly scripts: readonly string[];
}

/** Variables by which another program or file runs than the one that is named. */
const STEERING = new RegExp(
  `^(?:${[
    "PATH|LD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|PROMPT_COMMAND|PS\\d|IFS|ZDOTDIR",
    "PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$|HASHSEED$|IOENCODING$|UTF8$|FAULTHANDLER$).*",
    "CURL_HOME|XDG_CONFIG_HOME|OPENSSL_.*|GCONV_PATH|(?:PIP|UV)_(?!NO_CACHE).*",
  ].join("|")})$`,
);

/** Whether a variable makes a command run something else than it names. */
export const steers = (name: string): boolean => STEERING.test(name);

/** Folders and files that hold an image's programs and libraries, and what each shell reads first. */
const PROGRAM_FOLDERS = [
  ...["/bin", "/sbin", "/lib", "/lib64", "/opt", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64"],
  ...["/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/etc/alternatives"],
  ...["/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"],
  ...["/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/zsh"],
];
/** The same in a user's home folder. */
const START_FILES = [
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshenv", ".curlrc"],
  ...[".local", ".pip", ".config/curlrc", ".config/pip", ".config/uv"],
];
/** Programs that read no file of a home folder. */
const HOMELESS = /^(?:sleep|tail|nvidia-smi|true|false|:|wait|trap|exit|set)$/;
/** A shell that somebody logs into or speaks to. */
const SHELL_OF_USER =
  /(?:^|[\s/])(?:ba|da|a|z|k)?sh(?:\s+-\S+)*(?:\s+-(?:[a-z]*[il]|-login\b)|\s*$)/;
/** The folders that vLLM's own images and NVIDIA's start in. */
const WORK_FOLDERS = ["/vllm-workspace", "/workspace"];
/** The folders of which it isn't known which they are. */
const EVERYWHERE = ["/"];

/**
 * Whether a container runs the programs that its image has: nothing is mounted, uploaded or written
 * where they are, or where they look for what they run.
 */
export function runsItsOwn(launch: LaunchInputs, run: Run): boolean {
  const work = workFolders(launch);
  const written = [...run.commands.flatMap(destinations), ...run.scripts.flatMap(redirections)];
  const places = [...launch.places, ...written.flatMap((place) => absolute(place, work))];
  return !(
    appearsIn(places, PROGRAM_FOLDERS) ||
    (readsHome(launch, run) && appearsIn(places.map(ofRoot), startFiles(launch))) ||
    (run.commands.some((command) => command.some(isPython)) && appearsIn(places, work))
  );
}

/** Whether a path, wherever it leads, is one of a program's. */
export const isInProgramFolder = (program: string): boolean =>
  PROGRAM_FOLDERS.some((folder) => posix.normalize(program).startsWith(`${folder}/`));

/** Whether files appear in one of these folders, or in place of it. */
export const appearsIn = (places: readonly Word[], folders: readonly string[]): boolean =>
  places.some((place) => {
    if (!isText(place)) return true;
    const path = ended(place);
    return folders.map(ended).some((each) => each.startsWith(path) || path.startsWith(each));
  });

/** A folder's path with one slash at its end. */
const ended = (folder: string): string => posix.normalize(`/${folder}/`);

/** The folders that a container may start in. */
export const workFolders = ({ workingDir }: Pick<LaunchInputs, "workingDir">): string[] =>
  workingDir === undefined ? WORK_FOLDERS : isText(workingDir) ? [workingDir] : EVERYWHERE;

const absolute = (place: Word, work: readonly string[]): Word[] =>
  isText(place) && !place.startsWith("/") ? work.map((folder) => `${folder}/${place}`) : [place];

/** What a command writes to, by its own words. */
function destinations([program, ...words]: readonly Word[]): readonly Word[] {
  const name = isText(program) ? baseName(program) : "";
  if (name === "tee") return words.filter((word) => !isText(word) || !word.startsWith("-"));
  if (!DOWNLOADS.has(name) && !isPython(program)) return [];
  return words.flatMap((word, index) => {
    const [option, value] = (isText(word) && /^--(?:loc|cac)[^=]*(?:=(.*))?/s.exec(word)) || [];
    return option === undefined ? [] : [value ?? words[index + 1] ?? SOME_WORDS];
  });
}

/** Programs, beside Python's, whose `--local-dir` and `--cache-dir` take what they download. */
const DOWNLOADS = new Set(["hf", "huggingface-cli", "modelscope", "uvx"]);

/** The files that a script's redirections write to; one that no path names can't be told. */
const redirections = (script: string): Word[] =>
  [...script.matchAll(/>{1,2}(?!>)[|&]?\s*([^\s;&|<>()]*)/g)].flatMap(
    ([whole, file = ""]): Word[] => {
      if (/^>&\s*(?:\d+|-)$/.test(whole) || /^\/dev\/(?:null|stdout|stderr)$/.test(file)) return [];
      return [/^\/(?!dev\/)[\w./+:@,-]+$/.test(file) ? file : SOME_WORDS];
    },
  );

/** Whether what runs reads files of a home folder. */
function readsHome(
  { entrypoint = [], command }: LaunchInputs,
  { commands, scripts }: Run,
): boolean {
  const whole = [...entrypoint, ...command].map(String).join(" ");
  const homeless = ([program]: readonly Word[]) =>
    program === undefined || (isText(program) && HOMELESS.test(baseName(program)));
  return [whole, ...scripts].some((each) => SHELL_OF_USER.test(each)) || !commands.every(homeless);
}

const startFiles = ({ variables }: LaunchInputs): string[] => {
  const homes: Word[] = ["/root", "/home/u", variables.get("HOME") ?? "/root"];
  if (!homes.every(isText)) return EVERYWHERE;
  return homes.flatMap((folder) => START_FILES.map((file) => `${folder}/${file}`));
};

/** A place in any user's home as one of root's: which user a container has is its image's matter. */
const ofRoot = (place: Word): Word =>
  isText(place) ? ended(place).replace(/^\/home\/[^/]+\//, "/root/") : place;
