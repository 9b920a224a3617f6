import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { say } from "../../commandLine/output";
import { eachLine, start } from "../../commandLine/run";
import { docker } from "../../components/docker/docker";
import { cacheOn, repositoryIn } from "../../components/evidence/modelCache";
import { explained } from "../../components/fetch/causes";
import { bytesHere, LEFT_OUT } from "../../components/fetch/hub";
import type { Missing, MissingImage, MissingModel, Needs } from "../../components/fetch/needs";
import type { MachinePlan } from "../../components/plan/types";
import { showProgress } from "./progress";

const REMOVE_SECONDS = 30;

/** What docker and the tool said last is where the cause is. */
const KEPT_CHARACTERS = 4000;

/** How the tool is set, and the variables of this shell by which it finds the hub: one that isn't set is not passed on. */
const TOOL_ENVIRONMENT = [
  ...["HF_HOME=/cache", "HOME=/tmp", "HF_HUB_DISABLE_UPDATE_CHECK=1", "HF_HUB_DISABLE_PROGRESS_BARS=1"],
  // It would begin every file anew.
  "HF_HUB_DISABLE_XET=1",
  ...["HF_ENDPOINT", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"],
];

/**
 * The hub's own command line. From 1.2x on it begins a file anew that an earlier run has begun; this goes on with what is
 * there, as it did before, where its insides are still as they were.
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

/**
 * Pulls the images and downloads the models that are missing, one after another. Returns why one didn't come; the rest then
 * waits for another run. When interrupted, what was started is stopped and what was loaded stays.
 */
export async function fetchMissing(
  { images, models, rootless }: Needs,
  { dockerHost }: MachinePlan,
  interrupt: AbortSignal,
): Promise<string | undefined> {
  const each = [
    ...images.map((image) => () => pull(image, dockerHost, interrupt)),
    ...models.map((model) => () => download(model, rootless, dockerHost, interrupt)),
  ];
  for (const fetch of each) {
    const problem = await fetch();
    if (interrupt.aborted) say("Interrupted. What was loaded stays: `serving fetch` goes on from there.");
    if (problem !== undefined || interrupt.aborted) return problem;
  }
  return undefined;
}

function pull(image: MissingImage, dockerHost: string, interrupt: AbortSignal) {
  const done = new Set<string>();
  const came = async () =>
    [...image.layers].reduce((sum, [digest, size]) => sum + (done.has(digest.slice(7, 19)) ? size : 0), 0);
  return followed(image, ["docker", "pull", image.name], { DOCKER_HOST: dockerHost }, came, interrupt, (line) => {
    const [, layer] = /^([0-9a-f]{12}): (?:Download|Pull) complete/.exec(line) ?? [];
    if (layer !== undefined) done.add(layer);
  });
}

/** Runs the tool of the server's own image on the cache, as the cache's owner, so that nobody's files change hands. */
async function download(model: MissingModel, rootless: boolean, dockerHost: string, interrupt: AbortSignal) {
  const { name: id, cache, revision, image, tokenVariable } = model;
  mkdirSync(cache, { recursive: true });
  const folders = [repositoryIn(cache, id), join(cache, "hub"), cache];
  const { uid, gid } = statSync(folders.find(existsSync) ?? cache);
  const container = `local-serving-fetch-${randomBytes(4).toString("hex")}`;
  const token = process.env[tokenVariable ?? ""];
  const env = { DOCKER_HOST: dockerHost, ...(token ? { HF_TOKEN: token } : {}) };
  const has = async () => bytesHere(await cacheOn({ dockerHost }, cache, id), id);
  const before = await has();
  const command = [
    ...["docker", "run", "--rm", "--pull", "never", "--name", container, "--network", "host"],
    ...["--user", rootless ? "0:0" : `${uid}:${gid}`, "--volume", `${cache}:/cache`],
    ...[...TOOL_ENVIRONMENT, ...(token ? ["HF_TOKEN"] : [])].flatMap((variable) => ["--env", variable]),
    ...["--entrypoint", "python3", image, "-c", TOOL, "download", id],
    ...(revision === undefined ? [] : ["--revision", revision]),
    ...LEFT_OUT.flatMap((pattern) => ["--exclude", pattern]),
  ];
  try {
    return await followed(model, command, env, async () => (await has()) - before, interrupt);
  } finally {
    // A client that went away leaves its container running.
    if (interrupt.aborted) await docker(["rm", "--force", container], REMOVE_SECONDS, dockerHost).catch(() => {});
  }
}

/** Runs a command with progress on stderr; returns why it failed. An interrupt ends it. */
async function followed(
  of: Missing,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  came: () => Promise<number>,
  interrupt: AbortSignal,
  line: (text: string) => void = () => {},
): Promise<string | undefined> {
  const { stdout, ended, stop } = start(command, { env, merged: true });
  interrupt.addEventListener("abort", stop, { once: true });
  let said = "";
  eachLine(stdout, (text) => {
    said = `${said}\n${text}`.slice(-KEPT_CHARACTERS);
    line(text);
  });
  const finish = showProgress(process.stderr, of, came);
  const { code } = await ended;
  await finish(code === 0);
  return code === 0 || interrupt.aborted ? undefined : explained(of, said);
}
