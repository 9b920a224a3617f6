import { isRecord, objectOr } from "@local-serving/base/faults/json";
import { capital } from "@local-serving/base/faults/quoting";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { isLoopback } from "@local-serving/machines/address";
import { overlap, subnetOf } from "@local-serving/machines/subnet";
import { hasOneQwenParser, ONE_QWEN_PARSER } from "@local-serving/vllm/qwenParsers";
import {
  AGGREGATE_CAUTION,
  AGGREGATE_LIMIT,
  utilizationText,
} from "@local-serving/vllm/utilization";
import { gte, lte, valid } from "@renovatebot/pep440";
import { CLIENTS, type ClientKind, type ClientPlan, codingAtInstanceA } from "../clients";
import { FEATURES } from "../features";
import {
  COMFORTABLE_GB,
  fitsMachine,
  gpuCount,
  isMeasured,
  type KnownServer,
  type MemoryLedger,
  type Warn,
  weightBand,
  weightsGB,
  weightsOnEach,
} from "../memory";
import {
  namedPooling,
  readModelName,
  saidOfKind,
  unservedByName,
  withoutOrganization,
} from "../memory/model-name";
import {
  answers,
  isPooling,
  type ModelEvidence,
  OPERATING_SYSTEM,
  type Upstream,
  type Warning,
} from "../planned";
import type { InferenceServerSettings, MachineFault, MachineSettings } from "../settings";
import { draftCrashes, vllmOf } from "../supply";
import { machinesSeen } from "./deviceFigures";
import { harnessWarnings } from "./harness-files";
import { startWarnings } from "./startWarnings";

/** First vLLM that doesn't know the FP4 variable. */
const FP4_VARIABLE_GONE = "0.24.0";

const TO_PROVE =
  "After all have loaded and served a request, MemAvailable must stay well above 0: `serving verify --only memory` checks this and prints what to record as `measured`.";

/** One warning of what the servers' shares come to, or a note where only a proof is missing. */
function warnOfShares(
  machine: MachineSettings,
  ledger: MemoryLedger,
  servers: readonly KnownServer[],
  warn: Warn,
): void {
  // What doesn't fit is a finding of its own, with what to write.
  if (!fitsMachine(ledger)) return;
  const aggregate = ledger.aggregateUtilization;
  const recorded = servers.every(({ settings }) => isMeasured(settings));
  // Of servers that start on request, those that run together.
  const atOnce = servers.filter(({ plan }) =>
    ledger.lines.some(({ name: line }) => line === plan.container.name),
  );
  const several = atOnce.length + (machine.instanceA === "none" ? 0 : 1) > 1;
  const isOpen = several && !recorded && aggregate <= AGGREGATE_LIMIT;
  const sum = `${(aggregate * machine.totalGiB).toFixed(1)} of ${machine.totalGiB.toFixed(1)} GiB`;
  const open = `That is ${sum}, which should fit on paper but has not been measured yet.`;
  const high = `${machinesSeen(machine)} have hung above 0.80: raise it step by step and watch MemAvailable.`;
  if (aggregate > AGGREGATE_CAUTION)
    warn(
      "aggregate-high",
      `The servers take ${utilizationText(aggregate)} of the memory, and above 0.80 it may hang. ${high}${isOpen ? ` ${open} ${TO_PROVE}` : ""}`,
    );
  else if (isOpen)
    warn(
      "unproven",
      `The servers together fit on paper, and were not measured. They take ${sum}. ${TO_PROVE}`,
    );
}

/** Networks that makers of routers give to homes and offices, unless somebody changes them. */
const USUAL_LANS = [
  ...["10.0.0", "10.0.1", "10.1.1", "192.168.0", "192.168.1", "192.168.2", "192.168.4"],
  ...["192.168.8", "192.168.10", "192.168.50", "192.168.86", "192.168.88", "192.168.178"],
].map((start) => `${start}.0/24`);

/** A Docker network over the local one cuts the machine off from it. */
function warnOfSubnet(subnet: string, warn: Warn): void {
  const own = subnetOf(subnet);
  const usual = USUAL_LANS.find((each) => {
    const lan = subnetOf(each);
    return own !== undefined && lan !== undefined && overlap(own, lan);
  });
  if (usual !== undefined)
    warn(
      "subnet-of-a-lan",
      `\`onDemand.subnet\` may be your local network's: ${subnet}. Many routers give ${usual} to the local network, and if yours does, Docker takes its addresses over. Write another private one, such as 10.213.7.0/28.`,
    );
}

/**
 * What an operator should know of one machine before it runs. Refusals are the policies' business.
 */
