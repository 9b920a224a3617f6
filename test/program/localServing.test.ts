import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ComponentResource, log, output, runtime, secret, unknown } from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LocalServing, type LocalServingArgs, Serving } from "../../components/program";
import { declareMachines } from "../../components/program/declareMachines";
import { knownSettings } from "../../components/program/knownSettings";
import { ELSEWHERE, stack, stackInput } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";
import { record } from "./record";

const machinesOf = (machine: Record<string, unknown> = {}, server: Record<string, unknown> = {}) =>
  stackInput({ dockerHost: ELSEWHERE, ...machine }, server).machines;
const AGGREGATE =
  "aggregate-utilization: The servers of dgx claim 0.91 of its memory, and 0.90 is the limit. ";

describe("LocalServing in somebody's program", () => {
  const said: string[] = [];
  beforeEach(() => {
    said.length = 0;
    vi.spyOn(log, "warn").mockImplementation(async (message) => void said.push(message));
    vi.spyOn(log, "info").mockImplementation(async () => undefined);
    vi.stubEnv("PATH", "");
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  /** Why an update with these arguments is refused, or what its component is registered with. */
  async function answer(args: LocalServingArgs, preview = false): Promise<unknown> {
    let told: unknown;
    const recorded = await record(async () => {
      vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
      told = await new Serving("serving", args).inputs.settings.catch(
        ({ message }: Error) => message,
      );
    });
    expect(recorded).toEqual([]);
    return told;
  }

  it("declares below itself what the stack file's own program declares", async () => {
    const own = await record(() => declareMachines(stack({ dockerHost: ELSEWHERE })));
    const theirs = await record(() => new LocalServing("serving", { settings: machinesOf() }));
    const [component, ...rest] = theirs;
    expect(component).toEqual({
      type: "local-serving:index:LocalServing",
      name: "serving",
      inputs: { settings: machinesOf() },
    });
    expect(rest).toEqual(own);
  });

  it("gives endpoints, memory and clients by machine", async () => {
    let outputs: unknown;
    await record(async () => {
      const settings = machinesOf({ clients: { codex: { via: "native" } } });
      const { endpoints, memory, clients } = new LocalServing("serving", { settings });
      outputs = await new Promise((resolve) =>
        output({ endpoints, memory, clients }).apply(resolve),
      );
    });
    expect(outputs).toMatchObject({
      endpoints: { dgx: { b: "http://127.0.0.1:8001/v1" } },
      memory: { dgx: { totalGiB: 121.63, aggregateUtilization: 0.9, aggregateLimit: 0.9 } },
      clients: { dgx: { codex: expect.stringContaining("codex") } },
    });
  });

  it("refuses an update by its policies before anything is registered", async () => {
    const settings = machinesOf({}, { gpuMemoryUtilization: 0.46 });
    expect(String(await answer({ settings })).split("\n")).toEqual([
      "Refused, and nothing of LocalServing `serving` was changed:",
      expect.stringContaining(AGGREGATE),
      "- preflight of dgx: There is no `ssh` on PATH to reach dgx: install the OpenSSH client. In the settings: `settings.dgx.dockerHost`.",
    ]);
    expect(await answer({ settings })).toContain(
      " In the settings: `settings.dgx.inferenceServers.b.gpuMemoryUtilization: 0.45`.",
    );
  });

  it("advises commands that run in a program's folder", async () => {
    const settings = machinesOf({}, { image: "vllm/vllm-openai:v0.30.0" });
    expect(await answer({ settings })).toContain(
      " `npx --no -- serving pin vllm/vllm-openai:v0.30.0` finds the digest and the versions inside. ",
    );
    await answer({ settings: machinesOf() }, true);
    expect(said.join("\n")).toContain(
      "put it into models/org--model/. A plan made on the machine itself reads that cache.",
    );
  });

  it("shows all of a preview that it refuses, which then fails", async () => {
    const settings = machinesOf({}, { gpuMemoryUtilization: 0.46 });
    let failed: unknown;
    const recorded = await record(async () => {
      vi.spyOn(runtime, "isDryRun").mockReturnValue(true);
      const parent = new ComponentResource("test:index:Parent", "parent");
      failed = await new Serving("serving", { settings })
        .declareBelow(parent)
        .catch(({ message }: Error) => message);
    });
    expect(failed).toContain(
      `Refused, and nothing of LocalServing \`serving\` was changed:\n- ${AGGREGATE}`,
    );
    expect(recorded.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["dgx", "dgx-b", "dgx-applied-plan"]),
    );
    const { inputs } = recorded.find(({ name }) => name === "dgx") ?? {};
    expect(inputs?.refused).toEqual(["aggregate-utilization dgx"]);
    expect(said.join("\n")).not.toContain(AGGREGATE);
  });

  it("tells every fault at once, each with its path", async () => {
    const { totalGiB: _, ...machine } = machinesOf().dgx;
    const settings = { dgx: { ...machine, totalGB: 3, inferenceServers: { b: { port: 80 } } } };
    const told = String(await answer({ settings })).split("\n");
    expect(told[0]).toMatch(/^settings of serving: \d+ faults$/);
    expect(told).toEqual(
      expect.arrayContaining([
        "  settings.dgx.totalGB: Unknown key `totalGB`. Did you mean `totalGiB`?",
        expect.stringMatching(/^ {2}settings\.dgx\.inferenceServers\.b\.model: /),
      ]),
    );
    for (const line of told.slice(1)) expect(line).toMatch(/^ {2}settings\./);
  });

  it.each([
    [{}, "settings of serving: 1 fault\n  settings: At least one machine is needed"],
    [[], "settings of serving: 1 fault\n  settings: Expected a map, got a list."],
    ["dgx", "settings of serving: 1 fault\n  settings: Expected a map, got text"],
  ])("refuses %j for settings", async (settings, told) => {
    expect(await answer({ settings: settings as LocalServingArgs["settings"] })).toContain(told);
  });

  it("tells a fault of the plan by the program's path", async () => {
    const model = { id: "openai/gpt-oss-20b", family: "qwen3" };
    expect(await answer({ settings: machinesOf({}, { model }) })).toMatch(
      /^settings of serving: 1 fault\n {2}settings\.dgx\.inferenceServers\.b\.model\.family: `family: qwen3` is declared, but /,
    );
  });

  it("takes outputs and promises whose values are known, and no key without a value", async () => {
    const settings = output({
      dgx: { ...machinesOf().dgx, totalGiB: output(121.63), home: undefined },
    });
    const given = Promise.resolve({ dgx: settings.dgx });
    expect(await answer({ settings: given }, true)).toEqual(machinesOf());
  });

  it("refuses what isn't known at preview, and secrets, by path and without their values", async () => {
    const told = String(
      await answer({
        settings: {
          dgx: {
            ...machinesOf().dgx,
            network: output(unknown),
            dockerHost: unknown,
            inferenceServers: { b: { aliases: ["a", secret("s3cret")] } },
          },
        },
      }),
    );
    const unknownYet =
      "This value isn't known at preview, but all settings are checked before the first resource: give a plain value, or one from the stack's configuration.";
    expect(told.split("\n")).toEqual([
      "settings of serving: 3 faults",
      "  settings.dgx.inferenceServers.b.aliases.1: This is a Pulumi secret, and plans, files and `docker inspect` would show its value. Give a plain value, or the name of a variable if a setting takes one (`huggingFaceTokenVariable`, `keyVariable`).",
      `  settings.dgx.dockerHost: ${unknownYet}`,
      `  settings.dgx.network: ${unknownYet}`,
    ]);
    expect(told).not.toContain("s3cret");
    expect(await answer({ settings: secret({}) })).toContain(
      "\n  settings: This is a Pulumi secret",
    );
  });

  const CIRCLE = "This value contains itself. Settings are plain data, as in a stack file.";
  const circle: Record<string, unknown> = {};
  circle.again = circle;
  const list: unknown[] = [];
  list.push(list);
  it.each([
    ["a map", { dgx: circle }, "settings.dgx.again"],
    [
      "a list",
      { dgx: { inferenceServers: { b: { aliases: list } } } },
      "settings.dgx.inferenceServers.b.aliases.0",
    ],
    ["a map behind a promise", { dgx: { b: Promise.resolve(circle) } }, "settings.dgx.b.again"],
  ])("refuses %s that contains itself", async (_, settings, path) => {
    expect(await answer({ settings })).toBe(`settings of serving: 1 fault\n  ${path}: ${CIRCLE}`);
  });

  it("refuses settings that grow with each level, and takes one object in two places", async () => {
    let grown: unknown = "x";
    for (let level = 0; level < 40; level++) grown = [grown, grown];
    expect(await answer({ settings: { dgx: { a: grown } as object } })).toContain(
      "The settings hold more than 10000 values; those of a machine have a few hundred.",
    );
    const same = { A: "1" };
    const twice = { one: same, other: [same, { same }] };
    expect(await knownSettings("settings", twice)).toEqual(twice);
  });

  it("leaves the failure of a promise of the program as it is", async () => {
    const failed = new Error("required output 'share' does not exist on stack 'base'");
    const { stack } = failed;
    const fails = () => Promise.reject(failed);
    expect(await answer({ settings: fails() }, true)).toBe(failed.message);
    const settings = machinesOf({}, { gpuMemoryUtilization: fails() });
    expect(await answer({ settings }, true)).toBe(failed.message);
    expect(failed.stack).toBe(stack);
  });

  it("refuses a second component of the program that is about the same machine", async () => {
    const told: string[] = [];
    const recorded = await record(async () => {
      const dgx2 = machinesOf().dgx;
      for (const [name, settings] of [
        ["first", machinesOf()],
        ["again", machinesOf()],
        ["second", { dgx2 }],
        ["third", { dgx3: { ...dgx2, dockerHost: "ssh://me@dgx3" } }],
      ] as const) {
        const serving = new Serving(name, { settings });
        vi.spyOn(runtime, "isDryRun").mockReturnValue(true);
        told.push(
          await serving.inputs.settings.then(
            () => `${name} is fine`,
            ({ message }: Error) => message,
          ),
        );
      }
    });
    expect(recorded).toEqual([]);
    expect(told).toEqual([
      "first is fine",
      "settings of again: 1 fault\n  settings.dgx: LocalServing `first` in this program also declares a machine `dgx`: rename one of them.",
      "settings of second: 1 fault\n  settings.dgx2.dockerHost: dgx2 and dgx are on one Docker engine (ssh://me@dgx), so they are one machine with one memory: put their servers below one of them, or give each its own `dockerHost`.",
      "third is fine",
    ]);
  });

  describe("beside files of the program", () => {
    const files = (folder: string, levels: string) => {
      mkdirSync(join(folder, "policies"), { recursive: true });
      writeFileSync(join(folder, "policies/levels.json"), levels);
    };
    it("reads them in `baseDirectory`, and else in the project's folder", async () => {
      const folder = temporaryFolder("program-");
      files(folder, "{");
      const here = process.cwd();
      const settings = machinesOf();
      expect(await answer({ settings, baseDirectory: folder }, true)).toContain(
        join(folder, "policies/levels.json"),
      );
      // Under mocks the project's folder is no path, as in a plugin.
      expect(await answer({ settings }, true)).toEqual(settings);
      expect(await answer({ settings, baseDirectory: "sub" }, true)).toBe(
        "LocalServing serving: 1 fault\n  baseDirectory: Expected an absolute path: a plugin or an inline program doesn't know the project's folder. In YAML it is `pulumi.cwd`, in Python `os.getcwd()`, in TypeScript `__dirname`.",
      );
      expect(process.cwd()).toBe(here);
    });
  });
});
