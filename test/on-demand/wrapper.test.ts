import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REDACTED, redactSecrets, withoutKeys } from "@local-serving/base/faults/secrets";
import { beforeAll, describe, expect, it } from "vitest";
import { wrapperText } from "../../components/services/on-demand/wrapperText";
import { BAD, BODY, GOOD, SERVICE_KEYS } from "../../packages/base/test/faults/secretCorpus";
import { temporaryFolder } from "../layers/temporaryFolder";

/** As it is written on a machine. */
const WRAPPER = join(temporaryFolder("wrapper-"), "on-demand.py");
writeFileSync(WRAPPER, wrapperText());

/** Calls functions of the wrapper, each with its arguments, and prints what they return. */
const CALLS = `
import json, runpy, sys
names = runpy.run_path(sys.argv[1])
def value(each):
    return set(each["set"]) if isinstance(each, dict) and "set" in each else each
print(json.dumps([names[name](*map(value, given)) for name, *given in json.load(sys.stdin)], default=str))
`;
const SETS = [["a", "b"], ["a", "d"], ["b", "d"], ["c"]];

/** Declares a test for each case; all are asked in one run of Python. */
function declare(cases: readonly (readonly [string, readonly unknown[], unknown])[]): void {
  let found: unknown[] = [];
  beforeAll(() => {
    found = results(...cases.map(([, call]) => call));
  });
  it.each(cases.map(([name, , expected], index) => [name, index, expected] as const))(
    "%s",
    (_, index, expected) => {
      expect(found[index]).toEqual(expected);
    },
  );
}

function results(...calls: readonly (readonly unknown[])[]): unknown[] {
  const ran = spawnSync("python3", ["-I", "-c", CALLS, WRAPPER], { input: JSON.stringify(calls) });
  if (ran.status !== 0) throw new Error(String(ran.stderr));
  return JSON.parse(String(ran.stdout)) as unknown[];
}

/** As `Machine.seen` says it. */
const seen = ({
  running = [],
  states = {},
  marks = {},
  named = Object.keys(states),
}: {
  readonly running?: readonly string[];
  readonly states?: Readonly<Record<string, string>>;
  readonly marks?: Readonly<Record<string, unknown>>;
  readonly named?: readonly string[];
}) => ({ running, states, named, marks });

const decide = (own: string, found: Parameters<typeof seen>[0], failed: unknown = null) =>
  ["decide", own, SETS, seen(found), failed] as const;
const care = (found: Parameters<typeof seen>[0], look = false) =>
  ["care", SETS, seen(found), 100, look] as const;
const mark = (container: string, due: number, more = {}) => ({
  [container]: { container, due, ...more },
});

describe("what docker refuses", () => {
  const refused = "Error response from daemon: no such image: x";
  it.each([
    ["27", `${refused}\nError: failed to start containers: b`],
    ["28", `${refused}\nfailed to start containers: b`],
    ["29", `docker: ${refused}\n\nRun 'docker run --help' for more information`],
  ])("is its reason by client %s", (_, said) => {
    const bin = temporaryFolder("docker-");
    writeFileSync(join(bin, "said"), said);
    const docker = `#!/bin/sh\ncat ${bin}/said >&2\nexit 1\n`;
    writeFileSync(join(bin, "docker"), docker, { mode: 0o755 });
    const call = `
import runpy, sys
names = runpy.run_path(sys.argv[1])
try:
    names["docker"]("start", "b")
except names["Fault"] as fault:
    print(fault)
`;
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const ran = spawnSync("python3", ["-I", "-c", call, WRAPPER], { env, encoding: "utf8" });
    expect(ran.stdout.replace("docker: ", "")).toBe(`${refused}\n`);
  });
});

describe("what a start decides", () => {
  const starts = { c: "starting" };
  const stopping = mark("c", 0, { stopping: true });
  const failed = { sentence: "c did not start: it is so" };
  declare([
    ["nothing runs", decide("c", { states: starts }), { take: false, stops: [] }],
    [
      "others were let go: those without room are stopped",
      decide("b", { states: { b: "starting" }, running: ["c", "a"] }),
      { take: false, stops: ["c"] },
    ],
    [
      "one that llama-swap has is not stopped",
      decide("b", { states: { a: "ready", b: "starting" }, running: ["a", "d"] }),
      { take: false, stops: ["d"] },
    ],
    [
      "a container that no set knows is stopped",
      decide("c", { states: starts, running: ["old"] }),
      { take: false, stops: ["old"] },
    ],
    [
      "its container runs",
      decide("c", { states: starts, running: ["c"] }),
      { take: true, stops: [] },
    ],
    [
      "its container runs and answered before the start looked",
      decide("c", { states: { c: "ready" }, running: ["c"] }),
      { take: true, stops: [] },
    ],
    [
      "its container is being stopped",
      decide("c", { states: starts, running: ["c"], marks: stopping }),
      { take: false, stops: ["c"] },
    ],
    [
      "its container answered while it was being stopped",
      decide("c", { states: { c: "ready" }, running: ["c"], marks: stopping }),
      { end: "llama-swap does not start it any more" },
    ],
    [
      "llama-swap no longer wants it",
      decide("c", { running: ["a"] }),
      { end: "llama-swap does not start it any more" },
    ],
    [
      "it failed lately: nothing is stopped",
      decide("c", { states: starts, running: ["a"] }, failed),
      { refuse: failed.sentence },
    ],
    [
      "it failed lately, and somebody started it by hand",
      decide("c", { states: starts, running: ["c"] }, failed),
      { take: true, stops: [] },
    ],
    [
      "llama-swap has others that it doesn't run with",
      decide("c", { states: { ...starts, a: "ready", b: "ready" }, running: ["a", "b"] }),
      { refuse: "it has no room beside a and b" },
    ],
  ]);
});

