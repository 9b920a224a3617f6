import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { makesTemplate, templateArgument } from "../../../components/inference-server/chatTemplate";
import { machineOf, planned, resultOf, run } from "../../cli/verify/environment";
import { BRIDGE } from "../../fixtures/services";
import { freePort } from "../../layers/freePort";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { watchEgress } from "../egress";
import { startLitellm } from "../litellm";
import { type Engine, installEngine, type RunningEngine, serveEngine } from "./engine";
import { told } from "./told";

/** Installing an engine, its first start on a busy machine, and the run. */
const START_MS = 2_400_000;
const REQUEST_SECONDS = 300;
const WINDOW = 65_536;

/**
 * The hybrid one has experts, and the default stack's backend takes only quantized ones. Without a
 * block size of the user's vLLM for CPUs puts its own default back after the start, and the
 * scheduler ends its chunks there (decision 22).
 */
const MODELS = [
  ["dense", []],
  ["hybrid", ["--moe-backend", "auto", "--block-size", "128"]],
] as const;

/** What each path finds of the second call's prompt, in percent. */
const NATIVE_ANEW = {
  undefined: /but with a new system element .* \d % of/,
  tolerant: /tool_use block\); 9\d % of/,
};
const RUNS = ["0.30.0", "0.32.0"].flatMap((version) =>
  MODELS.flatMap(([model, args]) =>
    ([undefined, "tolerant"] as const).map((chatTemplate) => ({
      version,
      model,
      args,
      chatTemplate,
    })),
  ),
) as readonly {
  readonly version: "0.30.0" | "0.32.0";
  readonly model: "dense" | "hybrid";
  readonly args: readonly string[];
  readonly chatTemplate: keyof typeof NATIVE_ANEW | undefined;
}[];

/**
 * Turns of an agent with an element of role system behind each kind of turn, and the prompt that
 * they become.
 */
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
  said(
    "assistant",
    "a1<tool_call>\n<function=ls>\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>",
  ),
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

describe.each(RUNS)(
  "vLLM $version, $model, chatTemplate $chatTemplate",
  ({ version, model, args, chatTemplate }) => {
    let engine: Engine;
    let server: RunningEngine;
    const settings = {
      model: { id: `rig/${model}`, family: "qwen3", thinking: true },
      servedModelName: model,
      maxModelLen: WINDOW,
      chatTemplate,
    };
    const template = templateArgument({ chatTemplate }) ?? "";

    beforeAll(async () => {
      engine = await installEngine(version);
      const given = chatTemplate === undefined ? [] : ["--chat-template", template];
      const of = machineOf(planned(1, settings)).inferenceServers[0];
      expect(of?.container.command.join(" ").includes(given.join(" "))).toBe(true);
      // What the container's first process does; its gate then runs vLLM.
      const first = `vllm=$1; shift 2; ${makesTemplate({ chatTemplate })}exec "$vllm" serve "$@"`;
      server = await serveEngine(engine, {
        model: `rig/${model}`,
        args: ["--served-model-name", model, "--max-model-len", String(WINDOW), ...args, ...given],
        env: { PATH: `${dirname(engine.path)}:${process.env.PATH}` },
        before: ["sh", "-c", first, "b"],
      });
    }, START_MS);

    afterAll(async () => {
      server?.stop();
      await server?.ended;
      engine?.remove();
    });

    it("finds an agent's last prompt again, on both paths and in a chat", {
      timeout: START_MS,
    }, async ({ skip }) => {
      const { litellm } = inject("programs");
      if ("missing" in litellm) return skip(litellm.missing);
      const bridge = { ...BRIDGE, port: await freePort() };
      const plan = planned(server.port, settings, { bridge, clients: { claudeCode: {} } });
      const egress = await watchEgress();
      const proxy = await startLitellm(
        litellm.path,
        machineOf(plan),
        temporaryFolder("litellm-"),
        egress,
      );
      try {
        const only = [
          "prefix-reuse",
          "native-messages-path",
          "bridge-prefix-reuse",
          "chat-tools",
          "messages-tools",
        ];
        const results = await run(plan, { only, timeoutSeconds: REQUEST_SECONDS });
        console.log(
          results
            .map(({ name, detail }) => `${version} ${model} ${chatTemplate} ${name}: ${detail}`)
            .join("\n"),
        );
        expect(results.map(({ name, status }) => `${name}: ${status}`)).toEqual(
          results.map(({ name }) => `${name}: pass`),
        );
        const share = /^9\d % of the second call's prompt came from the cache|^100 %/;
        expect(resultOf(results, "prefix-reuse").detail).toMatch(share);
        expect(resultOf(results, "bridge-prefix-reuse").detail).toMatch(share);
        expect(resultOf(results, "native-messages-path").detail).toMatch(
          NATIVE_ANEW[chatTemplate ?? "undefined"],
        );
      } finally {
        await proxy.stop();
        await egress.close();
      }
    });

    it.runIf(chatTemplate === "tolerant")(
      "is the model's own template in all else, with system turns behind others",
      () => {
        const python = join(dirname(engine.path), "python3");
        const rendered = (file: string, turns: readonly object[]) =>
          execFileSync(python, ["-c", RENDER, file, JSON.stringify(turns)], { encoding: "utf8" });
        expect(rendered(template, TURNS)).toBe(PROMPT);
        const plain = TURNS.filter(({ role }, index) => role !== "system" || index === 0);
        const own = join(
          engine.home,
          `hub/models--rig--${model}/snapshots`,
          "0".repeat(40),
          "chat_template.jinja",
        );
        expect(rendered(template, plain)).toBe(rendered(own, plain));
        expect(() => rendered(own, TURNS)).toThrow(/System message must be at the beginning/);
        expect(readFileSync(template, "utf8").endsWith(readFileSync(own, "utf8"))).toBe(true);
      },
    );

    it("leaves nothing in the log that doctor takes for trouble", async () => {
      expect(await told(server.log())).toEqual([]);
    });
  },
);
