import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { stringify } from "yaml";
import {
  keepPassed,
  keepVerify,
  lastVerify,
  passedStackFile,
  takeRecords,
  verifiedSystem,
} from "../../../cli/verify/lastVerify";
import type { ProbeResult } from "../../../cli/verify/probe";
import { serverInput } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { markApplied } from "../applied";
import { FakeDocker, inspected } from "../fakeDocker";
import { runServing } from "../runServing";
import { startPlanned, WINDOW } from "./environment";

function folder(): string {
  const path = temporaryFolder("last-verify-");
  return path;
}

const VERIFIED = { stackFile: "/stacks/Pulumi.dgx.yaml", machine: "dgx" };
const result = (
  name: string,
  status: ProbeResult["status"],
  target = "vllm-model-8001",
): ProbeResult => ({
  name,
  target,
  status,
  detail: `detail of ${name}`,
  fix: "",
  seconds: 1,
});

describe("what a run found", () => {
  it("is kept by stack file and machine; a later run replaces what it asked again and nothing else", async () => {
    const env = { XDG_STATE_HOME: folder() };
    await keepVerify(
      VERIFIED,
      [result("chat", "fail"), result("window", "fail"), result("chat", "pass", "c")],
      env,
    );
    await keepVerify(VERIFIED, [result("chat", "pass")], env);
    await keepVerify({ ...VERIFIED, machine: "other" }, [result("needle", "fail")], env);
    const kept = await lastVerify(VERIFIED, env);
    expect(kept.map(({ name, target, status }) => `${target} ${name} ${status}`)).toEqual([
      "vllm-model-8001 window fail",
      "c chat pass",
      "vllm-model-8001 chat pass",
    ]);
    expect(await lastVerify({ ...VERIFIED, stackFile: "/else/Pulumi.dgx.yaml" }, env)).toEqual([]);
    const place = join(env.XDG_STATE_HOME, "local-serving");
    for (const file of readdirSync(place))
      expect(statSync(join(place, file)).mode & 0o777).toBe(0o600);
  });

  it("is kept with what explains it, for doctor", async () => {
    const env = { XDG_STATE_HOME: folder() };
    const why = { cause: "It is another.", advice: "Apply it.", command: "serving up" };
    await keepVerify(VERIFIED, [{ ...result("chat", "fail"), cause: "other-model", why }], env);
    expect(await lastVerify(VERIFIED, env)).toMatchObject([{ cause: "other-model", why }]);
  });

  it.each([
    ["no home", {}],
    ["a home that nobody may write to", { HOME: "/dev/null" }],
  ])("is not kept with %s, and nothing is thrown", async (_, env) => {
    await keepVerify(VERIFIED, [result("chat", "fail")], env);
    expect(await lastVerify(VERIFIED, env)).toEqual([]);
  });

  it.each([
    "",
    "[]",
    "{}",
    '{"probes":[{"name":"chat","status":"broken","at":"2026-11-21"},7]}',
    "\u0000",
  ])("is nothing where something else lies there: %j", async (text) => {
    const env = { XDG_STATE_HOME: folder() };
    await keepVerify(VERIFIED, [result("chat", "fail")], env);
    const place = join(env.XDG_STATE_HOME, "local-serving");
    writeFileSync(join(place, readdirSync(place)[0] ?? ""), text);
    expect(await lastVerify(VERIFIED, env)).toEqual([]);
  });
});

