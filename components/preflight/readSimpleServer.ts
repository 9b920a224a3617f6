import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { defined } from "../../faults/defined";
import { jsonIn, objectOr } from "../../faults/json";
import { ask, NoAnswer } from "../../http/ask";
import type { MachinePlan } from "../plan/types";
import type { HostSimpleServerPlan } from "../simple-server/plannedSimpleServer";
import type { Account, OllamaAnswer, PathFacts, SimpleServerFacts } from "./types";

/** Where systemd looks for units, the operator's own directory first. */
const UNIT_DIRECTORIES = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
];

/** An Ollama on this machine answers at once, also while a model loads. */
const ANSWER_WITHIN_SECONDS = 2;
const SUDO_WITHIN_MS = 5_000;

/** Where Ollama listens by default. */
export const OLLAMA_URL = "http://127.0.0.1:11434";

/** Reads what the preflight judges of the simple server. Changes nothing; `sudo -n true` only asks whether sudo would. */
export async function readSimpleServer(machine: MachinePlan): Promise<SimpleServerFacts | undefined> {
  const { simpleServer: server, elevate } = machine;
  if (server.mode === "none") return undefined;
  if (server.mode === "integrated") return { answer: await askOllama(OLLAMA_URL) };
  const [answer, unitFound, dropInText, account, directory, elevation] = await Promise.all([
    askOllama(server.baseUrl),
    unitExists(server),
    readFile(server.dropIn.path, "utf8").catch(() => undefined),
    readAccount(server.serviceUser),
    readChain(server.modelsDirectory),
    elevate === "none" ? undefined : tryElevation(elevate),
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
    const { text } = await ask(`${url}/api/version`, { timeoutSeconds: ANSWER_WITHIN_SECONDS });
    return versionIn(text);
  } catch (error) {
    const silent = error instanceof NoAnswer && ["refused", "timeout"].includes(error.reason);
    return { kind: silent ? "nothing" : "something else" };
  }
}

function versionIn(text: string): OllamaAnswer {
  const { version } = objectOr(jsonIn(text));
  return typeof version === "string" ? { kind: "ollama", version } : { kind: "something else" };
}

async function unitExists({ unit, dropIn }: HostSimpleServerPlan): Promise<boolean> {
  const local = dirname(dirname(dropIn.path));
  const found = await Promise.all(
    [local, ...UNIT_DIRECTORIES].map((folder) => stat(`${folder}/${unit}`).catch(() => undefined)),
  );
  return found.some((each) => each !== undefined);
}

/** The user's number and groups, as /etc/passwd and /etc/group have them. */
async function readAccount(name: string): Promise<Account | undefined> {
  const [passwd, group] = await Promise.all(
    ["/etc/passwd", "/etc/group"].map((file) => readFile(file, "utf8").catch(() => "")),
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

/** A directory and all its parents, from the root; it ends at the first that is missing or can't be looked at. */
async function readChain(path: string): Promise<PathFacts[]> {
  const chain: PathFacts[] = [];
  const parts = path.split("/").filter(Boolean);
  for (let count = 0; count <= parts.length; count++) {
    const at = `/${parts.slice(0, count).join("/")}`;
    try {
      const { uid, gid, mode } = await stat(at);
      chain.push({ path: at, uid, gid, mode: mode & 0o7777 });
    } catch (error) {
      const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
      chain.push({ path: at, problem: missing ? "missing" : "unreadable" });
      break;
    }
  }
  return chain;
}

function tryElevation(words: readonly string[]): Promise<{ works: boolean; reason: string }> {
  const [program = "", ...rest] = words;
  return new Promise((resolve) => {
    execFile(program, [...rest, "true"], { timeout: SUDO_WITHIN_MS }, (error, _stdout, stderr) =>
      resolve({ works: error === null, reason: (stderr.trim() || error?.message) ?? "" }),
    );
  });
}
