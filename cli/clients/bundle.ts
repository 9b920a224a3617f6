import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { explainWriting, WrongUse } from "@local-serving/base/commandLine/exit";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { filledFile, readTextFile } from "@local-serving/base/faults/textFile";
import { hostOnNetwork } from "@local-serving/machines/address";
import { type ClientPlan, clientsElsewhere } from "../../components/clients";
import { machinePlan } from "../../components/plan";
import type { PlannedFile } from "../../components/planned";
import { type MachineSettings, machineFault } from "../../components/settings";
import type { OneMachine } from "../stack/readStack";

/** A file of a bundle. One at `home/x` is for `~/x` of the laptop. */
type BundleFile = Pick<PlannedFile, "path" | "mode" | "text">;

const NO_CLIENT = "No client is declared. Write one, such as `clients.codex: {}`.";

/**
 * The clients of a machine as a laptop gets them. Throws `FaultyInput` with everything that a
 * laptop can't reach.
 */
export function clientBundle({ file, name, stack, settings }: OneMachine) {
  const { machine, unreached } = machinePlan(name, onLaptop(settings), stack.machines, {
    home: "~",
  });
  const planned = machine.clients;
  const none = { path: ["clients"], code: "missing_key", message: NO_CLIENT };
  const faults = (planned.length === 0 ? [none] : unreached).map((fault) =>
    machineFault(stack, name, fault),
  );
  if (faults.length > 0) throw new FaultyInput(file, faults);
  const secretOf = ({ key }: ClientPlan) => (key?.setBy === null ? key.variable : undefined);
  const files: BundleFile[] = planned.flatMap((client) =>
    client.files.map(({ path, mode, text }) => ({ path: path.replace(/^~/, "home"), mode, text })),
  );
  /** Names of the variables that must hold a key. */
  const variables = [...new Set(planned.flatMap((client) => secretOf(client) ?? []))];
  /** Commands that list the models of everything that the clients talk to. */
  const checks = [...new Set(planned.map((client) => check(client.baseUrl, secretOf(client))))];
  const text = note(name, planned, { files, variables, checks });
  return { files: [...files, { path: NOTE, mode: "0644", text }], variables, checks };
}

/** The machine with its clients elsewhere. */
function onLaptop(settings: MachineSettings): MachineSettings {
  const host = hostOnNetwork(settings, settings.clients.host);
  return { ...settings, home: undefined, clients: clientsElsewhere(settings.clients, host) };
}

/** A key goes through standard input, so that `ps` never shows it. */
function check(baseUrl: string, variable: string | undefined): string {
  const url = `${baseUrl.replace(/\/v1$/, "")}/v1/models`;
  if (variable === undefined) return `curl -fsS ${url}`;
  return `printf 'Authorization: Bearer %s\\n' "$${variable}" | curl -fsS -H @- ${url}`;
}

/** The note of a bundle, and how it begins (laptop-note.md). */
export const NOTE = "README.md";
const NOTE_HEAD = "# Clients of ";

function note(
  machine: string,
  planned: readonly ClientPlan[],
  bundle: ReturnType<typeof clientBundle>,
): string {
  const { files, variables, checks } = bundle;
  const lines = (texts: readonly string[]) => texts.map((text) => `    ${text}`).join("\n");
  const keys = `Set before you start a launcher, for example in \`~/.profile\`. Ask whoever runs ${machine} for the value:`;
  const exports = lines(variables.map((name) => `export ${name}=...`));
  return filledFile(join(__dirname, "laptop-note.md"), {
    machine,
    files: files.map(({ path }) => `| \`${path}\` | \`~${path.replace("home", "")}\` |`).join("\n"),
    keys:
      variables.length === 0
        ? "No key is needed: the servers check none."
        : `${keys}\n\n${exports}`,
    checks: lines(checks),
    launcher: basename(planned[0]?.command ?? ""),
  });
}

/** Replaces a folder by a bundle: as a whole, or not at all. Throws `WrongUse`. */
export function writeBundle(folder: string, files: readonly BundleFile[]): void {
  try {
    const target = existsSync(folder) ? realpathSync(folder) : resolve(folder);
    mkdirSync(dirname(target), { recursive: true });
    const foreign = existsSync(target) ? foreignIn(target) : undefined;
    const refusal =
      "is not from an earlier export. An export replaces its whole folder: name an empty one.";
    if (foreign !== undefined) throw new WrongUse(`${join(folder, foreign)} ${refusal}`);
    const work = mkdtempSync(join(dirname(target), `.${basename(target)}.`));
    const [fresh, old] = [join(work, "new"), join(work, "old")];
    try {
      for (const { path, mode, text } of files)
        replaceFile(join(fresh, path), text, { newFileMode: Number.parseInt(mode, 8) });
      if (existsSync(target)) renameSync(target, old);
      renameSync(fresh, target);
    } finally {
      if (existsSync(old) && !existsSync(target)) renameSync(old, target);
      rmSync(work, { recursive: true, force: true });
    }
  } catch (error) {
    explainWriting(folder, error);
  }
}

/** Something in a folder that no export wrote: an export's note names all of its files. */
function foreignIn(folder: string): string | undefined {
  const found = readdirSync(folder);
  const note = found.includes(NOTE) ? readTextFile(join(folder, NOTE)) : "";
  // Only a bundle is searched as a whole: any other folder may be a home.
  if (!note.startsWith(NOTE_HEAD)) return found[0];
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).find(
    (path) =>
      path !== NOTE &&
      !note.includes(`\`${path}\``) &&
      !lstatSync(join(folder, path)).isDirectory(),
  );
}