describe("what is cared for each second", () => {
  const nothing = { stop: [], ask: [], orphans: [], forget: [] };
  declare([
    ["nothing was let go", care({ running: ["a"] }), nothing],
    ["let go just now", care({ running: ["a"], marks: mark("a", 101) }), nothing],
    [
      "let go, and nobody took it",
      care({ running: ["a"], marks: mark("a", 100) }),
      { ...nothing, stop: ["a"] },
    ],
    [
      "let go, and its next start waits",
      care({ running: ["a"], marks: mark("a", 100), states: { a: "starting" } }),
      nothing,
    ],
    ["it ended by itself", care({ marks: mark("a", 100) }), { ...nothing, forget: ["a"] }],
    [
      "asked back",
      care({
        running: ["a", "b"],
        marks: { ...mark("a", 130, { back: true }), ...mark("b", 130, { back: true }) },
      }),
      { ...nothing, ask: ["a", "b"] },
    ],
    [
      "asked back where another starts meanwhile",
      care({ running: ["a"], marks: mark("a", 130, { back: true }), states: { c: "starting" } }),
      nothing,
    ],
    [
      "a look: two that nobody knows, one of which has room",
      care({ running: ["a", "b", "c"], states: { a: "ready" } }, true),
      { ...nothing, stop: ["c"], ask: ["b"], orphans: ["b", "c"] },
    ],
  ]);
});

describe("what clients are told", () => {
  it("the telling line is neither the last nor one that says no more than that there was an error", () => {
    const log = [
      "INFO 01-02 03:04:05 loading",
      "\u001b[31mtorch.OutOfMemoryError: CUDA out of memory\u001b[0m",
      "RuntimeError: Engine core initialization failed. See root cause above.",
      "EngineDeadError: EngineCore encountered an issue.",
      "start gate: vLLM ended after 41 s, with code 1",
      "",
    ].join("\n");
    expect(
      results(["telling_line", log], ["telling_line", "one\ntwo\n"], ["telling_line", ""]),
    ).toEqual(["torch.OutOfMemoryError: CUDA out of memory", "two", "its log is empty"]);
    const [long] = results(["telling_line", `error ${"x".repeat(400)}`]);
    expect(String(long)).toHaveLength(300);
  });

  it("no secret is in it", () => {
    const lines = [
      "args: {'api_key': 'abcd1234', 'port': 8001}",
      "--api-key s3cr3t-value --port 8001",
      "Authorization: Bearer abc.def",
      "got hf_abcdefgh1234 from the hub",
      "KeyError: 'x', the number of tokens that fit: max_tokens=8192",
      "the value is plain-value here",
    ];
    const calls = lines.map((line) => ["without_secrets", line, ["plain-value", ""]]);
    expect(results(...calls)).toEqual([
      "args: {'api_key': '***', 'port': 8001}",
      "--api-key *** --port 8001",
      "Authorization: Bearer ***",
      "got *** from the hub",
      "KeyError: 'x', the number of tokens that fit: max_tokens=8192",
      "the value is *** here",
    ]);
  });

  it("nothing of the table of secrets is in it, and all else is as it was", () => {
    const keys = SERVICE_KEYS.flat().map((key) => `text ${key}, and more`);
    const texts = [...keys, ...BAD.map(([text]) => text), ...GOOD];
    const found = results(...texts.map((text) => ["without_secrets", text]));
    expect(found).toEqual(texts.map((text) => redactSecrets(text).replaceAll(REDACTED, "***")));
    for (const [index, [, secret]] of BAD.entries())
      expect(found[keys.length + index]).not.toContain(secret);
  });

  it("is the wrapper's whole text, which a plan shows as it is", () => {
    expect(withoutKeys(wrapperText())).toBe(wrapperText());
  });

  it("no line of a private key is, no key behind a colour, and none that Docker says", () => {
    const log = `error: failed\n-----BEGIN PRIVATE KEY-----\n${BODY}${BODY}\n-----END PRIVATE KEY-----\n`;
    expect(
      results(
        ["without_secrets", log],
        ["without_secrets", log.slice(42)],
        ["without_secrets", `\u001b[31mhf_${BODY}\u001b[0m failed`],
        ["Fault", "http://u:hunter2@proxy refused"],
      ),
    ).toEqual(["error: failed\n***\n", "***-----\n", "*** failed", "http://u:***@proxy refused"]);
  });

  it("it is soon told, whatever a log holds", () => {
    const pieces = ["key=${", "tokens=[a1", "$1$", "http://a:b@", "curl -u a:", ":5432:a:b:", "M"];
    const texts = [...pieces, `${"A".repeat(64)}\n`].map((each) =>
      `${each.repeat(2 ** 16)}`.slice(0, 2 ** 16).concat(" @ private key"),
    );
    expect(results(...texts.map((text) => ["without_secrets", text]))).toHaveLength(8);
  });

  it("has the form of the interface that was asked", () => {
    const openAi = { message: "s", type: "server_error", param: null, code: "not_started" };
    expect(
      results(
        ["answer_of", "/v1/messages?beta=true", "s"],
        ["answer_of", "/v1/responses", "s"],
        ["answer_of", "/v1/chat/completions", "s"],
      ),
    ).toEqual([
      { type: "error", error: { type: "api_error", message: "s" } },
      { error: openAi },
      { error: openAi },
    ]);
  });
});

