import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { type Format, printResult } from "@local-serving/base/commandLine/output";
import { wholeNumber } from "@local-serving/base/commandLine/values";
import { defined } from "@local-serving/base/faults/defined";
import { nearestKey } from "@local-serving/base/faults/quoting";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { MachinePlan } from "../../components/plan";
import { SERVICES } from "../../components/services";
import { eachInTurn } from "../onRequest/eachOnce";
import { hostOf } from "../sees/host";
import { readSystem } from "../sees/system";
import { baseUrlOption } from "../stack/baseUrl";
import { named } from "../stack/named";
import { expectApplied } from "../stack/nothingApplied";
import { readStack } from "../stack/readStack";
import { type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import type { Edit } from "../stackEdit/applyEdits";
import { foundServer, stackIfAny } from "../verify/foundServer";
import { keepPassed, keepVerify } from "../verify/lastVerify";
import type { ProbeResult } from "../verify/probe";
import { PROBE_SECONDS } from "../verify/probeSeconds";
import { measuredEdits } from "../verify/probes/memory";
import { TOOL_CALL_PROBES } from "../verify/probes/ollamaTools";
import { proposingToolCalls, recordToolCalls, toolCallEdits } from "../verify/recordToolCalls";
import { summaryOf, verifyProgress, verifyText } from "../verify/report";
import { probeNames } from "../verify/run/catalog";
import { verify } from "../verify/run/runner";

interface VerifyCommandOptions extends StackFileOptions {
  readonly only?: readonly string[];
  readonly timeout: number;
  readonly baseUrl?: string;
  readonly record?: true;
  readonly each?: true;
  readonly yes?: true;
}

export function verifyCommand(): Command {
  return command({
    name: "verify",
    arguments: [
      new Argument(
        "[name]",
        `probe one server or service: a (instance A), b, ${SERVICES.map(({ name }) => name).join(", ")}`,
      ),
    ],
    options: [
      ...stackFileOptions(),
      new Option(
        "--only <names>",
        "run only these probes, separated by commas; an unknown name lists them all",
      ).argParser(probeList),
      new Option("--timeout <seconds>", "longest time for one answer")
        .argParser(wholeNumber(1))
        .default(PROBE_SECONDS),
      baseUrlOption("probe only the inference server at this address; it needs no stack file"),
      new Option(
        "--record",
        "ask the simple server's models for tool calls, and write which made them into the stack file (simpleServer.toolCalls); without --only nothing else is asked. With --only memory: write what each server's start measured (measured)",
      ),
      new Option(
        "--each",
        "start each server behind llama-swap once and probe it; what ran before is started again",
      ),
      new Option("-y, --yes", "with --each: ask nothing"),
    ],
    notes: `Probes only ask and change nothing. With --record the old stack file is kept beside it as FILE.bak. The harness's
healthchecks run from its profile on the machine. Results are kept for \`serving doctor\` in $XDG_STATE_HOME/local-serving
(~/.local/state), and so is the stack file once a whole run passes: \`serving plan --against verified\` shows the way back
to it. Exit code 1 when a probe fails, when every probe was skipped, and before the first \`serving up\`.`,
    example: "verify --only models,chat-tools,native-messages-path",
    run: (options: VerifyCommandOptions & { readonly format: Format }, name?: string) =>
      endingInOrder(async (interrupt) => {
        const outcome = await verifyOutcome(options, name, interrupt);
        // The signal ends this process before the command itself would print.
        if (interrupt.aborted) printResult(options.format, outcome.result, outcome.text);
        return outcome;
      }),
  });
}

async function verifyOutcome(
  options: VerifyCommandOptions,
  name: string | undefined,
  interrupt: AbortSignal,
): Promise<Outcome> {
  const { record } = options;
  const asked = await askedOf(options, name);
  const { known, isWhole, recordsMemory } = asked;
  const runs = await verifyEach(asked, options, interrupt);
  const probes = runs.flatMap(({ machine, found }) =>
    record ? found.probes : proposingToolCalls(machine, found.probes),
  );
  const causes = runs.flatMap(({ found }) =>
    found.causes.map(({ command: next, ...cause }) => ({
      ...cause,
      command: forStack(next, options),
    })),
  );
  const summary = summaryOf(probes, causes);
  if (isWhole && !interrupt.aborted && summary.pass > 0 && summary.fail === 0)
    keepPassed(known?.file ?? "", known?.text ?? "");
  const said = { result: { probes, summary, causes }, text: verifyText(probes, causes) };
  const failed = summary.fail > 0 || summary.pass === 0;
  if (record === undefined || interrupt.aborted) return { ...said, failed };
  // Read anew: it may have been edited in these minutes.
  const now = readStack(stackFile(options)).text;
  const { said: written, ...change } = recordToolCalls(
    stackFile(options),
    now,
    runs.flatMap(({ edits }) => edits),
    recordsMemory ? "No start measured anything new: nothing is recorded." : undefined,
  );
  const result = { ...said.result, ...change };
  return { result, text: `${said.text}\n\n${written}`, failed };
}

/** What is asked, and of what. Throws where that can't be, or nothing is applied. */
async function askedOf(options: VerifyCommandOptions, name: string | undefined) {
  const { baseUrl, record } = options;
  const { known, planned } = await askedPlan(options);
  checkNames(options.only ?? [], probeNames());
  if (name !== undefined && baseUrl !== undefined)
    throw new WrongUse("--base-url probes a single server: leave out the name.");
  const one = known === undefined ? planned.machines[0]?.inferenceServers[0]?.key : name;
  const about = one === undefined ? undefined : named(planned.machines, one);
  const recordsMemory = record && options.only?.includes("memory");
  const only =
    record && !recordsMemory ? [...(options.only ?? []), ...TOOL_CALL_PROBES] : options.only;
  const isWhole = only === undefined && baseUrl === undefined && about === undefined;
  // What answers though nothing is applied was started by hand: it is verified by its name.
  if (isWhole || (baseUrl === undefined && !(await listens(planned.machines))))
    await expectApplied(planned.machines, options);
  return { known, machines: planned.machines, about, only, isWhole, recordsMemory };
}

/** Verifies each machine, and keeps what was found, until somebody ends it. */
async function verifyEach(
  { machines, about, only, recordsMemory }: Awaited<ReturnType<typeof askedOf>>,
  options: VerifyCommandOptions,
  interrupt: AbortSignal,
) {
  const { baseUrl, timeout: timeoutSeconds } = options;
  const runs = [];
  const ask = options.each ? await eachInTurn(machines, about, options) : verify;
  for (const machine of about === undefined ? machines : [about.machine]) {
    const found = await ask(machine, {
      ...defined({ only, baseUrl, about: about && [about] }),
      timeoutSeconds,
      interrupt,
      host: hostOf,
      machines,
      progress: verifyProgress(process.stderr),
    });
    const edits: Edit[] = toolCallEdits(machine, found.probes);
    if (recordsMemory)
      edits.push(...(await measuredEdits({ machine, host: hostOf(machine.dockerHost) })));
    runs.push({ machine, found, edits });
    if (interrupt.aborted) break;
    // The server at `--base-url` need not be the machine's.
    if (baseUrl === undefined) {
      const verified = { stackFile: stackFile(options), machine: machine.name };
      await keepVerify(verified, found.probes, process.env, await systemAsked(machine, found));
    }
  }
  return runs;
}

/** The stack file that is meant, if any, and its plan, or that of the server at `--base-url`. */
async function askedPlan(options: VerifyCommandOptions) {
  const { baseUrl, record } = options;
  const known = baseUrl === undefined ? readStack(stackFile(options)) : stackIfAny(options);
  if (known === undefined && record) throw new WrongUse("--record needs a stack file to write to.");
  return { known, planned: known?.plan ?? (await foundServer(baseUrl ?? "")) };
}

/** Whether anything listens where a plan has one of its servers or services. */
async function listens(machines: readonly MachinePlan[]): Promise<boolean> {
  for (const { dockerHost, reach } of machines) {
    const open = (await hostOf(dockerHost).sockets()).map(({ port }) => port);
    if (reach.some(({ port }) => open.includes(port))) return true;
  }
  return false;
}

/** The system of a machine that a run asked something on. */
function systemAsked(
  { dockerHost }: Pick<MachinePlan, "dockerHost">,
  { probes }: { readonly probes: readonly ProbeResult[] },
) {
  return probes.some(({ status }) => status !== "skip") ? readSystem(dockerHost) : undefined;
}

/** Names of probes, those of an earlier `--only` first. */
function probeList(text: string, earlier: readonly string[] = []): string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0)
    throw new InvalidArgumentError("Expected at least one name, such as models,chat-tools.");
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
