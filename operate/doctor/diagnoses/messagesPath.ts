import { APPLY, type Diagnosis } from "../diagnosis";
import { type Evidence, machineEdit, seen, serverOf, setting } from "../evidence";
import { sign } from "../sign";
import { SOUND_IMAGE } from "./bridge";

/** vLLM up to 0.22 and templates of the qwen kind, in the words of pydantic, of the template and of the probe. */
const SYSTEM_REFUSED = sign(
  [
    "System message must be at the beginning",
    "system message must be at the beginning",
    "'user' or 'assistant'",
  ],
  /[Ss]ystem message must be at the beginning|role.{0,160}Input should be 'user' or 'assistant'|Input should be 'user' or 'assistant'.{0,160}system/,
);
const MESSAGE_400 = sign("/v1/messages", /"POST \/v1\/messages\S* HTTP\/[\d.]+" 400/);

/** An answer of the messages path that ends the turn with a call written out as text. */
const CALL_AS_TEXT = sign(
  ["end_turn"],
  /"stop_reason"\s*:\s*"end_turn".{0,8000}<(?:tool_call|function=|invoke|function_calls)|<(?:tool_call|function=|invoke|function_calls).{0,8000}"stop_reason"\s*:\s*"end_turn"/,
);
/** What `serving verify` says of the native path, in whatever words. */
const PROBE_FAILED = sign(["native"], /\bnative\b.{0,200}\bend_turn\b/);

const HIT_RATE = sign("Prefix cache hit rate:", /Prefix cache hit rate: ([\d.]+)%/, { keep: "largest" });
const CLIENT_CALLS = sign(
  ["/v1/messages", "/v1/chat/completions", "/v1/responses"],
  /"POST \/v1\/(?:messages|chat\/completions|responses)\S* HTTP\/[\d.]+" 200/,
);

/** The header with a hash of its own that a client puts before its system prompt, where a log or a request shows it. */
const HASHED_HEADER = sign("x-anthropic-billing-header:");

/** What `serving verify` says where a second call reuses next to nothing of the first. */
const PROBE_COLD = sign(
  "of the second call's prompt came from the cache",
  /probe \S+: \d+ % of the second call's prompt came from the cache/,
);

/**
 * A rate is printed every ten seconds. The first ones are 0 everywhere, and a cold prompt of 100,000 tokens takes two
 * minutes: without calls in the log more of them are needed.
 */
const ENOUGH_RATES = { withCalls: 3, alone: 15 };
const ENOUGH_CALLS = 5;
const NEAR_ZERO_PERCENT = 1;

/** Where the messages-style client goes through the bridge, and the bridge translates. */
function throughTheBridge(evidence: Evidence) {
  const edits = [];
  if (setting(evidence, "bridge", "messagesPath") === "passThrough")
    edits.push(machineEdit(evidence, ["bridge", "messagesPath"], "translate"));
  if (setting(evidence, "clients", "claudeCode", "via") !== "bridge" || edits.length === 0)
    edits.push(machineEdit(evidence, ["clients", "claudeCode", "via"], "bridge"));
  if (evidence.stack === undefined || setting(evidence, "bridge") !== undefined) return { edits };
  return {
    edits: [machineEdit(evidence, ["bridge", "image"], SOUND_IMAGE), ...edits],
    advice: "The machine has no bridge yet: the change declares one.",
  };
}

const systemRoleRefused: Diagnosis = {
  id: "system-role-refused",
  source: "vllm-project/vllm #44000, #41114: coding clients put a system element into messages[]",
  caughtBy: "`serving verify`, whose probe sends that element",
  signs: [SYSTEM_REFUSED, MESSAGE_400],
  judge(evidence) {
    const hit = seen(evidence, SYSTEM_REFUSED);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const template = server.settings?.chatTemplate;
    const { edits, advice } = throughTheBridge(evidence);
    return {
      cause:
        "A system element in the middle of messages[] is refused, by the server or by the model's chat template.",
      evidence: hit.line,
      edits: template === undefined ? edits : [server.set(["chatTemplate"], undefined), ...edits],
      ...(advice === undefined ? {} : { advice }),
      command: `${APPLY} && serving verify --only messages-tools,native-messages-path`,
    };
  },
};

