import { defined } from "@local-serving/base/faults/defined";
import { BYTES_PER_GB } from "@local-serving/base/units/memory";
import {
  deviceOf,
  deviceText,
  OTHER_DEVICE,
  totalOfAnother,
} from "@local-serving/machines/devices/devices";
import { CLIENTS } from "../../components/clients";
import { roomDoubt, SERVER_IMAGE_BYTES } from "../../components/preflight/fetch";
import type { HostFacts, HostServer } from "../sees/computer/facts";
import { systemGiB, UNEXPLAINED_GIB } from "./counted";
import { notForAgents } from "./settings";

/** What was found on a machine, a sentence each. */
export function found(facts: HostFacts): string[] {
  const { memory, gpuUsers = [], docker, servers, ollama, modelCache, clients } = facts;
  const held = gpuUsers.map(({ name, gib }) => `${name} (${gib} GiB)`);
  return [
    ...deviceLines(facts),
    `Memory: ${memory.totalGiB} GiB, of which ${memory.availableGiB} were available.`,
    gpuLine(facts),
    ...(held.length === 0 ? [] : [`GPU memory is held by ${held.join(", ")}.`]),
    ...(servers.length === 0
      ? ["No vLLM runs on the host: there is no instance A."]
      : servers.map(serverText)),
    ollama === undefined ? "No Ollama." : ollamaText(ollama),
    dockerLine(docker),
    cacheLine(modelCache),
    clientsLine(clients),
  ];
}

/** The coding clients there, or how the usual one is installed. */
function clientsLine(clients: readonly string[]): string {
  if (clients.length > 0) return `Coding clients on PATH: ${clients.join(", ")}.`;
  const [usual = ""] = CLIENTS.flatMap(({ title, program }) =>
    program === undefined ? [] : [` \`npm install -g ${program.npm}\` installs ${title}.`],
  );
  return `Coding clients on PATH: none.${usual}`;
}

function deviceLines({ device, product, memory: { totalGiB } }: HostFacts): string[] {
  if (device === undefined) return [];
  const isOther = totalOfAnother(device, totalGiB) !== undefined;
  const hint = " Its memory is not that of such a device, so the file names no device.";
  return [`Device: ${deviceText(device, defined({ totalGiB, product }))}.${isOther ? hint : ""}`];
}

function gpuLine(facts: HostFacts): string {
  const { gpus, gpuMemoryGiB, driver, kernel } = facts;
  const whose = gpus.length === 1 ? "its" : "their";
  const own = gpuMemoryGiB === undefined ? "" : ` with ${gpuMemoryGiB} GiB of ${whose} own memory`;
  const by = driver === undefined && gpus.length === 0 ? "" : `driver ${driver ?? "none"}, `;
  return `GPU: ${gpuName(facts)}${own}; ${by}kernel ${kernel}.`;
}

function dockerLine(docker: HostFacts["docker"]): string {
  if (!docker.reachable) return `No Docker engine answers (${docker.reason}).`;
  const names = docker.ours.map(({ name }) => name).join(", ");
  const ours = names === "" ? "" : `; our containers running: ${names}`;
  return `Docker answers, ${docker.gpuRuntime ? "with" : "without"} a GPU runtime${ours}.`;
}

function cacheLine({ path, models, freeGB }: HostFacts["modelCache"]): string {
  const whole = models.filter((model) => model.whole).map(({ id }) => id);
  const partial = models.filter((model) => !model.whole).map(({ id }) => id);
  const incomplete = partial.length === 0 ? "" : `, incomplete: ${partial.join(", ")}`;
  return `Model cache ${path}: ${whole.join(", ") || "no model"}${incomplete}; ${freeGB ?? "unknown"} GB of its disk are free.`;
}

function serverText(server: HostServer): string {
  const { port, runsIn, version, model, share, maxModelLen, argv, unread } = server;
  const facts = [
    model === undefined ? "its model can't be read" : `serves ${model}`,
    share === undefined
      ? "its share of the memory can't be read"
      : `takes ${share} of the memory${SHARE_FROM[server.shareFrom ?? "argv"]}`,
    ...(maxModelLen === undefined ? [] : [`window ${maxModelLen}`]),
    ...(argv === undefined ? [] : [`started as \`${argv.join(" ")}\``]),
    ...(unread === undefined ? [] : [`how it was started can't be read: ${unread}`]),
  ];
  return `vLLM${version === undefined ? "" : ` ${version}`} on port ${port}${runsIn === undefined ? "" : ` (${runsIn})`}: ${facts.join("; ")}.`;
}

