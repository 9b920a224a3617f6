import { APPLY, type Diagnosis, type Row } from "../diagnosis";
import { type Facts, machineEdit, seen, serverOf, setting } from "../facts";
import { sign } from "../sign";
import { SOUND_IMAGE } from "./bridge";

/** An answer of the messages path that ends the turn with a call written out as text. */
const CALL_AS_TEXT = sign(
  ["end_turn"],
  /"stop_reason"\s*:\s*"end_turn".{0,8000}<(?:tool_call|function=|invoke|function_calls)|<(?:tool_call|function=|invoke|function_calls).{0,8000}"stop_reason"\s*:\s*"end_turn"/,
);
/** What `serving verify` says of the native path, in any wording. */
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

function toolsFail({ probes = [] }: Facts): boolean {
  return probes.some(
    ({ name, status }) => ["chat-tools", "messages-tools"].includes(name) && status === "fail",
  );
}

/** Where the messages-style client goes through the bridge, and the bridge translates. */
function throughTheBridge(facts: Facts) {
  const edits = [];
  if (setting(facts, "bridge", "messagesPath") === "passThrough")
    edits.push(machineEdit(facts, ["bridge", "messagesPath"], "translate"));
  if (setting(facts, "clients", "claudeCode", "via") !== "bridge" || edits.length === 0)
    edits.push(machineEdit(facts, ["clients", "claudeCode", "via"], "bridge"));
  if (facts.stack === undefined || setting(facts, "bridge") !== undefined) return { edits };
  return {
    edits: [machineEdit(facts, ["bridge", "image"], SOUND_IMAGE), ...edits],
    advice: "The machine has no bridge yet: the change declares one.",
  };
}

/** The client's own switch; for a client that isn't declared yet, its `via` has to be declared too. */
function withoutHeader(facts: Facts) {
  const client = ["clients", "claudeCode"];
  const environment = { CLAUDE_CODE_ATTRIBUTION_HEADER: "0" };
  if (facts.stack === undefined || setting(facts, ...client) !== undefined)
    return machineEdit(facts, [...client, "environment", "CLAUDE_CODE_ATTRIBUTION_HEADER"], "0");
  const via = setting(facts, "bridge") === undefined ? "native" : "bridge";
  return machineEdit(facts, client, { via, environment });
}

/** A rate that stayed near zero for long enough to mean something. */
function coldRate(facts: Facts) {
  const hit = seen(facts, HIT_RATE);
  if (hit === undefined || Number(hit.groups[0]) > NEAR_ZERO_PERCENT) return undefined;
  if (seen(facts, HASHED_HEADER) !== undefined) return hit;
  const calls = hit.log.hits.get(CLIENT_CALLS)?.count;
  const enough =
    calls === undefined
      ? hit.count >= ENOUGH_RATES.alone
      : calls >= ENOUGH_CALLS && hit.count >= ENOUGH_RATES.withCalls;
  return enough ? hit : undefined;
}

export const messagesPath: readonly (Diagnosis | Row)[] = [
  {
    id: "system-role-refused",
    source: "vllm-project/vllm #44000, #41114: coding clients put a system element into messages[]",
    caughtBy: "`serving verify`, whose probe sends that element",
    // vLLM up to 0.22 and templates of the qwen kind, in the words of pydantic, of the template and of the probe.
    when: sign(
      [
        "System message must be at the beginning",
        "system message must be at the beginning",
        "'user' or 'assistant'",
      ],
      /[Ss]ystem message must be at the beginning|role.{0,160}Input should be 'user' or 'assistant'|Input should be 'user' or 'assistant'.{0,160}system/,
    ),
    say({ facts, server }) {
      const { edits, advice } = throughTheBridge(facts);
      const template = server.settings?.chatTemplate;
      return {
        cause:
          "The server or the model's chat template refuses a system element in the middle of messages[].",
        edits: template === undefined ? edits : [server.set(["chatTemplate"], undefined), ...edits],
        advice,
        command: `${APPLY} && serving verify --only messages-tools,native-messages-path`,
      };
    },
  },
  {
    id: "native-path-fails",
    source:
      'specification, Errors: "`/v1/messages` request ending in a `system` message on an affected build"; vllm-project/vllm #48874',
    caughtBy: "`serving verify`, whose native-path test decides between native and bridge",
    when: [CALL_AS_TEXT, PROBE_FAILED],
    // Where tools work nowhere, it isn't the path.
    unless: ({ facts }) => toolsFail(facts),
    say: ({ facts }) => ({
      cause:
        "On this build the native messages path writes tool calls as text and ends the turn: about 90 % of long agent runs stop after one turn without an error.",
      ...throughTheBridge(facts),
      command: `${APPLY} && serving verify --only native-messages-path`,
    }),
  },
  {
    id: "prefix-cache-cold",
    source:
      'specification, Errors: "Prefix-cache hit rate near zero on coding-client traffic"; vllm-project/vllm PR 36829',
    caughtBy: "`serving verify`, which measures prefix reuse; the plan sets CLAUDE_CODE_ATTRIBUTION_HEADER=0",
    explain(facts) {
      const probed = seen(facts, PROBE_COLD);
      const hit = coldRate(facts) ?? probed;
      if (hit === undefined) return undefined;
      const server = serverOf(facts, hit.log);
      const command = `${APPLY} && serving verify --only prefix-reuse`;
      if (server.settings?.prefixCaching === false)
        return {
          cause: "Prefix caching is off: the server computes every turn of an agent anew.",
          evidence: hit.line,
          edits: [server.set(["prefixCaching"], true)],
          advice: "It decides between a working agent loop and a very slow one.",
          command,
        };
      // The probe's own prompts hold no hash.
      if (hit === probed) return undefined;
      return {
        cause:
          "No prompt begins like an earlier one: a client puts a hash of its own into each system prompt.",
        evidence: hit.line,
        edits: [withoutHeader(facts)],
        advice:
          "vLLM 0.19.1 and later drop the header on /v1/messages where the system prompt is a list of blocks. A prompt shorter than a block of a hybrid model never hits.",
        command,
      };
    },
  },
];
