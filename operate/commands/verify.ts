import { Command, InvalidArgumentError } from "commander";
import { EXIT, Failed, WrongUse } from "../../commandLine/exit";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { nearestKey } from "../../faults/quoting";
import { wholeNumber } from "../numberArgument";
import { plannedStack } from "../plannedStack";
import { type StackFileOptions, stackFile, withStackFile } from "../stackFile";
import type { ProbeResult } from "../verify/probe";

interface VerifyCommandOptions extends StackFileOptions {
  readonly format: Format;
  readonly only?: readonly string[];
  readonly timeout: number;
  readonly baseUrl?: string;
}

/** Seconds that one answer may take: 28,000 tokens of cold prefill were measured to take half a minute, so four times that. */
const ANSWER_SECONDS = 120;

/** `serving verify`: probes what runs as the real clients use it. */
export function verifyCommand(): Command {
  return withStackFile(new Command("verify"))
    .description("Probe a running environment as its clients use it, and say what to change.")
    .option(
      "--only <names>",
      "run only these probes, separated by commas; an unknown name lists them all",
      probeList,
    )
    .option("--timeout <seconds>", "longest time for one answer", wholeNumber(1), ANSWER_SECONDS)
    .option("--base-url <url>", "probe only the inference server at this address", baseUrl)
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nProbes only ask, and change nothing. The harness's healthchecks are run from its profile on the machine. Results are\nkept for `serving doctor` in $XDG_STATE_HOME/local-serving (~/.local/state). Exit code 1 when a probe fails, and\nbefore the first `npm run up`.\n\nExample:\n  serving verify --only models,chat-tools,native-messages-path",
    )
    .action(async (options: VerifyCommandOptions) => {
      const planned = plannedStack(options);
      // Loaded when it is used: other commands start faster without it.
      const { probeNames } = await import("../verify/catalog");
      const { verify } = await import("../verify/runner");
      const { thisHost } = await import("../verify/host");
      const { summaryOf, verifyProgress, verifyText } = await import("../verify/report");
      const { only } = options;
      checkNames(only ?? [], probeNames());
      const { keepVerify } = await import("../verify/lastVerify");
      const { isSetUp } = await import("../verify/probes/machine");
      if (only === undefined && options.baseUrl === undefined) {
        const machines = planned.machines.map((machine) => ({ machine, host: thisHost(machine.dockerHost) }));
        const setUp = await Promise.all(machines.map(isSetUp));
        if (!setUp.includes(true)) throw new Failed("Nothing to verify yet: run `npm run up` first.");
      }
      const probes: ProbeResult[] = [];
      for (const machine of planned.machines) {
        const found = await verify(machine, {
          ...(only === undefined ? {} : { only }),
          ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
          timeoutSeconds: options.timeout,
          host: thisHost,
          progress: verifyProgress(process.stderr),
        });
        probes.push(...found);
        // The server at `--base-url` need not be the machine's.
        if (options.baseUrl === undefined)
          await keepVerify({ stackFile: stackFile(options), machine: machine.name }, found);
      }
      const summary = summaryOf(probes);
      printResult(options.format, { probes, summary }, () => verifyText(probes));
      if (summary.fail > 0) process.exitCode = EXIT.faults;
    });
}

/** Names of probes, those of an earlier `--only` first. */
function probeList(text: string, earlier: readonly string[] = []): string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0)
    throw new InvalidArgumentError("It is at least one name, such as models,chat-tools.");
  return [...earlier, ...names];
}

function checkNames(only: readonly string[], known: readonly string[]): void {
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const said = unknown.map((name) => {
    const near = nearestKey(name, known);
    return near === undefined ? `\`${name}\`` : `\`${name}\` (did you mean \`${near}\`?)`;
  });
  throw new WrongUse(`--only: no probe ${said.join(", ")}. There are: ${known.join(", ")}.`);
}

/** Scheme, host and port; a path such as /v1 is left off, since probes name their own. */
function baseUrl(text: string): string {
  if (!URL.canParse(text)) throw new InvalidArgumentError("It is an address such as http://127.0.0.1:8001.");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new InvalidArgumentError("It begins with http:// or https://.");
  }
  if (!/^(\/v1)?\/?$/.test(url.pathname) || url.search !== "") {
    throw new InvalidArgumentError("It is scheme, host and port alone, such as http://127.0.0.1:8001.");
  }
  return url.origin;
}
