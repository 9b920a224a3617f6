import { command } from "@local-serving/base/commandLine/command";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { type Command, Option } from "commander";
import type { MachinePlan } from "../../components/plan";
import { fetchMissing } from "../fetch/fetchMissing";
import { missingOf, needsOf, needsResult, needsText, whyNotFetched } from "../fetch/needs";
import { expectConnection } from "../sees/tunnel";
import { readOneMachine } from "../stack/readStack";
import {
  machineOption,
  type StackFileOptions,
  stackFile,
  stackFileOptions,
} from "../stack/stackFile";

interface FetchOptions extends StackFileOptions {
  readonly machine?: string;
  readonly check?: true;
}

export function fetchCommand(): Command {
  return command({
    name: "fetch",
    options: [
      ...stackFileOptions(),
      machineOption(),
      new Option("--check", "only say what is missing and how much room it needs; nothing changes"),
    ],
    notes: `Free disk space is checked first. A model is downloaded by the hub's own tool in the server's pinned image, as the owner of
the model cache. Over ssh everything is downloaded on the machine itself. After an interruption run it again: it goes on
where it ended. If two run at once, the later one waits for each file that the other is downloading (the hub tool's own
locks, and Docker's).

Exit code: 0 everything is here, 1 something is missing, doesn't fit or couldn't be downloaded, 2 wrong use.`,
    example: "fetch --check",
    run: async (options: FetchOptions) => {
      const { machine, settings } = readOneMachine(stackFile(options), options.machine);
      await expectConnection(machine);
      const needs = await needsOf(machine, settings);
      const missing = missingOf(needs);
      const refusals = whyNotFetched(needs);
      const changes = options.check !== true && refusals.length === 0 && missing.length > 0;
      if (changes) say(needsText(needs).join("\n"));
      const failure = changes
        ? await endingInOrder((ended) => fetchMissing(needs, machine, ended))
        : undefined;
      const problems = failure === undefined ? refusals : [failure];
      const complete = missing.length === 0 || (changes && failure === undefined);
      const text = complete
        ? completeText(machine, stackFile(options))
        : [
            ...(changes ? [] : needsText(needs)),
            ...(problems.length > 0 ? problems : ["Next: serving fetch"]),
          ];
      const result = { machine: machine.name, complete, problems, ...needsResult(needs) };
      return { result, text: text.join("\n"), failed: !complete };
    },
  });
}

function completeText({ name, onDemand }: MachinePlan, file: string): string[] {
  const here = `${name} has every image and model of ${file}.`;
  if (onDemand === undefined) return [here];
  const compiles =
    "After `serving up`, `serving verify --each` starts each server on demand once. The first start compiles kernels, so no client has to wait for that later.";
  return [here, compiles];
}
