import { delimiter, dirname } from "node:path";
import { say } from "@local-serving/base/commandLine/output";
import { shellWord } from "@local-serving/base/faults/shellWords";
import { isOverSsh } from "@local-serving/machines/address";
import { firstStarts } from "../../components/change";
import type { MachinePlan } from "../../components/plan";
import { TYPE } from "../../components/planned";
import type { Made } from "../engine/eventLog";
import { forStack } from "../stack/typed";

/** Says where the launchers are that an update wrote, and what to run after it. */
export function sayNext(
  machines: readonly MachinePlan[],
  made: readonly Made[],
  stack: string,
): void {
  sayLaunchers(machines, made);
  const next = nextText(machines, made);
  if (next !== undefined) say(forStack(next, { stack }));
}

/** Says where the launchers are that an update wrote. */
export function sayLaunchers(machines: readonly MachinePlan[], made: readonly Made[]): void {
  for (const line of launcherLines(machines, made, process.env.PATH)) say(line);
}

/** Where the launchers are that an update wrote; `path` is the operator's PATH. */
export function launcherLines(
  machines: readonly MachinePlan[],
  made: readonly Made[],
  path = "",
): string[] {
  const wrote = new Set(made.map(({ resource }) => resource));
  return machines.flatMap((machine) => {
    const written = machine.clients.flatMap(({ command, files }) =>
      files.filter(({ path, resource }) => path === command && wrote.has(resource)),
    );
    return [...new Set(written.map((each) => dirname(each.path)))].map((folder) => {
      const inFolder = written.filter((each) => dirname(each.path) === folder);
      const names = inFolder.map((each) => each.path.slice(folder.length + 1)).join(", ");
      const isElsewhere = isOverSsh(machine) && inFolder.every(({ here }) => here === undefined);
      const where = `Clients start with ${names} in ${folder}`;
      if (isElsewhere) return `${where} on ${machine.name}.`;
      if (path.split(delimiter).includes(folder)) return `${where}.`;
      return `${where}, which is not on your PATH: \`export PATH=${shellWord(folder)}:$PATH\`.`;
    });
  });
}

/** What to run after an update; `undefined` where nothing that it made has to become ready. */
export function nextText(
  machines: readonly MachinePlan[],
  made: readonly Made[],
): string | undefined {
  const fresh = new Set(
    made
      .filter(({ type, isNew }) => isNew && type === TYPE.container)
      .map(({ resource }) => resource),
  );
  const starts = firstStarts(machines, (resource) => fresh.has(resource));
  if (starts === undefined) return undefined;
  const command = starts.hasServer ? "serving status --wait" : "serving status";
  return `Next: ${command}, then serving verify (${starts.when})`;
}