describe("what is kept about a stack file that was copied to another folder", () => {
  const TEXT = "config: {}\n";
  /** A clone's stack file that was verified, and its copy in a folder of its own. */
  async function scene({ name = "Pulumi.dgx.yaml", now = TEXT } = {}) {
    const env = { XDG_STATE_HOME: folder() };
    const clone = join(folder(), "Pulumi.dgx.yaml");
    const own = join(folder(), name);
    await keepVerify({ stackFile: clone, machine: "dgx" }, [result("chat", "fail")], env);
    await keepVerify({ stackFile: clone, machine: "dgx2" }, [result("window", "pass")], env);
    keepPassed(clone, TEXT, env);
    writeFileSync(clone, now);
    const probes = async (machine: string, stackFile = own) =>
      (await lastVerify({ stackFile, machine }, env)).map(({ name }) => name);
    const passed = (stackFile = own) => {
      const file = passedStackFile(stackFile, env);
      return file === undefined ? undefined : readFileSync(file, "utf8");
    };
    return { env, clone, own, probes, passed };
  }

  it("is kept for the copy, too, and once more for a copy of that", async () => {
    const { env, clone, own, probes, passed } = await scene();
    takeRecords(own, TEXT, env);
    for (const file of [own, clone]) {
      expect(await probes("dgx", file)).toEqual(["chat"]);
      expect(await probes("dgx2", file)).toEqual(["window"]);
      expect(passed(file)).toBe(TEXT);
    }
    const next = join(folder(), "Pulumi.dgx.yaml");
    rmSync(clone);
    writeFileSync(own, TEXT);
    takeRecords(next, TEXT, env);
    expect(await probes("dgx", next)).toEqual(["chat"]);
  });

  it.each([
    ["was changed after it passed", "config: { changed: 1 }\n"],
    ["is as it was when it passed, while the clone's went on", TEXT],
  ])("is kept for one that %s", async (_, text) => {
    const { env, own, probes, passed } = await scene({ now: "config: { changed: 1 }\n" });
    takeRecords(own, text, env);
    expect(await probes("dgx")).toEqual(["chat"]);
    expect(passed()).toBe(TEXT);
  });

  it("is kept for one that was moved away", async () => {
    const { env, clone, own, passed } = await scene();
    rmSync(clone);
    takeRecords(own, TEXT, env);
    expect(passed()).toBe(TEXT);
  });

  it.each([
    ["another text", {}, "config: { other: 1 }\n"],
    ["another name", { name: "Pulumi.other.yaml" }, TEXT],
  ])("is not kept for a file with %s", async (_, made, text) => {
    const { env, own, probes, passed } = await scene(made);
    takeRecords(own, text, env);
    expect(await probes("dgx")).toEqual([]);
    expect(passed()).toBeUndefined();
  });

  it("replaces nothing that the copy has", async () => {
    const { env, own, probes, passed } = await scene();
    await keepVerify({ stackFile: own, machine: "dgx" }, [result("needle", "pass")], env);
    keepPassed(own, "config: { mine: 1 }\n", env);
    takeRecords(own, TEXT, env);
    expect(await probes("dgx")).toEqual(["needle"]);
    expect(await probes("dgx2")).toEqual(["window"]);
    expect(passed()).toBe("config: { mine: 1 }\n");
  });

  it.each([
    ["no home", {}],
    ["a home that nobody may write to", { HOME: "/dev/null" }],
  ])("is nothing with %s", (_, env) => {
    expect(() => takeRecords("/stacks/Pulumi.dgx.yaml", TEXT, env)).not.toThrow();
  });
});

