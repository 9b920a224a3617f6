import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { headed } from "@local-serving/base/commandLine/layout";
import { columns, say, styled } from "@local-serving/base/commandLine/output";
import { expectTerminal, saysYes } from "@local-serving/base/commandLine/saysYes";
import { textOr } from "@local-serving/base/faults/json";
import { BYTES_PER_MIB, gibOrMib } from "@local-serving/base/units/memory";
import { Argument, type Command, Option } from "commander";
import { askCopies } from "../copies/askCopies";
import { type DataOn, dataNamed } from "../copies/dataOf";
import { type Copy, listCopies } from "../copies/listCopies";
import { startsAfter } from "../copies/startsAfter";
import { expectConnection } from "../sees/tunnel";
import { expectApplied, explainedByNothing } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { dataArgument } from "./backup";

interface RestoreOptions extends StackFileOptions {
  readonly yes?: true;
}

export function restoreCommand(): Command {
  return command({
    name: "restore",
    arguments: [dataArgument(), new Argument("[copy]", "name of a copy, as the list has it")],
    options: [...stackFileOptions(), new Option("-y, --yes", "ask nothing")],
    notes: `The present data are first kept as another copy. The next run finishes or undoes an interrupted one.
Exit code: 0 listed or put back, 1 it could not be done, 2 wrong use.`,
    example: "restore chat-ui",
    run: async (options: RestoreOptions, name: string, copy?: string) => {
      const { machines } = plannedStack(options);
      const data = dataNamed(machines, name);
      await expectConnection(data.machine);
      const done = copy === undefined ? listed(data, options) : putBack(data, copy, options);
      return explainedByNothing(machines, options, done);
    },
  });
}

async function listed({ machine, copies }: DataOn, options: RestoreOptions): Promise<Outcome> {
  const { service, folder } = copies;
  const { found, others } = await listCopies(copies);
  const result = { machine: machine.name, service, folder, copies: found, others };
  const alone =
    others.length === 0 ? [] : [`Not copies of ours, and left alone: ${others.join(", ")}.`];
  const backup = forStack(`serving backup ${service}`, options);
  if (found.length === 0) {
    await expectApplied([machine], options);
    const none = `There is no copy of the data of ${service} yet: \`${backup}\` makes one.`;
    return { result, text: [none, ...alone].join("\n") };
  }
  const rows = found.map(({ copy, why, version, image, revision, bytes }) => [
    copy,
    WHY[why] ?? why,
    version ?? image,
    revision ?? "not known",
    sizeText(bytes),
  ]);
  const table = columns([["copy", "made by", "version", "revision", "size"], ...rows]);
  const head = styled("bold", `Copies of the data of ${service} in ${folder} on ${machine.name}`);
  const next = `\`${forStack(`serving restore ${service} COPY`, options)}\` puts one back.`;
  const lines = [headed(head, table), ...alone, next];
  return { result, text: lines.join("\n") };
}

const WHY: Readonly<Record<string, string>> = {
  update: "an update",
  backup: "serving backup",
  restore: "a restore, before it",
};

async function putBack(
  { machine, copies }: DataOn,
  name: string,
  options: RestoreOptions,
): Promise<Outcome> {
  const { service } = copies;
  const { found, others, now } = await listCopies(copies);
  const copy = found.find((each) => each.copy === name);
  if (copy === undefined) {
    const list = forStack(`serving restore ${service}`, options);
    throw new WrongUse(
      others.includes(name)
        ? setAsideText(`${copies.folder}/${name}`, list)
        : `There is no copy ${name} of the data of ${service}: \`${list}\` lists them.`,
    );
  }
  const { starts, note } = startsAfter(copy, now.image, service);
  say(whatHappens(copy, service, note));
  if (options.yes !== true && !(await agreed()))
    return { result: { restored: null }, text: "Nothing was changed.", failed: true };
  const [done = {}] = await askCopies(copies, ["put-back", name, starts ? "yes" : "no"]);
  const kept = textOr(done.kept) || null;
  const result = {
    machine: machine.name,
    service,
    copy,
    kept,
    started: starts && now.image !== "",
  };
  const lines = [
    `${service} has its data of ${copy.at} again.`,
    ...(kept === null
      ? []
      : [
          `The data from before are kept: \`${forStack(`serving restore ${service} ${kept}`, options)}\` puts them back.`,
        ]),
    ...(note === "" ? [] : [note]),
  ];
  return { result: { restored: result }, text: lines.join("\n") };
}

/** For what lies beside the copies: it may be one that somebody has renamed. */
const setAsideText = (path: string, list: string): string =>
  `${path} isn't named as a copy is, or isn't whole. If you have set it aside, give it back its name, such as 20261129T073407Z: \`${list}\` lists it then.`;

const whatHappens = ({ copy, at, bytes }: Copy, service: string, note: string): string =>
  [
    `This stops ${service}, keeps its present data as another copy, and replaces all of them with ${copy} (${sizeText(bytes)}).`,
    `That copy lacks what was written since ${at}.`,
    ...(note === "" ? [] : [note]),
  ].join("\n");

/** Whether somebody says yes. Ctrl-C ends it before anything is changed. */
function agreed(): Promise<boolean> {
  expectTerminal();
  return endingInOrder((signal) => saysYes("Put it back?", signal));
}

/** A copy is never said to be of no size. */
const sizeText = (bytes: number): string => gibOrMib(Math.max(bytes, BYTES_PER_MIB));