const nativePathFails: Diagnosis = {
  id: "native-path-fails",
  source:
    'specification, Errors: "`/v1/messages` request ending in a `system` message on an affected build"; vllm-project/vllm #48874',
  caughtBy: "`serving verify`, whose native-path test decides between native and bridge",
  signs: [CALL_AS_TEXT, PROBE_FAILED],
  judge(evidence) {
    const hit = seen(evidence, CALL_AS_TEXT) ?? seen(evidence, PROBE_FAILED);
    if (hit === undefined) return undefined;
    return {
      cause:
        "On this build the native messages path writes tool calls as text and ends the turn: about 90 % of long agent runs stop after one turn without an error.",
      evidence: hit.line,
      ...throughTheBridge(evidence),
      command: `${APPLY} && serving verify --only native-messages-path`,
    };
  },
};

const prefixCacheCold: Diagnosis = {
  id: "prefix-cache-cold",
  source:
    'specification, Errors: "Prefix-cache hit rate near zero on coding-client traffic"; vllm-project/vllm PR 36829',
  caughtBy: "`serving verify`, which measures prefix reuse; the plan sets CLAUDE_CODE_ATTRIBUTION_HEADER=0",
  signs: [HIT_RATE, CLIENT_CALLS, HASHED_HEADER, PROBE_COLD],
  judge(evidence) {
    const probed = seen(evidence, PROBE_COLD);
    const hit = coldRate(evidence) ?? probed;
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const off = server.settings?.prefixCaching === false;
    // The probe's own prompts hold no hash.
    if (hit === probed && !off) return undefined;
    return {
      cause: off
        ? "Prefix caching is off: every turn of an agent is computed anew."
        : "No prompt begins like an earlier one: a client puts a hash of its own into each system prompt.",
      evidence: hit.line,
      edits: [off ? server.set(["prefixCaching"], true) : withoutHeader(evidence)],
      advice: off
        ? "It decides between a working agent loop and a very slow one."
        : "vLLM 0.19.1 and later drop the header on /v1/messages where the system prompt is a list of blocks. A prompt shorter than a block of a hybrid model never hits.",
      command: `${APPLY} && serving verify --only prefix-reuse`,
    };
  },
};

/** The client's own switch; a client that isn't declared yet has its way to be said too. */
function withoutHeader(evidence: Evidence) {
  const client = ["clients", "claudeCode"];
  const environment = { CLAUDE_CODE_ATTRIBUTION_HEADER: "0" };
  if (evidence.stack === undefined || setting(evidence, ...client) !== undefined)
    return machineEdit(evidence, [...client, "environment", "CLAUDE_CODE_ATTRIBUTION_HEADER"], "0");
  const via = setting(evidence, "bridge") === undefined ? "native" : "bridge";
  return machineEdit(evidence, client, { via, environment });
}

/** A rate that stayed near zero for long enough to mean something. */
function coldRate(evidence: Evidence) {
  const hit = seen(evidence, HIT_RATE);
  if (hit === undefined || Number(hit.groups[0]) > NEAR_ZERO_PERCENT) return undefined;
  if (seen(evidence, HASHED_HEADER) !== undefined) return hit;
  const calls = hit.log.hits.get(CLIENT_CALLS)?.count;
  const enough =
    calls === undefined
      ? hit.count >= ENOUGH_RATES.alone
      : calls >= ENOUGH_CALLS && hit.count >= ENOUGH_RATES.withCalls;
  return enough ? hit : undefined;
}

export const messagesPath: readonly Diagnosis[] = [systemRoleRefused, nativePathFails, prefixCacheCold];
