import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { pause } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { eachLine, type StartOptions, start } from "@local-serving/base/commandLine/run";
import { isOverSsh } from "@local-serving/machines/address";
import { docker, dockerCommand } from "@local-serving/machines/docker/docker";
import { filesOf } from "@local-serving/machines/files";
import { bytesHere, cacheOn, repositoryFolder } from "@local-serving/machines/hubCache";
import { askOn, commandOn, followedOn } from "@local-serving/machines/onMachine";
import type { MachinePlan } from "../../components/plan";
import {
  AGAIN,
  explained,
  LEFT_OUT,
  type Needs,
  pullExplained,
} from "../../components/preflight/fetch";
import { partOfArchive, programWords } from "../../components/services/on-demand";
import { showProgress, type ToFetch } from "./progress";

/** What docker and the tool said last is where the cause is. */
const KEPT_CHARACTERS = 4000;

/** How the tool is set. */
const TOOL_ENVIRONMENT = [
  "HF_HOME=/cache",
  "HOME=/tmp",
  "HF_HUB_DISABLE_UPDATE_CHECK=1",
  "HF_HUB_DISABLE_PROGRESS_BARS=1",
  // It would begin every file anew.
  "HF_HUB_DISABLE_XET=1",
];

/** The variables of this shell by which the tool finds the hub. */
const PASSED_ON = [
  "HF_ENDPOINT",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
  "https_proxy",
  "http_proxy",
  "no_proxy",
];

/**
 * The hub's own command line. From 1.2x on it begins a file anew that an earlier run has begun;
 * this goes on with what is there, as it did before, where its insides are still as they were.
 */
const TOOL = `
import inspect
from huggingface_hub import file_download as hub
from huggingface_hub.cli.hf import main
def resumed(incomplete_path, destination_path, url_to_download, headers, expected_size, **more):
    if destination_path.exists():
        return
    with incomplete_path.open("ab") as file:
        if expected_size is None or file.tell() < expected_size:
            hub.http_get(url_to_download, file, resume_size=file.tell(), headers=headers, expected_size=expected_size)
    hub._chmod_and_move(incomplete_path, destination_path)
try:
    taken = set(inspect.signature(hub._download_to_tmp_and_move).parameters)
    if "uuid" in inspect.getsource(hub._download_to_tmp_and_move) and hub._chmod_and_move and taken >= set(inspect.getfullargspec(resumed).args):
        hub._download_to_tmp_and_move = resumed
except Exception:
    pass
main()
`.trim();

const passedOn = () =>
  PASSED_ON.flatMap((name) => (process.env[name] ? [`${name}=${process.env[name]}`] : []));

/** Stands for a connection that was lost. */
const LOST = Symbol("lost");

type By = keyof typeof AGAIN;

/** Said in the end where the connection was lost for good. */
const lostText = (by: By): string =>
  `The connection was lost, and the machine still doesn't answer. A download that has begun goes on there. Run \`serving ${by}\` again later.`;

/**
 * How often a lost connection is taken up again, how many times the machine is then asked, and the
 * pause between two of these.
 */
const [RESUMED, ASKED, PAUSE_MILLISECONDS] = [20, 60, 10_000];

/**
 * Pulls the images and downloads the models that are missing, one after another. Returns why one
 * didn't come; the rest then waits for another run. When interrupted, what was started is stopped
 * and what was loaded stays. `by` is the command that somebody typed.
 */
export async function fetchMissing(
  { images, models, program, rootless }: Needs,
  machine: MachinePlan,
  interrupt: AbortSignal,
  by: By = "fetch",
): Promise<string | undefined> {
  const each = [
    ...images.map((image) => () => pull(image, machine, interrupt)),
    ...models.map((model) => {
      const container = `local-serving-fetch-${randomBytes(4).toString("hex")}`;
      return () => download(model, { container, rootless }, machine, interrupt);
    }),
    ...(program === undefined ? [] : [() => bring(program, machine, interrupt)]),
  ];
  for (const fetch of each) {
    let problem = await fetch();
    for (
      let lost = 0;
      problem === LOST && lost < RESUMED && (await isBack(machine, interrupt));
      lost++
    )
      problem = await fetch();
    if (interrupt.aborted)
      say(`Interrupted. What was downloaded stays: \`serving ${by}\` goes on from there.`);
    if (problem === LOST) return lostText(by);
    if (problem !== undefined) return problem(AGAIN[by]);
    if (interrupt.aborted) return undefined;
  }
  return undefined;
}

/** Waits for a machine that was lost; not for ever, and not beyond an interrupt. */
async function isBack(machine: MachinePlan, interrupt: AbortSignal): Promise<boolean> {
  say(`The connection to ${machine.name} was lost. This goes on when it answers again.`);
  for (let asked = 0; asked < ASKED && !interrupt.aborted; asked++) {
    if ((await askOn(machine, ["true"])).code === 0) return true;
    await pause(PAUSE_MILLISECONDS, interrupt);
  }
  return false;
}