export function machineWarnings(
  name: string,
  machine: MachineSettings,
  ledger: MemoryLedger,
  servers: readonly KnownServer[],
): Warning[] {
  const warnings: Warning[] = [];
  const warn: Warn = (code, message) => warnings.push({ machine: name, code, message });
  warnOfShares(machine, ledger, servers, warn);
  const left = Number((ledger.totalGiB - ledger.sumGiB).toFixed(2));
  const floor = machine.memoryFloorGiB;
  if (servers.length > 0 && left >= 0 && left < floor)
    warn(
      "memory-floor",
      `The plan leaves ${left.toFixed(2)} GiB, less than the floor of ${floor} GiB. Free ${(floor - left).toFixed(2)} GiB more, by lower shares, or lower the floor (\`memoryFloorGiB\`): with everything loaded, the start gate would stop a server.`,
    );
  if (ledger.lines.some((line) => line.name === OPERATING_SYSTEM && line.basis === "default"))
    warn(
      "operating-system-unmeasured",
      `The operating system's ${machine.operatingSystemGiB} GiB is a default, and 17 to 20 were seen. Measure MemTotal - MemAvailable on the idle machine and set \`operatingSystemGiB\`.`,
    );
  if (machine.onDemand !== undefined) warnOfSubnet(machine.onDemand.subnet, warn);
  for (const { settings, model, plan } of servers)
    if (answers(plan)) {
      const warnOf: Warn = (code, message) => warn(code, `${plan.key}: ${message}`);
      for (const [code, text] of FEATURES.flatMap((each) => each.warnings(plan)))
        warnOf(code, text);
      serverWarnings(settings, model, warnOf);
      for (const { code, message } of startWarnings(plan.container)) warnOf(code, message);
    }
  for (const [code, message] of harnessWarnings(machine)) warn(code, message);
  return warnings;
}

function serverWarnings(
  server: InferenceServerSettings,
  model: ModelEvidence | undefined,
  warn: Warn,
): void {
  const version = vllmOf(server);
  if (
    server.moeBackend === undefined &&
    version !== undefined &&
    valid(version) !== null &&
    gte(version, FP4_VARIABLE_GONE)
  )
    warn(
      "inert-variable",
      `\`moeBackend\` isn't set, so vLLM ${version} chooses the kernels. If the model is a mixture of experts in NVFP4, set \`moeBackend: marlin\`, the sound choice on a GB10. Other models need nothing.`,
    );
  if (server.tools.parser === "qwen3_xml" && hasOneQwenParser(version))
    warn(
      "same-parser",
      `\`qwen3_xml\` and \`qwen3_coder\` are one parser in vLLM ${version}. They are since ${ONE_QWEN_PARSER}: switching between them changes nothing.`,
    );
  const { family = "other", id } = server.model;
  for (const message of kindByName(server)) warn("kind-by-name", message);
  const unfound = withoutOrganization(id);
  if (unfound !== undefined)
    warn("id-without-organization", `its model is not to be found. ${unfound}`);
  if (family !== "other" && model?.config === undefined)
    warn(
      "family-unproven",
      `\`family: ${family}\` can't be checked: there is no config.json. It chooses the parsers: when you change \`id\`, now ${id}, correct \`family\` too.`,
    );
  for (const [code, message] of reportedAgainst(server, model)) warn(code, message);
  if (model?.assumedFrom !== undefined) {
    const message = `The layers are assumed to be those of ${model.assumedFrom}. There is no config.json of ${id}, and ${model.source} is of that one. For an exact KV plan, download the model into the cache once, or put its own config.json there.`;
    warn("config-assumed", message);
  }
  const size = weightsGB(server, model);
  const band = size === undefined ? undefined : weightBand(size / gpuCount(server));
  if (size !== undefined && band?.comfortable === false)
    warn(
      "weights",
      `${weightsOnEach(size, gpuCount(server))} are above the comfortable ${COMFORTABLE_GB} GB. They are ${band.verdict}.`,
    );
}

/** What others reported against a server's settings, each with its code. */
function reportedAgainst(
  server: InferenceServerSettings,
  model: ModelEvidence | undefined,
): (readonly [code: string, message: string])[] {
  const { speculative } = server;
  const crashes =
    speculative &&
    draftCrashes({
      id: server.model.id,
      config: model?.config,
      method: speculative.method,
      count: speculative.numSpeculativeTokens,
      vllm: vllmOf(server),
    });
  return [
    ...(crashes === undefined ? [] : [["drafts-crash", crashes] as const]),
    ...disputedIn(server, model).map((message) => ["setting-disputed", message] as const),
  ];
}

/** What was reported against settings that a server has and its model's recipe, too. */
function disputedIn(server: InferenceServerSettings, model: ModelEvidence | undefined): string[] {
  const version = vllmOf(server);
  return (model?.disputed ?? []).flatMap(({ setting, value, upTo, ...said }) => {
    const own = valueAt(server, setting.split("."));
    const isUsed = isRecord(value)
      ? Object.entries(value).every(([key, each]) => objectOr(own)[key] === each)
      : own === value;
    const isPast =
      upTo !== undefined && version !== undefined && valid(version) !== null && !lte(version, upTo);
    if (!isUsed || isPast) return [];
    const shown = isRecord(value) ? setting : `${setting}: ${String(value)}`;
    return [`\`${shown}\` is disputed. Against it: ${said.against}. For it: ${said.for}.`];
  });
}

