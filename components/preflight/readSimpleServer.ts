import { dirname } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { ANSWER_SECONDS, ask, NoAnswer } from "@local-serving/base/http/ask";
import { isOverSsh } from "@local-serving/machines/address";
import { type Files, filesOf } from "@local-serving/machines/files";
import type { MachinePlan } from "../plan";
import type { HostSimpleServerPlan } from "../services/simple-server";
import type { Account, OllamaAnswer, PathFacts, SimpleServerFacts } from "./types";

/** Where systemd looks for units, the operator's own directory first. */
const UNIT_DIRECTORIES = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
];

const SUDO_WITHIN_SECONDS = 5;

/** Where Ollama listens by default. */
export const OLLAMA_URL = "http://127.0.0.1:11434";

/**
 * Reads what the preflight judges of the simple server. Changes nothing; `sudo -n true` only asks
 * whether sudo would.
 */
export async function readSimpleServer(
  machine: MachinePlan,
  files = filesOf(machine),
): Promise<SimpleServerFacts | undefined> {
  const { simpleServer: server, elevate } = machine;
  const ask = isOverSsh(machine) ? (url: string) => askOllamaThere(url, files) : askOllama;
  if (server.mode === "none") return undefined;
  if (server.mode === "integrated") return { answer: await ask(OLLAMA_URL) };
  const [answer, unitFound, dropInText, account, directory, elevation] = await Promise.all([
    ask(server.baseUrl),
    unitExists(server, files),
    files.text(server.dropIn.path),
    readAccount(server.serviceUser, files),
    readChain(server.modelsDirectory, files),
    elevate === "none" ? undefined : tryElevation(elevate, files),
  ]);
  return {
    answer,
    unitFound,
    dropInInPlace: dropInText === server.dropIn.text,
    directory,
    ...defined({ account, elevation }),
  };
}

/** Who answers at an address: an Ollama with its version, something else, or nothing. */
export async function askOllama(url: string): Promise<OllamaAnswer> {
  try {
    const { text } = await ask(`${url}/api/version`);
    return versionIn(text);
  } catch (error) {
    const silent = error instanceof NoAnswer && ["refused", "timeout"].includes(error.reason);
    return { kind: silent ? "nothing" : "something else" };
  }
}

/** How curl ends where nobody listens, and where nobody answers in time. */
const NOBODY = [7, 28];

/** The same from the machine itself, by the curl that pulls models there. */
async function askOllamaThere(url: string, files: Files): Promise<OllamaAnswer> {
  const limit = String(ANSWER_SECONDS);
  const words = ["curl", "-q", "-sS", "-m", limit, `${url}/api/version`];
  const { code, out } = await files.ask(words);
  if (code === 0) return versionIn(out);
  return { kind: code !== null && NOBODY.includes(code) ? "nothing" : "something else" };
}

function versionIn(text: string): OllamaAnswer {
  const { version } = objectOr(jsonIn(text));
  return typeof version === "string" ? { kind: "ollama", version } : { kind: "something else" };
}

async function unitExists({ unit, dropIn }: HostSimpleServerPlan, files: Files): Promise<boolean> {
  const local = dirname(dirname(dropIn.path));
  const found = await Promise.all(
    [local, ...UNIT_DIRECTORIES].map((folder) => files.state(`${folder}/${unit}`)),
  );
  return found.some((each) => typeof each === "object");
}

/** The user's number and groups, as /etc/passwd and /etc/group have them. */
async function readAccount(name: string, files: Files): Promise<Account | undefined> {
  const [passwd, group] = await Promise.all(
    ["/etc/passwd", "/etc/group"].map((file) => files.text(file)),
  );
  const fields = (passwd ?? "").split("\n").map((line) => line.split(":"));
  const user = fields.find(([userName]) => userName === name);
  if (user === undefined) return undefined;
  const groups = (group ?? "")
    .split("\n")
    .map((line) => line.split(":"))
    .filter(([, , , members]) => members?.split(",").includes(name))
    .map(([, , gid]) => Number(gid));
  return { name, uid: Number(user[2]), gids: [Number(user[3]), ...groups] };
}

/**
 * A directory and all its parents, from the root; it ends at the first that is missing or can't be
 * looked at.
 */
async function readChain(path: string, files: Files): Promise<PathFacts[]> {
  const chain: PathFacts[] = [];
  const parts = path.split("/").filter(Boolean);
  for (let count = 0; count <= parts.length; count++) {
    const at = `/${parts.slice(0, count).join("/")}`;
    const found = await files.state(at);
    if (typeof found === "string") return [...chain, { path: at, problem: found }];
    const { uid, gid, mode } = found;
    chain.push({ path: at, uid, gid, mode });
  }
  return chain;
}

async function tryElevation(
  words: readonly string[],
  files: Files,
): Promise<{ works: boolean; reason: string }> {
  const { code, err } = await files.ask([...words, "true"], SUDO_WITHIN_SECONDS);
  return { works: code === 0, reason: err };
}
