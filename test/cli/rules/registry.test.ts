import { objectOr } from "@local-serving/base/faults/json";
import { describe, expect, it } from "vitest";
import { RULES, SIGNS } from "../../../cli/rules/registry";
import { reportsOf } from "../../../cli/rules/report";
import { scanLog } from "../../../cli/sees/log/scanLog";
import schema from "../../../docs/reference/stack-file.schema.json";
import { stackOf, withMachine, withServer } from "../doctor/stack";

const MACHINES = schema.properties.config.properties["local-serving:machines"].additionalProperties;
const SERVERS = MACHINES.properties.inferenceServers.additionalProperties;
const OTHERS = [
  "key",
  "container",
  "model",
  "bridge",
  "caught",
  "familyParser",
  "drafts",
  "fixedCache",
  "seeTheLink",
  "notOurFile",
  "template",
  "current",
  "pinNewer",
];

/** Whether the stack file may have this key. */
function isKey(at: unknown, [key, ...below]: readonly string[]): boolean {
  if (key === undefined) return true;
  const { properties, additionalProperties, anyOf } = objectOr(at);
  const inner = objectOr(properties)[key] ?? additionalProperties;
  if (typeof inner === "object" && isKey(inner, below)) return true;
  return Array.isArray(anyOf) && anyOf.some((each) => isKey(each, [key, ...below]));
}

function isName(name: string, groups: number): boolean {
  const [first = "", ...path] = name.split(".");
  if (first === "server") return isKey(SERVERS, path);
  if (first === "machine") return isKey(MACHINES, path);
  return (
    path.length === 0 && (OTHERS.includes(name) || (Number(name) >= 1 && Number(name) <= groups))
  );
}

const rows = RULES.flatMap(({ id, line }) => (line === undefined ? [] : [{ id, ...line }]));

async function diagnosed(line: string, text: string) {
  const log = await scanLog({ name: "a log", kind: "file" }, [`${line}\n`], SIGNS);
  return reportsOf({ logs: [log], stack: stackOf(text) });
}

it("a rule explains only other rules", () => {
  const ids = RULES.map(({ id }) => id);
  const wrong = RULES.map(({ id, explains }) =>
    explains.filter((each) => each === id || !ids.includes(each)),
  );
  expect(wrong.flat()).toEqual([]);
});

const KEYED = withMachine(
  ["bridge.image", `litellm@sha256:${"ab".repeat(32)}`],
  ["bridge.keyVariable", "BRIDGE_KEY"],
);

describe("a rule that rules.yaml tells as a whole", () => {
  it.each(rows)("$id names what there is", ({ pattern = "", cases, set, ...words }) => {
    const groups = (new RegExp(`${pattern}|`).exec("")?.length ?? 0) - 1;
    const texts = JSON.stringify([words, set, cases]);
    const named = [...texts.matchAll(/\{\{(.*?)(?:\|.*?)?\}\}/g)].map(([, name = ""]) => name);
    const asked = cases.flatMap(({ where }) => where ?? []);
    expect([...named, ...asked].filter((name) => !isName(name, groups))).toEqual([]);
    const paths = [{ set }, ...cases].flatMap((each) => Object.keys(each.set ?? {}));
    expect(paths.filter((path) => !isKey(SERVERS, path.split(".")))).toEqual([]);
    // Something is said in any case, and no case comes after the one that always applies.
    expect(cases.map(({ where }) => where === undefined)).toEqual(
      cases.map((_, at) => at === cases.length - 1),
    );
    for (const each of cases.length === 0 ? [{}] : cases)
      expect({ ...words, ...each }.cause).toMatch(/\.$/);
  });

  it.each([
    [
      "Insufficient space in /dev/shm",
      withServer(),
      { cause: /^Shared memory \(\/dev\/shm\), through which/ },
    ],
    ["No space left on device", withServer(), { cause: /^A disk is full/ }],
    [
      "max_num_seqs (16) exceeds available Mamba cache blocks (0)",
      withServer(),
      { cause: /^Each of 16 sequences .* only 0\.$/, change: /^There is no block at all/ },
    ],
    [
      "invalid reasoning parser: qwen4 (chose from { a })",
      withServer(["reasoningParser", "deepseek_r1"]),
      {
        cause: /^vLLM has no reasoning parser called qwen4\.$/,
        change: /^\+ +reasoningParser: auto$/m,
      },
    ],
    [
      "Reasoning parser 'qwen4' not found",
      withServer(["reasoningParser", "deepseek_r1"]),
      {
        cause: /^vLLM has no reasoning parser called qwen4\.$/,
        change: /^\+ +reasoningParser: auto$/m,
      },
    ],
    [
      "error: argument --kv-cache-dtype: invalid choice: 'x'",
      withServer(),
      {
        cause: /the value of --kv-cache-dtype\.$/,
        change: /correct the setting of inferenceServers\.b, or/,
      },
    ],
    [
      "Error code: 400 unknown field thinking",
      withMachine(["harness.home", "/srv/hx"]),
      { command: /check providers \/srv\/hx\/providers\.toml --probe$/ },
    ],
    [
      "Error code: 400 unknown field thinking",
      withServer(),
      {
        cause: /refuses `thinking`, one of/,
        command: /check providers ~\/\.hx\/providers\.toml --probe$/,
      },
    ],
    [
      "LiteLLM proxy refused to start: no master key",
      KEYED,
      {
        change: /its key comes from BRIDGE_KEY, which/,
        command: /^test -n "\$BRIDGE_KEY" && serving up$/,
      },
    ],
    [
      "LiteLLM proxy refused to start: no master key",
      withServer(),
      { change: /^No setting to change: give LiteLLM a key/, command: /^echo "sk-\$\(openssl/ },
    ],
    [
      "No deployments available for selected model",
      KEYED,
      { command: /^serving up && docker restart litellm-8787$/ },
    ],
    [
      "No deployments available for selected model",
      withServer(),
      { command: /docker restart <bridge>$/ },
    ],
  ])("chooses its words by what has a value: %s", async (line, text, said) => {
    const [report] = await diagnosed(line, text);
    for (const [of, words] of Object.entries(said))
      expect(report?.[of as keyof typeof report]).toMatch(words);
  });
});
