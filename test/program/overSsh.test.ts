import { SSH_OPTIONS } from "@local-serving/machines/onMachine";
import { runtime } from "@pulumi/pulumi";
import { afterEach, describe, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import { Machine } from "../../components/program/machine/machine";
import program from "../../index";
import { serverInput, stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";
import { FakeSsh } from "../layers/fakeSsh";
import { type Recorded, record } from "./record";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const simpleServer = { mode: "host", models: ["qwen3:8b"], pull: true };
const overlay = { elevate: ["sudo", "-n"], simpleServer };

async function resources(machine: Record<string, unknown>): Promise<Recorded[]> {
  vi.stubEnv("TEST_HF_TOKEN", "hf_NoArgumentMayHoldThis");
  const planned = plan(
    stack({ ...overlay, ...machine }, { huggingFaceTokenVariable: "TEST_HF_TOKEN" }),
    {
      home: "/home/me",
    },
  );
  return record(() => {
    for (const each of planned.machines)
      new Machine({ machine: each, dockerHost: each.dockerHost });
  });
}

const commandsOf = (recorded: readonly Recorded[]) =>
  recorded.filter(({ type }) => type === "command:local:Command");

describe("the program for a machine over ssh", () => {
  it("has the same resources, and runs every command of them there", async () => {
    const here = await resources({});
    const there = await resources({ dockerHost: "ssh://me@dgx" });
    const names = (recorded: readonly Recorded[]) =>
      recorded.map(({ type, name }) => `${type} ${name}`).sort();
    expect(names(there)).toEqual(names(here));
    for (const { name, inputs } of commandsOf(there)) {
      const same = commandsOf(here).find((each) => each.name === name)?.inputs ?? {};
      for (const word of ["create", "delete"]) {
        if (same[word] === undefined) expect(inputs[word]).toBeUndefined();
        else
          expect(inputs[word], `${name} ${word}`).toMatch(
            /^ssh -T -o .* -- ssh:\/\/me@dgx "\$ON_MACHINE"/,
          );
      }
      expect(inputs.environment).toMatchObject({ MACHINE: "ssh://me@dgx" });
      expect(JSON.stringify({ ...inputs, stdin: "" })).not.toContain("hf_NoArgumentMayHoldThis");
    }
  });

  it("writes the clients' files here where they are here, and moves them with `clients.on`", async () => {
    vi.stubEnv("BRIDGE_KEY", "0123456789abcdef0123456789abcdef");
    const bridge = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
    const codex = (on: string, dockerHost: string) =>
      resources({ dockerHost, bridge, clients: { on, codex: { via: "bridge" } } }).then(
        (recorded) => commandsOf(recorded).filter(({ name }) => /codex/.test(name)),
      );
    const [file, launcher, ...more] = await codex("here", "ssh://me@dgx");
    expect(more).toEqual([]);
    const local = await codex("machine", "unix:///var/run/docker.sock");
    for (const [index, { inputs }] of [file, launcher].flatMap((each) => each ?? []).entries()) {
      expect([inputs.create, inputs.delete]).toEqual([
        local[index]?.inputs.create,
        local[index]?.inputs.delete,
      ]);
      expect(inputs.environment).toEqual({
        ...(local[index]?.inputs.environment as object),
        MACHINE: "here",
      });
    }
    const [there] = await codex("machine", "ssh://me@dgx");
    expect(there?.inputs.environment).toMatchObject({ MACHINE: "ssh://me@dgx" });
  });

  it("gives Docker's provider the same options of ssh, and none to that of a machine here", async () => {
    const provider = (recorded: readonly Recorded[]) =>
      recorded.find(({ type }) => type === "pulumi:providers:docker")?.inputs;
    expect(provider(await resources({ dockerHost: "ssh://me@dgx" }))).toEqual({
      host: "ssh://me@dgx",
      sshOpts: JSON.stringify(SSH_OPTIONS),
    });
    expect(Object.keys(provider(await resources({})) ?? {})).toEqual(["host"]);
  });
});

describe("a machine that ssh doesn't reach", () => {
  const said: string[] = [];
  async function run(preview: boolean) {
    vi.stubEnv("PATH", new FakeSsh("me@dgx: Permission denied (publickey).").path);
    vi.spyOn((await import("@pulumi/pulumi")).log, "warn").mockImplementation(
      async (message) => void said.push(message),
    );
    let end: unknown;
    const recorded = await record(async () => {
      vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
      const machine = {
        totalGiB: 121.63,
        dockerHost: "ssh://me@dgx",
        instanceA: "none",
        inferenceServers: { b: serverInput() },
      };
      runtime.setAllConfig({ "local-serving:machines": JSON.stringify({ dgx: machine }) });
      end = await program().then(
        () => "done",
        (error: Error) => error.message,
      );
    });
    return { recorded, end };
  }

  it("is refused by `up` before anything is made", async () => {
    expect(await run(false)).toEqual({
      recorded: [],
      end: "Refused, and nothing was changed:\n- preflight of dgx: dgx (ssh://me@dgx) refuses the login: Permission denied (publickey). `ssh me@dgx` must work without a question: `ssh-copy-id me@dgx`, and `ssh-add` for a key with a passphrase. In the stack file: `machines.dgx.dockerHost`.",
    });
  });

  it("is previewed whole, with what `up` would say", async () => {
    const { recorded, end } = await run(true);
    expect(end).toBe("done");
    expect(recorded.map(({ name }) => name)).toContain("dgx-b");
    expect(said.join("\n")).toContain(
      "`up` would refuse this:\n  preflight of dgx: dgx (ssh://me@dgx) refuses the login",
    );
  });
});
