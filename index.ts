import "./faults/interpretSchemas";
import type { Container } from "@pulumi/docker";
import { getRootDirectory, getStack, log, runtime } from "@pulumi/pulumi";
import { changesOf } from "./components/change/changesOf";
import { lossText } from "./components/change/losses";
import { readAppliedPlans } from "./components/evidence/readAppliedPlan";
import { readEvidence } from "./components/evidence/readEvidence";
import { declaredResources } from "./components/machine/declaredResources";
import { Machine, workersFirst } from "./components/machine/machine";
import { stackOutputs } from "./components/machine/stackOutputs";
import { plan } from "./components/plan/plan";
import { tellingBugs } from "./components/preflight/bug";
import { gate, plainError } from "./components/preflight/gate";
import { preflight } from "./components/preflight/preflight";
import { previewHost } from "./components/preflight/readDocker";
import { requestsEnd, takenAway, WAITS_VARIABLE } from "./components/preflight/runningRequests";
import { parseEngineConfig, stackFileOf } from "./components/settings/load";
import { type Locate, placeOf } from "./components/settings/places";
import { FaultyInput, UnreadableInput } from "./faults/fault";
import { plainText } from "./faults/plainText";
import { judge } from "./policies/judge";
import { LEVELS_FILE, LEVELS_VARIABLE, PACK_VARIABLE, readLevels } from "./policies/levels";

export = tellingBugs(async () => {
  const config = runtime.allConfig();
  const document = stackFileOf(config, getRootDirectory(), getStack());
  const settings = userInput(() => parseEngineConfig(config, document));
  const locate: Locate = (path) => placeOf(settings, path);
  const levels = userInput(() => readLevels(process.env[LEVELS_VARIABLE] ?? LEVELS_FILE));
  // The machine's meminfo is not part of it: it differs from one minute to the next, and so would every preview.
  const planned = userInput(() => plan(settings, readEvidence(settings, getRootDirectory())));
  for (const { machine, message, note } of planned.warnings)
    (note ? log.info : log.warn)(plainText(`${machine}: ${message}`));

  const onMachine = await preflight(planned, runtime.isDryRun(), locate);
  gate(judge(declaredResources(planned), levels, locate), onMachine, process.env[PACK_VARIABLE] !== undefined);
  const read = await readAppliedPlans(planned.machines);
  for (const each of read) if ("missing" in each && each.isThere) log.warn(plainText(each.missing));
  const applied = read.flatMap((each) => ("plan" in each ? [each.plan] : []));
  const changes = changesOf(applied, planned.machines);
  for (const { machine, losses } of changes)
    for (const loss of losses) log.warn(plainText(`${machine}: ${lossText(loss)}`));
  const waits = process.env[WAITS_VARIABLE] !== undefined && !runtime.isDryRun();
  const taken = takenAway(changes, applied);
  if (taken.length > 0 && !waits) void log.info(WHO_WAITS);
  const ended = requestsEnd(taken, planned.machines, tell);

  const outputs = stackOutputs(planned);
  const endpoints: Record<string, unknown> = {};
  const workers = new Map<string, Container>();
  for (const machine of workersFirst(planned.machines)) {
    const { host, reason } = runtime.isDryRun() ? await previewHost(machine) : { host: machine.dockerHost };
    if (reason !== undefined) log.warn(`${machine.name}: previewed without a Docker engine (${reason}).`);
    // Where something could not be applied, there may be nothing at an endpoint.
    const before = waits ? (container: string) => ended(container, machine.name) : undefined;
    const { applied } = new Machine({ machine, dockerHost: host, workers, before });
    endpoints[machine.name] = applied.apply(() => outputs.endpoints[machine.name]);
  }
  // The engine removes what is declared no longer once this program has ended.
  if (waits)
    await Promise.all(taken.map(({ machine, change }) => change.kind === "removed" && ended(change.name, machine)));
  return { ...outputs, endpoints };
});

const WHO_WAITS =
  "`npm run up` lets requests that run end before it replaces or removes their server, as long as `waitForRequestsMinutes` says. Plain `pulumi up` doesn't: it cuts them off.";

function tell(sentence: string, kind: "passing" | "note" | "warning"): void {
  const said = plainText(sentence);
  void (kind === "warning" ? log.warn(said) : log.info(said, undefined, undefined, kind === "passing"));
}

/** A fault in what somebody wrote is theirs to fix: all of them at once, without a stack trace. */
function userInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FaultyInput || error instanceof UnreadableInput ? plainError(error.message) : error;
  }
}