function pull(image: Needs["images"][number], machine: MachinePlan, interrupt: AbortSignal) {
  const done = new Set<string>();
  const came = async () =>
    [...image.layers].reduce(
      (sum, [digest, size]) => sum + (done.has(digest.slice(7, 19)) ? size : 0),
      0,
    );
  const { words, env } = dockerCommand(["pull", image.name], machine.dockerHost, followedOn);
  const line = (text: string) => {
    const [, layer] = /^([0-9a-f]{12}): (?:Download|Pull) complete/.exec(text) ?? [];
    if (layer !== undefined) done.add(layer);
  };
  return followed(image, machine, { words, env, held: true, came, line }, interrupt);
}

/** Brings llama-swap's archive, through the proxy of this shell. */
async function bring(
  of: ToFetch,
  machine: MachinePlan,
  interrupt: AbortSignal,
): Promise<Problem | undefined> {
  const { onDemand } = machine;
  if (onDemand === undefined) return undefined;
  const words = programWords(onDemand.program, "bring", passedOn());
  const size = ["stat", "-c", "%s", partOfArchive(onDemand)];
  const came = async () => Number((await filesOf(machine).ask(size)).out) || 0;
  return followed(of, machine, { words: followedOn(machine, words), held: true, came }, interrupt);
}

/** Hands its stdin on as a file that docker can open. */
const WITH_INPUT = 'cat | "$@"';

/**
 * Runs the tool of the server's own image on the cache, as the cache's owner, so that nobody's
 * files change hands.
 */
async function download(
  model: Needs["models"][number],
  { container, rootless }: { readonly container: string; readonly rootless: boolean },
  machine: MachinePlan,
  interrupt: AbortSignal,
) {
  const { name: id, cache, tokenVariable } = model;
  const { dockerHost } = machine;
  const files = filesOf(machine);
  // A client that went away leaves its container running.
  const remove = () => docker(["rm", "--force", container], dockerHost).catch(() => {});
  if (isOverSsh(machine)) await remove();
  const made = await files.ask(["mkdir", "-p", cache]);
  const folders = [repositoryFolder(cache, id), join(cache, "hub"), cache];
  const states = await Promise.all(folders.map((folder) => files.state(folder)));
  const owner = states.find((state) => typeof state === "object");
  if (owner === undefined) throw new Failed(`The model cache ${cache} can't be made: ${made.err}`);
  const has = async () => bytesHere(await cacheOn(machine, cache, id, false), id);
  const before = await has();
  const user = rootless ? "0:0" : `${owner.uid}:${owner.gid}`;
  const args = toolArguments(model, container, user);
  const token = process.env[tokenVariable ?? ""];
  const input = [...TOOL_ENVIRONMENT, ...passedOn(), ...(token ? [`HF_TOKEN=${token}`] : [])].join(
    "\n",
  );
  const { words, env } = dockerCommand(args, dockerHost, (place, given) =>
    commandOn(place, ["sh", "-c", WITH_INPUT, "sh", ...given]),
  );
  try {
    const came = async () => (await has()) - before;
    return await followed(model, machine, { words, env, input, came }, interrupt);
  } finally {
    if (interrupt.aborted) await remove();
  }
}

/** The arguments of docker that run the hub's tool for a model. */
function toolArguments(
  { name: id, cache, revision, image }: Needs["models"][number],
  container: string,
  user: string,
): string[] {
  return [
    "run",
    "--rm",
    "--pull",
    "never",
    "--name",
    container,
    "--network",
    "host",
    "--user",
    user,
    "--volume",
    `${cache}:/cache`,
    "--env-file",
    "/dev/stdin",
    "--entrypoint",
    "python3",
    image,
    "-c",
    TOOL,
    "download",
    id,
    ...(revision === undefined ? [] : ["--revision", revision]),
    ...LEFT_OUT.flatMap((pattern) => ["--exclude", pattern]),
  ];
}

/** How ssh ends where it is cut off, as it does for a program that a signal ended. */
const CUT_OFF = 255;

/** A command that fetches something, and how its progress is seen. */
interface Fetching extends StartOptions {
  readonly words: readonly string[];
  /** Bytes that came so far. */
  came(): Promise<number>;
  /** Gets each line that it prints. */
  line?(text: string): void;
}

/** Why something didn't come, with what to run again. */
type Problem = typeof LOST | ((again: string) => string);

/** Runs a command with progress on stderr; returns why it failed. An interrupt ends it. */
async function followed(
  of: ToFetch,
  machine: MachinePlan,
  { words, came, line, ...options }: Fetching,
  interrupt: AbortSignal,
): Promise<Problem | undefined> {
  const { stdout, ended, stop } = start(words, { ...options, merged: true });
  interrupt.addEventListener("abort", () => stop(), { once: true });
  let said = "";
  eachLine(stdout, (text) => {
    said = `${said}\n${text}`.slice(-KEPT_CHARACTERS);
    line?.(text);
  });
  const finish = showProgress(process.stderr, of, came);
  const { code } = await ended;
  await finish(code === 0);
  if (code === 0 || interrupt.aborted) return undefined;
  if (code === CUT_OFF && isOverSsh(machine)) return LOST;
  return (again) => (of.kind === "image" ? pullExplained : explained)(of, said, again);
}
