import { BASE_URL_VARIABLE, claudeCode, TIER_VARIABLES } from "../../../components/clients/claudeCode";
import { codex } from "../../../components/clients/codex";
import { CLIENTS } from "../../../components/clients/registry";
import { APPLY, type Diagnosis } from "../diagnosis";
import { type Evidence, machineEdit, numberOf, seen, seenAny, serverOf, setting } from "../evidence";
import { sign } from "../sign";

/** A tier's own name reached a server, or a client says that it did. */
const TIER_404 = sign(
  ["claude-"],
  /The model `(claude-[\w.-]+)` does not exist|Invalid model name passed in model=(claude-[\w.-]+)|issue with the selected model \((claude-[\w.-]+)\)/,
);
const DOUBLED_V1 = sign("/v1/v1/", /(?:GET|POST|HEAD) \/v1\/(v1\/\S*)/);
const MISSING_V1 = sign(
  [" /chat/completions", " /responses", " /messages"],
  /"(?:GET|POST) \/((?:chat\/completions|responses|messages)\S*) HTTP\/[\d.]+" 404/,
);
const TOO_LONG = sign(
  "maximum context length is",
  /maximum context length is ([\d,]+) tokens\.(?: However, you requested ([\d,]+) output tokens and your prompt contains (?:at least )?([\d,]+) input tokens)?/,
);
const ENV_KEY = sign("Missing environment variable", /Missing environment variable: `?(\w+)`?/);
const WIRE_API = sign("wire_api", /`?wire_api = "chat"`? is no longer supported/);
const TRUNCATED = sign(
  ["truncation", "max_length"],
  /"truncation\w*"\s*:.{0,2000}"(?:model_)?max_length"\s*:\s*2048\b|"(?:model_)?max_length"\s*:\s*2048\b.{0,2000}"truncation\w*"\s*:|tokenizer with truncation at 2048/,
);
const TRUNCATION_KEY = sign('"truncation', /"truncation\w*"\s*:/);
const MAX_LENGTH = sign('max_length"', /(?:^|\s)"(?:model_)?max_length"\s*:\s*2048\b/);

const TIERS = new Set<string>(TIER_VARIABLES);

/** A window is raised in steps of this many tokens. */
const WINDOW_STEP = 1024;

const unpinnedTier: Diagnosis = {
  id: "unpinned-tier",
  source: 'specification, Errors: "Unpinned model tier requested by a messages-style client"',
  caughtBy: "the plan, which pins every tier in the client's file",
  signs: [TIER_404],
  judge(evidence) {
    const hit = seen(evidence, TIER_404);
    if (hit === undefined) return undefined;
    const tier = hit.groups.find((group) => group !== "") ?? "a tier";
    const declared = setting(evidence, "clients", "claudeCode") !== undefined;
    const own = setting(evidence, "clients", "claudeCode", "environment");
    const overridden = Object.keys(typeof own === "object" && own !== null ? own : {}).filter((name) =>
      TIERS.has(name),
    );
    const via = setting(evidence, "bridge") === undefined ? "native" : "bridge";
    return {
      cause: `The client asked for ${tier}, a tier that isn't pinned to the served name; the 404 looks like a network failure.`,
      evidence: hit.line,
      ...(declared
        ? overridden.length > 0
          ? {
              edits: overridden.map((name) =>
                machineEdit(evidence, ["clients", "claudeCode", "environment", name], undefined),
              ),
            }
          : {
              advice:
                "Nothing in the stack file: the file that the plan writes pins every tier, so this client was started without it. Use the launcher.",
            }
        : { edits: [machineEdit(evidence, ["clients", "claudeCode"], { via })] }),
      command: declared && overridden.length === 0 ? claudeCode.launcher : APPLY,
    };
  },
};

const wrongBaseUrl: Diagnosis = {
  id: "wrong-base-url",
  source: "specification, Endpoints rule 4: the coding client's base URL is the bare origin, with no /v1",
  caughtBy: "the plan, which writes each client's base URL",
  signs: [DOUBLED_V1, MISSING_V1],
  judge(evidence) {
    const hit = seenAny(evidence, DOUBLED_V1, MISSING_V1);
    if (hit === undefined) return undefined;
    const doubled = (hit.groups[0] ?? "").startsWith("v1/");
    const path = ["clients", "claudeCode", "environment", BASE_URL_VARIABLE];
    const overridden = setting(evidence, ...path) !== undefined;
    return {
      cause: doubled
        ? "A client's base URL ends in /v1 and it adds /v1 itself: a messages-style client takes the bare origin."
        : "A client's base URL lacks the /v1 that this kind of client does not add.",
      evidence: hit.line,
      ...(overridden && doubled
        ? { edits: [machineEdit(evidence, path, undefined)] }
        : {
            advice:
              "Nothing in the stack file: the files that the plan writes have the right base URL, so this client uses another one. Start it with its launcher.",
          }),
      command: overridden && doubled ? APPLY : "serving plan --format json | jq '.machines[].endpoints'",
    };
  },
};

