import { basename, join } from "node:path";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { eachLine, start } from "@local-serving/base/commandLine/run";
import { attempt } from "@local-serving/base/faults/defined";
import { dockerCommand } from "@local-serving/machines/docker/docker";
import type { Part } from "@local-serving/machines/update/record";
import type { MachinePlan } from "../../components/plan";
import { diagnoseMachine } from "../doctor/diagnoseMachine";
import { redact } from "../programs/redact";
import { doctorText } from "../rules/reportText";
import { stateFile } from "../verify/lastVerify";
import { verifyText } from "../verify/report";
import { type NamedResult, namedParts } from "./parts";

/** Newest lines of a log that are kept, and the longest that reading them may take. */
const [LOG_LINES, LOG_SECONDS] = ["5000", 20];

/** What failed, and what is known of it. */
export interface Failure {
  /** The stack file's own path, and the text of it that was applied. */
  readonly file: string;
  readonly text: string;
  readonly machines: readonly MachinePlan[];
  readonly parts: readonly Part[];
  readonly probes: readonly NamedResult[];
}

/**
 * Keeps what an update left that failed, in a folder of the operator's: the text of the stack file,
 * the logs of what it started, and what verify and doctor say. Returns the folder, "" where it can't
 * be made, and doctor's answer.
 */
export async function keepFailed(failure: Failure, env = process.env) {
  const stamp = new Date().toISOString().slice(0, 19).replace(/\D/g, "");
  const folder = stateFile(failure.file, env, (stack) => `failed-${stack}-${stamp}`);
  const doctor = await doctorOf(failure);
  const logs = await logsOf(failure);
  const probes = failure.probes.length === 0 ? "" : verifyText(failure.probes);
  const texts = [
    [basename(failure.file), failure.text],
    ["doctor.txt", redact(doctor)],
    ...(probes === "" ? [] : [["verify.txt", redact(probes)]]),
    ...logs.map(({ name, text }) => [`${name}.log`, text]),
  ] as const;
  const kept = attempt(() => {
    for (const [name = "", text = ""] of texts)
      replaceFile(join(folder ?? "", name), text.endsWith("\n") ? text : `${text}\n`);
    return folder;
  });
  return { folder: folder === undefined ? "" : (kept ?? ""), doctor };
}

/** Doctor's answer of each machine that the update is about; why there is none, where it fails. */
export async function doctorOf({ file, text, machines, parts }: Failure): Promise<string> {
  const said = [];
  for (const { name: machine, ...plan } of machines) {
    if (namedParts({ name: machine, ...plan }, parts).length === 0) continue;
    const reports = await diagnoseMachine({ file, machine, text }, {}).catch((error) =>
      error instanceof Error ? error.message : String(error),
    );
    const answer = typeof reports === "string" ? reports : doctorText(reports, []);
    said.push(machines.length === 1 ? answer : `${machine}: ${answer}`);
  }
  return said.join("\n\n");
}

/** The logs of the containers that an update started, without keys. */
async function logsOf({ machines, parts }: Failure) {
  const started = parts.filter(({ withinSeconds }) => withinSeconds !== undefined);
  const containers = machines.flatMap((machine) =>
    namedParts(machine, started).flatMap(({ container }) =>
      container === undefined ? [] : [{ machine, name: container.name }],
    ),
  );
  const read = containers.map(async ({ machine, name }) => {
    const { words, env } = dockerCommand(["logs", "--tail", LOG_LINES, name], machine.dockerHost);
    const lines: string[] = [];
    const { stdout, ended } = start(words, { env, merged: true, seconds: LOG_SECONDS });
    eachLine(stdout, (line) => lines.push(line));
    const { code } = await ended;
    return code === 0 ? [{ name, text: redact(lines.join("\n")) }] : [];
  });
  return (await Promise.all(read)).flat();
}