describe("serving doctor behind serving verify", () => {
  async function scene() {
    const home = folder();
    const failing = await startPlanned("window-unnamed");
    onTestFinished(() => failing.close());
    const file = join(home, "Pulumi.test.yaml");
    const inferenceServers = { b: serverInput({ maxModelLen: WINDOW, port: failing.port }) };
    const machines = { dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers } };
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    mkdirSync(join(home, "state"));
    return { file, port: failing.port, env: { XDG_STATE_HOME: join(home, "state") } };
  }

  async function doctor({ file, port, env }: Awaited<ReturnType<typeof scene>>, StartedAt: string) {
    const container = inspected({ name: `vllm-model-${port}`, state: { StartedAt } });
    const docker = new FakeDocker({
      "ps --all": { out: "4711\n" },
      "inspect ": { out: JSON.stringify([container]) },
      "logs ": { out: "INFO:     Application startup complete.\n" },
    });
    const { out } = await runServing(["doctor", "--file", file, "--format", "json"], {
      ...docker.env,
      ...env,
    });
    return JSON.parse(out) as { diagnoses: { id: string; evidence: string }[]; notes: string[] };
  }
  const anHourAgo = () => new Date(Date.now() - 3_600_000).toISOString();
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

  it("knows what failed, until the server is started anew or the probe passes", async () => {
    const machine = await scene();
    const { code } = await runServing(
      ["verify", "--file", machine.file, "--only", "models,window"],
      machine.env,
    );
    expect(code).toBe(1);
    const known = (await doctor(machine, anHourAgo())).diagnoses.find(
      ({ id }) => id === "probe-failed",
    );
    expect(known?.evidence).toContain("probe window: refused, without naming the maximum");
    const restarted = await doctor(machine, inAnHour());
    expect(restarted.diagnoses.map(({ id }) => id)).not.toContain("probe-failed");
    expect(restarted.notes).toContain(
      "Results of the last `serving verify` that are older than what runs now were not used: window.",
    );
  });

  it("learns nothing of a server that was named by its address", async () => {
    const machine = await scene();
    const url = `http://127.0.0.1:${machine.port}`;
    await runServing(
      ["verify", "--file", machine.file, "--only", "window", "--base-url", url],
      machine.env,
    );
    expect(readdirSync(machine.env.XDG_STATE_HOME)).toEqual([]);
    const ids = (await doctor(machine, anHourAgo())).diagnoses.map(({ id }) => id);
    expect(ids).not.toContain("probe-failed");
  });

  it("keeps no key", async () => {
    const machine = await scene();
    const key = "sk-of-the-chat-ui-0123456789";
    await runServing(["verify", "--file", machine.file, "--only", "window"], {
      ...machine.env,
      LOCAL_SERVING_CHAT_UI_KEY: key,
    });
    const place = join(machine.env.XDG_STATE_HOME, "local-serving");
    for (const file of readdirSync(place))
      expect(readFileSync(join(place, file), "utf8")).not.toContain(key);
  });
});

describe("the stack file that passed", () => {
  const result = (status: ProbeResult["status"]): ProbeResult => ({
    ...{ name: "models", target: "vllm-model-8001", status, detail: "", fix: "", seconds: 0 },
  });
  /** Runs `verify` on results that are given, and says what it keeps. */
  async function kept(results: readonly ProbeResult[], ...args: string[]) {
    vi.doMock("../../../cli/verify/run/runner", () => ({
      verify: async () => ({ probes: results, causes: [] }),
    }));
    onTestFinished(() => {
      vi.doUnmock("../../../operate/verify/run/runner");
      vi.resetModules();
    });
    vi.resetModules();
    const home = folder();
    const file = join(home, "Pulumi.test.yaml");
    const machines = {
      dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: serverInput() } },
    };
    const text = stringify({ config: { "local-serving:machines": machines } });
    writeFileSync(file, text);
    const env = { XDG_STATE_HOME: join(home, "state") };
    markApplied(home, "dgx");
    await runServing(["verify", "--file", file, ...args], { ...env, HOME: home });
    const system = await verifiedSystem({ stackFile: file, machine: "dgx" }, env);
    const asked = results.some(({ status }) => status !== "skip") && !args.includes("--base-url");
    expect(system === undefined).toBe(!asked);
    const passed = passedStackFile(file, env);
    return passed === undefined
      ? undefined
      : { same: readFileSync(passed, "utf8") === text, mode: statSync(passed).mode & 0o777 };
  }

  it("is kept for its operator alone once everything passed, whatever was skipped", async () => {
    expect(await kept([result("pass"), result("skip")])).toEqual({ same: true, mode: 0o600 });
  });

  it.each<[string, ProbeResult[], string[]]>([
    ["a probe failed", [result("pass"), result("fail")], []],
    ["nothing was probed", [result("skip")], []],
    ["some probes were named", [result("pass")], ["--only", "models"]],
    ["a server was named", [result("pass")], ["--base-url", "http://127.0.0.1:1"]],
  ])("is not kept where %s", async (_, results, args) => {
    expect(await kept(results, ...args)).toBeUndefined();
  });
});