const windowExceeded: Diagnosis = {
  id: "window-exceeded",
  source: 'specification, Errors: "`prompt_tokens + max_tokens > max_model_len`"',
  caughtBy: "the plan's warning `client-window`",
  signs: [TOO_LONG],
  judge(evidence) {
    const hit = seen(evidence, TOO_LONG);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const [window, output, prompt] = [0, 1, 2].map((group) => numberOf(hit, group));
    const cause = `Prompt and wanted output together exceed the window of ${window} tokens, and vLLM refuses such a request.`;
    if (!window || !output || !prompt)
      return {
        cause,
        evidence: hit.line,
        advice: "Raise `maxModelLen` where the KV plan has room, or lower the client's `maxOutputTokens`.",
        command: "serving plan",
      };
    const left = window - prompt;
    const boundOf = (key: string) => setting(evidence, "clients", key, "maxOutputTokens");
    // The client that asked for so much, or one that has been bounded since.
    const client =
      CLIENTS.find(({ key }) => boundOf(key) === output) ?? CLIENTS.find(({ key }) => boundOf(key) === left);
    return {
      cause,
      evidence: hit.line,
      edits: [
        client !== undefined && left > 0
          ? machineEdit(evidence, ["clients", client.key, "maxOutputTokens"], left)
          : server.set(["maxModelLen"], Math.ceil((prompt + output) / WINDOW_STEP) * WINDOW_STEP),
      ],
      advice: `Agents send 30,000 to 40,000 tokens with every call; this prompt had ${prompt} and asked for ${output}.`,
      command: APPLY,
    };
  },
};

const keyUnset: Diagnosis = {
  id: "client-key-unset",
  source: "specification, Responses-style client: the variable named by env_key must be set",
  caughtBy: "the launcher, which sets a placeholder",
  signs: [ENV_KEY],
  judge(evidence) {
    const hit = seen(evidence, ENV_KEY);
    if (hit === undefined) return undefined;
    return {
      cause: `The client will not start without ${hit.groups[0]}; any text will do, since the server ignores it.`,
      evidence: hit.line,
      advice: "Nothing in the stack file: start the client with its launcher, or export a placeholder.",
      command: codex.launcher,
    };
  },
};

const wireApi: Diagnosis = {
  id: "client-wire-api",
  source: 'openai/codex: `wire_api = "chat"` is gone',
  caughtBy: 'the plan, which writes `wire_api = "responses"`',
  signs: [WIRE_API],
  judge(evidence) {
    const hit = seen(evidence, WIRE_API);
    if (hit === undefined) return undefined;
    return {
      cause: "The Responses-style client reads a file with the removed wire protocol `chat`.",
      evidence: hit.line,
      advice:
        "Nothing in the stack file: the file that the plan writes says `responses`. Start the client with its launcher, or correct your own file.",
      command: codex.launcher,
    };
  },
};

const truncation: Diagnosis = {
  id: "tokenizer-truncation",
  source: 'specification, Errors: "Requests succeed but the model acts as if it saw nothing"',
  caughtBy: "`serving verify`, whose long prompt has a needle at its far end",
  signs: [TRUNCATED, TRUNCATION_KEY, MAX_LENGTH],
  judge(evidence) {
    const hit = seenAny(evidence, TRUNCATED) ?? split(evidence);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const model = server.settings?.model.id.replaceAll("/", "--") ?? "*";
    return {
      cause: "The model's tokenizer cuts every prompt at 2048 tokens, so that the model never sees the rest.",
      evidence: hit.line,
      advice:
        "Nothing in the stack file, and no server flag helps: set `truncation` to null in the model's tokenizer.json, or take a corrected revision of the model.",
      command: `grep -l '"max_length": *2048' ${textOf(evidence, "modelCache")}/hub/models--${model}/snapshots/*/tokenizer*.json`,
    };
  },
};

/** A tokenizer.json printed over several lines. */
function split(evidence: Evidence) {
  const key = seen(evidence, TRUNCATION_KEY);
  const length = seen(evidence, MAX_LENGTH);
  if (key === undefined || length === undefined || key.log !== length.log) return undefined;
  return length;
}

function textOf(evidence: Evidence, key: string): string {
  const found = setting(evidence, key);
  return typeof found === "string" ? found : "~/.cache/huggingface";
}

export const client: readonly Diagnosis[] = [
  unpinnedTier,
  wrongBaseUrl,
  windowExceeded,
  keyUnset,
  wireApi,
  truncation,
];