/** What a model's name says against the kind that it is declared as. */
function kindByName({ model: { id, kind }, tools }: InferenceServerSettings): string[] {
  const unserved = unservedByName(id);
  if (unserved !== undefined) return [unserved];
  const isGuard = readModelName(id).kind === "guard";
  const differs = isGuard
    ? kind === "chat" && tools.autoChoice
    : namedPooling(id) !== undefined && !isPooling(kind);
  return differs ? [`its model is of another kind, by its name. ${id} ${saidOfKind(id)}.`] : [];
}

/**
 * Prompt that an agent sends with every call, at its largest: instructions and tools (30,000 to
 * 40,000 tokens).
 */
const ENVELOPE_TOKENS = 40_000;

/**
 * Clients, the servers that they may talk to, and what keeps clients on other computers from them.
 */
interface WarnedClients {
  readonly servers: readonly Upstream[];
  readonly clients: readonly ClientPlan[];
  readonly unreached: readonly MachineFault[];
}

/** What an operator should know of a machine's clients before they run. */
export function clientWarnings(
  name: string,
  machine: MachineSettings,
  { servers, clients, unreached }: WarnedClients,
): Warning[] {
  const warnings: Warning[] = [];
  const warn: Warn = (code, message) => warnings.push({ machine: name, code, message });
  for (const client of clients) {
    const server = servers.find((each) => each.key === client.server);
    const output = client.maxOutputTokens;
    if (server?.maxModelLen !== undefined && output !== undefined) {
      const left = server.maxModelLen - output;
      const setting =
        server.kind === "simple-server" ? "simpleServer.contextLength" : "maxModelLen";
      if (left < ENVELOPE_TOKENS)
        warn(
          "client-window",
          `${client.client}: ${left} tokens are left for the prompt, 40,000 are needed. Lower \`maxOutputTokens\` or raise \`${setting}\`: ${output} of ${server.maxModelLen} tokens are for output, and an agent's own instructions take 30,000 to 40,000.`,
        );
    }
    for (const message of givesUp(client, server)) warn("client-gives-up", message);
    const own = machine.inferenceServers[client.server];
    if (
      client.surface === "messages" &&
      client.via === "native" &&
      own !== undefined &&
      own.chatTemplate === undefined
    )
      warn(
        "native-system-turns",
        `${client.client} before 2.1.329 finds little of its last prompt again. It puts system messages into messages[]; later versions don't, by the file that we write. If the model's template requires it, vLLM moves them to the beginning of the prompt. The next turn then reuses 6 % of the last prompt from the cache; through the bridge it reuses 90 % or more. Use a later version, or write \`inferenceServers.${client.server}.chatTemplate: tolerant\` or \`via: bridge\`.`,
      );
  }
  for (const message of notKnownOfInstanceA(machine, clients)) warn("instance-a-unknown", message);
  const { host = "localhost" } = machine.clients;
  for (const { message } of isLoopback(host) ? [] : unreached)
    warn("client-host", `${message} Or remove \`clients.host\`.`);
  return warnings;
}

/** A client whose patience is shorter than a start of its server may be. */
function givesUp({ client }: ClientPlan, server: Upstream | undefined): string[] {
  const kinds: readonly ClientKind[] = CLIENTS;
  const limit = kinds.find(({ name }) => name === client)?.givesUp;
  const minutes = server?.startWithinMinutes ?? 0;
  if (limit === undefined || server === undefined || minutes * 60 <= limit.seconds) return [];
  const { seconds, remedy } = limit;
  return [
    `${client} gives up after ${seconds} s, and ${server.key} may take ${minutes} min to start. ${capital(remedy)}, or start the server first (\`serving start ${server.key}\`).`,
  ];
}

/** What decides whether coding clients can use instance A, and isn't declared. */
function notKnownOfInstanceA({ instanceA }: MachineSettings, clients: readonly ClientPlan[]) {
  const agents = codingAtInstanceA(clients);
  if (instanceA === "none" || agents.length === 0) return [];
  const unknown = [
    ...(instanceA.toolParser === undefined
      ? ["whether it makes structured tool calls (`instanceA.toolParser`)"]
      : []),
    ...(instanceA.keyVariable === undefined
      ? ["whether it asks for a key (`instanceA.keyVariable`)"]
      : []),
  ];
  if (unknown.length === 0) return [];
  const names = agents.map(({ client }) => client).join(", ");
  return [
    `It is not known whether ${names} can use instance A. The stack file doesn't say ${unknown.join(" and ")}. \`serving verify a\` says what to declare.`,
  ];
}
