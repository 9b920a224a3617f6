import { sha256 } from "@local-serving/machines/shell";
import { afterEach, describe, expect, it, vi } from "vitest";
import { changesOf } from "../../components/change/changesOf";
import { neverStartedText } from "../../components/change/neverStarted";
import { plan } from "../../components/plan/plan";
import { Machine } from "../../components/program/machine/machine";
import { serverInput, stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";
import { type Recorded, record } from "./record";

const KEY = "0123456789abcdef0123456789abcdef";

afterEach(() => vi.unstubAllEnvs());

function planned(machine: Record<string, unknown> = {}) {
  const onDemand = {
    program: { version: "v250", sha256: "f".repeat(64) },
    keyVariable: "ON_DEMAND_KEY",
  };
  const inferenceServers = { b: serverInput({ start: "onRequest" }) };
  const settings = stack({
    inferenceServers,
    onDemand,
    bridge: { ...BRIDGE, servers: ["b"] },
    ...machine,
  });
  return plan(settings, { home: "/home/me" }).machines;
}

async function resources(machine: Record<string, unknown> = {}): Promise<Recorded[]> {
  vi.stubEnv("ON_DEMAND_KEY", KEY);
  return record(() => {
    for (const each of planned(machine))
      new Machine({ machine: each, dockerHost: each.dockerHost });
  });
}

const onDemandOf = (recorded: readonly Recorded[]) =>
  recorded.filter(({ name }) => name.startsWith("dgx-on-demand"));

describe("the program for a machine with llama-swap", () => {
  it("registers its network, files, program and unit, and nothing of it without the setting", async () => {
    expect(
      onDemandOf(await resources())
        .map(({ type, name }) => `${type.split(":").at(-1)} ${name}`)
        .sort(),
    ).toEqual(
      [
        "Command dgx-on-demand-after-removal",
        "Command dgx-on-demand-config",
        "Command dgx-on-demand-declared",
        "Command dgx-on-demand-key",
        "Command dgx-on-demand-program",
        "Command dgx-on-demand-unit",
        "Command dgx-on-demand-wrapper",
        "Command dgx-on-demand-unit",
        "HostFile dgx-on-demand-config",
        "HostFile dgx-on-demand-declared",
        "HostFile dgx-on-demand-key",
        "HostFile dgx-on-demand-unit",
        "HostFile dgx-on-demand-wrapper",
        "Network dgx-on-demand-network",
        "OnDemand dgx-on-demand",
      ].sort(),
    );
    expect(onDemandOf(await resources({ onDemand: undefined }))).toEqual([]);
  });

  it("runs all of it on the machine over ssh, the key's hash in stdin alone", async () => {
    const there = onDemandOf(await resources({ dockerHost: "ssh://me@dgx" }));
    const commands = there.filter(({ type }) => type === "command:local:Command");
    for (const { name, inputs } of commands) {
      for (const word of ["create", "delete"])
        if (inputs[word] !== undefined)
          expect(inputs[word], `${name} ${word}`).toMatch(
            /^ssh -T -o .* -- ssh:\/\/me@dgx "\$ON_MACHINE"/,
          );
      expect(inputs.environment).toMatchObject({ MACHINE: "ssh://me@dgx" });
      const shown = JSON.stringify({ ...inputs, stdin: "" });
      expect([shown.includes(KEY), shown.includes(sha256(KEY))], name).toEqual([false, false]);
    }
    const unit = commands.find(({ inputs }) => `${inputs.create}`.includes("unit start"));
    expect(JSON.stringify(unit?.inputs.stdin)).toContain(sha256(KEY));
  });

  it("says which servers nothing has started yet, once they are made", () => {
    const [first] = changesOf([], planned());
    expect(first && neverStartedText(first)).toBe(
      "dgx: never started: b. `serving verify --each` starts each once, which compiles its kernels, and tests it.",
    );
    const [same] = changesOf(planned(), planned());
    const [plain] = changesOf([], planned({ onDemand: undefined }));
    expect([same && neverStartedText(same), plain && neverStartedText(plain)]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