describe("the program", () => {
  const DOCKER = `#!/bin/sh
echo "$*" >>"$CALLS"
case $1 in ps) [ ! -e "$BROKEN" ] || { echo "Cannot connect to the Docker daemon" >&2; exit 1; }; echo "dgx-vllm-a
dgx-vllm-old" ;; esac
`;
  const machine = () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "docker"), DOCKER, { mode: 0o755 });
    const server = {
      key: "a",
      container: "dgx-vllm-a",
      model: "m",
      port: 1,
      graceSeconds: 60,
      idleSeconds: null,
    };
    const declared = {
      startWithinSeconds: 9,
      retryAfterSeconds: 9,
      sets: [["dgx-vllm-a"]],
      servers: [server],
    };
    writeFileSync(join(folder, "on-demand.json"), JSON.stringify(declared));
    mkdirSync(join(folder, "state/letgo"), { recursive: true });
    writeFileSync(join(folder, "state/letgo/a"), '{"container":"dgx-vllm-a","due":1}');
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      CALLS: join(folder, "calls"),
      BROKEN: join(folder, "broken"),
      LOCAL_SERVING_MACHINE: "dgx",
      LOCAL_SERVING_LISTEN: "127.0.0.1:1",
      LOCAL_SERVING_KEY_FILE: "",
      LOCAL_SERVING_STATE: join(folder, "state"),
      LOCAL_SERVING_DECLARED: join(folder, "on-demand.json"),
    };
    const act = (...words: string[]) => {
      const { status, stdout } = spawnSync("python3", ["-I", WRAPPER, ...words], { env });
      return [status, String(stdout)];
    };
    return { folder, act };
  };

  it("stop-all stops every container of the machine with its grace, and forgets what was let go", () => {
    const { folder, act } = machine();
    expect(act("stop-all")).toEqual([
      0,
      "on demand: stopped a reason=the unit starts or ends\non demand: stopped dgx-vllm-old reason=the unit starts or ends\n",
    ]);
    const [ps, ...stops] = readFileSync(join(folder, "calls"), "utf8").trim().split("\n");
    expect(ps).toBe(
      "ps --filter label=local-serving.machine=dgx --filter label=local-serving.start=onRequest --format {{.Names}}",
    );
    expect(stops.sort()).toEqual(["stop -t 60 dgx-vllm-a", "stop -t 60 dgx-vllm-old"]);
    expect(readdirSync(join(folder, "state/letgo"))).toEqual([]);
    const lines = readFileSync(join(folder, "state/swaps.jsonl"), "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      ["a", "dgx-vllm-old"].map((server) => ({
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: "stopped",
        server,
        reason: "the unit starts or ends",
      })),
    );
  });

  it("stop-all without Docker says so and lets the unit go on", () => {
    const { folder, act } = machine();
    writeFileSync(join(folder, "broken"), "");
    expect(act("stop-all")).toEqual([0, "on demand: Cannot connect to the Docker daemon\n"]);
  });

  it("keeps a thousand lines of what it did", () => {
    const { folder, act } = machine();
    writeFileSync(join(folder, "state/swaps.jsonl"), "{}\n".repeat(1000));
    act("stop-all");
    const lines = readFileSync(join(folder, "state/swaps.jsonl"), "utf8").trim().split("\n");
    expect(lines).toHaveLength(1000);
    expect(lines.at(-1)).toContain('"server": "dgx-vllm-old"');
  });

  it("says how it is used, also for a container that isn't declared", () => {
    const { act } = machine();
    const usage = [2, "on demand: on-demand.py run | start CONTAINER | stop-all\n"];
    expect([act(), act("start", "dgx-vllm-x")]).toEqual([usage, usage]);
  });

  it("is Python 3.8", () => {
    const check = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 8))";
    expect(spawnSync("python3", ["-I", "-c", check, WRAPPER]).status).toBe(0);
  });
});
