import type { HostFacts, HostServer } from "../sees/computer/facts";
import { notForAgents } from "./settings";

/** What was found on a machine, a sentence each. */
export function found(facts: HostFacts): string[] {
  const { memory, kernel, driver, gpus, docker, servers, ollama, modelCache, clients } = facts;
  const { totalGiB, availableGiB } = memory;
  const whole = modelCache.models.filter((model) => model.whole).map(({ id }) => id);
  const partial = modelCache.models.filter((model) => !model.whole).map(({ id }) => id);
  return [
    `Memory: ${totalGiB} GiB, of which ${availableGiB} were available.`,
    `GPU: ${gpus.join(", ") || "none that the NVIDIA driver shows"}; driver ${driver ?? "none"}, kernel ${kernel}.`,
    ...(servers.length === 0
      ? ["No vLLM runs on the host: there is no instance A."]
      : servers.map(serverText)),
    ollama === undefined ? "No Ollama." : ollamaText(ollama),
    docker.reachable
      ? `Docker answers, ${docker.gpuRuntime ? "with" : "without"} a GPU runtime${docker.ours.length === 0 ? "" : `; of ours run ${docker.ours.map(({ name }) => name).join(", ")}`}.`
      : `No Docker engine answers (${docker.reason}).`,
    `Model cache ${modelCache.path}: ${whole.join(", ") || "no model"}${partial.length === 0 ? "" : `, in part ${partial.join(", ")}`}; ${modelCache.freeGB ?? "unknown"} GB of its disk are free.`,
    `Coding clients on PATH: ${clients.join(", ") || "none"}.`,
  ];
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
  default: " (vLLM's default, as nothing else was asked for)",
  container: "",
  metrics: " (by its /metrics)",
} as const;

function ollamaText({ version, unit, address, models }: NonNullable<HostFacts["ollama"]>): string {
  const which = models.map(({ name, loadedGiB }) =>
    loadedGiB === undefined ? name : `${name} (loaded, ${loadedGiB} GiB)`,
  );
  const answers =
    version === undefined ? "that doesn't answer" : `${version} on ${address ?? "127.0.0.1"}:11434`;
  return `Ollama ${answers}, ${unit ? "run by ollama.service" : "without a systemd unit"}; models: ${which.join(", ") || "none"}.`;
}

/** Room on disk for a server's image, in GB. */
const IMAGE_GB = 20;

/** What to mend on a machine before `up`, a sentence each, beside what the preflight finds. */
export function toMend(
  facts: HostFacts,
  server: { readonly cached: boolean; readonly weightsGB: number | undefined } | undefined,
): string[] {
  if (server === undefined) return atInstanceA(facts);
  const { freeGB, path } = facts.modelCache;
  const weights = server.cached ? 0 : Math.ceil(server.weightsGB ?? 0);
  const needed = weights + IMAGE_GB;
  return [
    ...(freeGB !== undefined && freeGB < needed
      ? [
          `The disk of ${path} has ${freeGB} GB free. ${weights > 0 ? `${weights} GB of weights and about` : "About"} ${IMAGE_GB} GB of image are to be loaded: free ${needed - (freeGB ?? 0)} GB, or set \`modelCache\` to a folder on another disk.`,
        ]
      : []),
    ...(facts.gpus.length === 0
      ? ["The NVIDIA driver shows no GPU: install it, or no vLLM starts here."]
      : []),
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