const SHARE_FROM = {
  argv: "",
  default: " (vLLM's default)",
  container: "",
  metrics: " (by its /metrics)",
} as const;

const gpuName = ({ gpus, unshown, device }: HostFacts): string =>
  gpus.join(", ") ||
  (unshown === undefined
    ? device === OTHER_DEVICE
      ? "none of NVIDIA"
      : (deviceOf(device)?.name ?? "none")
    : `one from ${unshown} that no driver shows`);

function ollamaText({
  version,
  unit,
  runsIn,
  address,
  models,
}: NonNullable<HostFacts["ollama"]>): string {
  const which = models.map(({ name, loadedGiB }) =>
    loadedGiB === undefined ? name : `${name} (loaded, ${loadedGiB} GiB)`,
  );
  const answers =
    version === undefined ? "(no answer)" : `${version} on ${address ?? "127.0.0.1"}:11434`;
  return `Ollama ${answers}, ${unit ? "run by ollama.service" : `${runsIn === undefined ? "without a systemd unit" : `in ${runsIn}`}: what it has loaded is counted, and its settings and models stay yours`}; models: ${which.join(", ") || "none"}.`;
}

/** What to mend on a machine before `up`, a sentence each, beside what the preflight finds. */
export function toMend(
  facts: HostFacts,
  server: { readonly cached: boolean; readonly weightsGB: number | undefined } | undefined,
): string[] {
  const unseen = unshownGpu(facts);
  if (server === undefined) return [...unseen, ...atInstanceA(facts)];
  const weights = server.cached ? 0 : Math.ceil(server.weightsGB ?? 0);
  const full = fullDisk(facts.modelCache, weights);
  return [...(full === undefined ? [] : [full]), ...unseen];
}

/** Why a model's weights and an image have no room on the disk of the cache. */
function fullDisk(
  { freeGB, path }: HostFacts["modelCache"],
  weightsGB: number,
): string | undefined {
  if (freeGB === undefined) return undefined;
  const estimatedBytes = SERVER_IMAGE_BYTES;
  const bytes = weightsGB * BYTES_PER_GB;
  const freeBytes = freeGB * BYTES_PER_GB;
  return roomDoubt({
    images: [{ estimatedBytes }],
    models: weightsGB > 0 ? [{ bytes }] : [],
    disks: [{ paths: [path], freeBytes, neededBytes: bytes, estimatedBytes }],
  });
}

/** A GPU that no driver shows: advice is for the maker that is there. */
function unshownGpu({ gpus, unshown, device }: HostFacts): string[] {
  if (unshown === "NVIDIA")
    return ["The NVIDIA driver shows no GPU: install the driver, or no vLLM starts here."];
  return gpus.length === 0 && device === undefined
    ? ["No GPU was found: no vLLM starts here."]
    : [];
}

/** What is in use that nothing that was found explains, where nobody said that it is the system's. */
export function unexplainedMemory(
  facts: HostFacts,
  said: Parameters<typeof systemGiB>[1],
): string[] {
  const gib = systemGiB(facts, said);
  return gib === undefined || gib <= UNEXPLAINED_GIB
    ? []
    : [
        `${gib} GiB of memory in use are unexplained, more than an operating system takes: look with \`nvidia-smi\`, \`docker ps\` and \`ps aux --sort=-rss\`. Stop what takes them, or declare it as \`otherGpuMemoryGiB\` or \`operatingSystemGiB\`.`,
      ];
}

/** Why coding clients have no server, where instance A is the only one. */
function atInstanceA({ servers: [a] }: HostFacts): string[] {
  const why = notForAgents(a);
  return why === undefined
    ? []
    : [
        `No coding client is pointed at instance A: ${why}, remove this file and run \`serving init\` again.`,
      ];
}
