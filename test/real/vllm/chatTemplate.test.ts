import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makesTemplate, templateArgument } from "../../../components/inference-server/chatTemplate";
import type { ProbeResult } from "../../../operate/verify/probe";
import { planned, run } from "../../operate/verify/environment";
import { ENGINE_VERSIONS, type Engine, installEngine, type RunningEngine, serveEngine } from "./engine";
import { told } from "./told";

/** Installing an engine, its first start on a busy machine, and the run. */
const START_MS = 2_400_000;
const REQUEST_SECONDS = 300;
const WINDOW = 65_536;

const settings = {
  model: { id: "rig/dense", family: "qwen3", thinking: true },
  servedModelName: "dense",
  maxModelLen: WINDOW,
  chatTemplate: "tolerant",
};

/** Turns of an agent with an element of role system behind each kind of turn, and the prompt that they become. */
const CALL = { function: { name: "ls", arguments: { path: "/" } } };
const TURNS = [
  { role: "system", content: "S" },
  { role: "user", content: "u1" },
  { role: "system", content: [{ type: "text", text: "r1" }] },
  { role: "assistant", content: "a1", tool_calls: [CALL] },
  { role: "tool", content: [{ type: "text", text: "t1" }] },
  { role: "system", content: "r2" },
  { role: "assistant", content: "a2" },
  { role: "system", content: "r3" },
];
const reminder = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;
const said = (role: string, text: string) => `<|im_start|>${role}\n${text}<|im_end|>\n`;
const PROMPT = [
  said("system", "S"),
  said("user", `u1\n\n${reminder("r1")}`),
  said("assistant", "a1<tool_call>\n<function=ls>\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>"),
  said("user", `<tool_response>\nt1${reminder("r2")}\n</tool_response>`),
  said("assistant", "a2"),
  said("user", reminder("r3")),
].join("");
/** As vLLM renders it. */
const RENDER = `import json, sys
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
def refused(text): raise ValueError(text)
jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
jinja.globals["raise_exception"] = refused
print(jinja.from_string(open(sys.argv[1]).read()).render(messages=json.loads(sys.argv[2])), end="")`;

describe.each(ENGINE_VERSIONS)("`chatTemplate: tolerant` on the real vLLM %s", (version) => {
  let engine: Engine;
  let server: RunningEngine;
  let results: readonly ProbeResult[];
  let template: string;

  beforeAll(async () => {
    engine = await installEngine(version);
    const plan = planned(1, settings);
    const of = plan.machines[0]?.inferenceServers[0];
    const own = { chatTemplate: "tolerant" };
    template = templateArgument(own) ?? "";
    expect(of?.container.command).toContain(template);
    // What the container's first process does; its gate then runs vLLM.
    const first = `vllm=$1; shift 2; ${makesTemplate(own)}exec "$vllm" serve "$@"`;
    const args = ["--served-model-name", "dense", "--max-model-len", String(WINDOW), "--chat-template", template];
    const env = { PATH: `${dirname(engine.path)}:${process.env.PATH}` };
    server = await serveEngine(engine, { args, env, before: ["sh", "-c", first, "b"] });
    results = await run(planned(server.port, settings), {
      only: ["chat-tools", "messages-tools", "native-messages-path", "prefix-reuse"],
      timeoutSeconds: REQUEST_SECONDS,
    });
  }, START_MS);

  afterAll(async () => {
    server?.stop();
    await server?.ended;
    engine?.remove();
  });

  it("is the model's own in all else, and puts a system element behind the turn before", () => {
    const python = join(dirname(engine.path), "python3");
    const rendered = (file: string, turns: readonly object[]) =>
      execFileSync(python, ["-c", RENDER, file, JSON.stringify(turns)], { encoding: "utf8" });
    expect(rendered(template, TURNS)).toBe(PROMPT);
    const plain = TURNS.filter(({ role }, index) => role !== "system" || index === 0);
    const own = join(engine.home, "hub/models--rig--dense/snapshots", "0".repeat(40), "chat_template.jinja");
    expect(rendered(template, plain)).toBe(rendered(own, plain));
    expect(() => rendered(own, TURNS)).toThrow(/System message must be at the beginning/);
    expect(readFileSync(template, "utf8").endsWith(readFileSync(own, "utf8"))).toBe(true);
  });

  it("lets an agent find its prefix again natively, with a new system element", () => {
    console.log(results.map(({ name, status, detail }) => `${version} ${name}: ${status}, ${detail}`).join("\n"));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => "pass"));
    const native = results.find(({ name }) => name === "native-messages-path")?.detail;
    expect(native).toMatch(/^PASS \(5 of 5 runs with a tool_use block\); 9\d % of the second call's prompt came from/);
  });

  it("leaves nothing in the log that doctor takes for trouble", async () => {
    expect(await told(server.log())).toEqual([]);
    expect(server.log()).not.toContain("merged into the leading system prompt");
  });
});
