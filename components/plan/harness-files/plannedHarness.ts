import { posix } from "node:path";
import type { DataOf } from "@local-serving/base/data/dataOf";
import { renderDocument } from "@local-serving/harness/analytics/configuration";
import { analyticsSchema } from "@local-serving/harness/analytics/schema";
import { HARNESS_FILES } from "@local-serving/harness/harness";
import { endpointOf, type FileRole, type PlannedFile } from "../../planned";
import type { harnessSchema } from "../../planned/schema";
import {
  apiKeyVariable,
  type HarnessSettings,
  type MachineSettings,
  pairings,
  reviewers,
} from "../../settings";
import {
  providersOf,
  providersProfile,
  type ServedHere,
  type ServedProvider,
} from "./providersProfile";

/** Facts about the automation harness's files; their texts are among the machine's files. */
export type HarnessPlan = DataOf<typeof harnessSchema>;

/**
 * The harness's two files and the facts about them; nothing where `harness` is not in the stack
 * file.
 * @param onMachine makes a path of the stack file one of the machine.
 */
export function plannedHarness(
  machineName: string,
  machine: MachineSettings,
  served: ServedHere,
  onMachine: (path: string) => string,
): { readonly plan: HarnessPlan | null; readonly files: readonly PlannedFile<FileRole>[] } {
  const { harness } = machine;
  if (harness === undefined) return { plan: null, files: [] };
  const { home, analyticsHome = home, prefix } = harness;
  const providers = providersOf(reviewers(machine, harness), served);
  const part = (role: FileRole) => ({
    role,
    resource: `${machineName}-${role}`,
    partOf: `${machineName}-harness-files`,
  });
  const profile: PlannedFile<FileRole> = {
    ...part("harness-providers"),
    purpose: "Providers profile of the harness.",
    path: posix.join(onMachine(home), HARNESS_FILES.providers),
    // Nobody but the operator needs to read what a harness runs.
    mode: "0600",
    text: providersProfile(harness, providers),
  };
  const analytics: PlannedFile<FileRole> = {
    ...part("harness-analytics"),
    purpose: "Session-analytics file of the harness.",
    path: posix.join(onMachine(analyticsHome), HARNESS_FILES.analytics),
    mode: "0600",
    text: sessionAnalytics(harness, providers, served),
  };
  const plan = {
    prefix,
    providers: profile.path,
    analytics: analytics.path,
    reviewers: reviewersPlanned(harness, providers),
    keyVariable: keySent(harness, providers) ?? null,
  };
  return { plan, files: [profile, analytics] };
}

/** What each provider is for. */
function reviewersPlanned(harness: HarnessSettings, providers: readonly ServedProvider[]) {
  const names = providers.map(({ name }) => name);
  const pairs = pairings(harness, names);
  const judging = judgeOf(harness, providers)?.name;
  return names.map((provider) => ({
    provider,
    reviews: pairs.filter(({ peer }) => peer === provider).map(({ subject }) => subject),
    judges: provider === judging,
  }));
}

/** The variable with the key, where a server is sent one. */
const keySent = (harness: HarnessSettings, providers: readonly ServedProvider[]) =>
  providers.some(({ kind }) => kind === "inference-server") ? apiKeyVariable(harness) : undefined;

/** Whose model judges sessions. */
const judgeOf = ({ judge }: HarnessSettings, providers: readonly ServedProvider[]) =>
  providers.find(({ name }) => name === judge) ?? providers[0];

/** Warnings about the harness's files before they are written, each with its code. */
export function harnessWarnings(machine: MachineSettings): [code: string, message: string][] {
  const { harness, simpleServer } = machine;
  if (harness === undefined) return [];
  const warnings: [string, string][] = [];
  const key = apiKeyVariable(harness);
  const kinds = reviewers(machine, harness).map(({ kind }) => kind);
  if (key !== undefined && kinds.includes("inference-server"))
    warnings.push([
      "harness-key",
      `The harness needs a value in ${key}. While it is empty, it treats the servers as unavailable. vLLM ignores the value: export any text where non-interactive shells see it, for example the line \`${key}=local\` in /etc/environment, or set \`harness.apiKeyVariable: none\`.`,
    ]);
  const asksOllama = harness.embeddingServer === undefined;
  if (asksOllama && simpleServer.mode !== "host")
    warnings.push([
      "harness-no-embedding",
      "The harness embeds no sessions: Ollama isn't on the host. It would use that, but `simpleServer.mode` is not `host`: the file leaves embedding to the harness's default, which nothing here serves. Use an inference server with `model.kind: embedding` instead (`harness.embeddingServer`).",
    ]);
  else if (asksOllama && harness.embeddingModel === undefined)
    warnings.push([
      "harness-no-embedding-model",
      "The harness embeds no sessions: no embedding model is named. Set `harness.embeddingModel`, and list the model in `simpleServer.models` so that it is pulled.",
    ]);
  if (simpleServer.mode === "host" && !kinds.includes("ollama"))
    warnings.push([
      "harness-no-ollama-model",
      "The harness can't review with Ollama: no model is named. List one in `simpleServer.models`, or set `harness.ollamaModel`.",
    ]);
  return warnings;
}

/** Backends as the harness names them: `openai` is any server with the API of that name. */
const BACKENDS = { "inference-server": "openai", ollama: "ollama" } as const;

/**
 * The harness's session-analytics file: judge and embedding on our servers, every other key left to
 * its default. The defaults give some coding tools a judge of their own, which would go before
 * ours: each of them gets ours too.
 */
function sessionAnalytics(
  harness: HarnessSettings,
  providers: readonly ServedProvider[],
  { servers, simpleServer }: ServedHere,
): string {
  const judging = judgeOf(harness, providers);
  const judge = judging && { backend: BACKENDS[judging.kind], model: judging.model };
  const tools = Object.keys(analyticsSchema().parse({}).judge.by_copilot).sort();
  const ollama_url = simpleServer.mode === "host" ? simpleServer.baseUrl : undefined;
  const embedder = servers.find(({ key }) => key === harness.embeddingServer);
  const embedding = embedder && {
    backend: BACKENDS["inference-server"],
    model: embedder.servedModelName,
    // The file has no other key for the address of the embedding server.
    ollama_url: endpointOf(embedder.reach).url,
  };
  return renderDocument({
    _comment: [
      "Made by local-serving from `harness` in the stack file: change it there.",
      "A key that is not here has its default. The judge's key, where one is needed, comes from " +
        `${harness.prefix}SA_JUDGE_API_KEY and is never in this file.`,
    ],
    judge: judge && {
      default: judge,
      by_copilot: Object.fromEntries(tools.map((tool) => [tool, judge])),
      base_url: judging?.kind === "inference-server" ? judging.baseUrl : undefined,
      ollama_url,
    },
    embedding:
      embedding ?? (ollama_url && { backend: "ollama", model: harness.embeddingModel, ollama_url }),
  });
}
