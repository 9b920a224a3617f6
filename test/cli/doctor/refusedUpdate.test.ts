import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { thisProcess } from "@local-serving/machines/update/process";
import { recordText } from "@local-serving/machines/update/record";
import { afterEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { type ReadStack, readMachineStack } from "../../../cli/doctor/read/fromMachine";
import * as update from "../../../cli/doctor/read/readUpdate";
import type { Picture, Stack, UpdateFacts } from "../../../cli/rules/picture";
import { reportsOf } from "../../../cli/rules/report";
import { preflight } from "../../../components/preflight";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE } from "../../fixtures/services";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { markApplied } from "../applied";
import { FakeDocker, inspected } from "../fakeDocker";
import { runServing } from "../runServing";
import { CONTAINER, container } from "./cases";
import { STACK_TEXT, stackOf } from "./stack";

const KEY = "DOCTORS_BRIDGE_KEY";
const UNSET = `preflight of dgx: ${KEY} is not set, but a secret file takes its value from it. Set it in this shell: \`export ${KEY}=$(openssl rand -hex 32)\`.`;
const NOW = "`up` is refused as things are now, and changes nothing.";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** A stack file of a made-up home, as doctor reads it. */
function readOf(machine: Record<string, unknown>): ReadStack {
  const home = temporaryFolder("refused-update-");
  const dgx = {
    ...{ totalGiB: 121.63, instanceA: "none", home, modelCache: join(home, "cache") },
    ...machine,
  };
  const file = join(home, "Pulumi.dgx.yaml");
  writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
  vi.stubEnv("HOME", home);
  // No hub is asked.
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9");
  return readMachineStack(file);
}

const info = { out: JSON.stringify({ ID: "engine", Runtimes: { nvidia: {} } }) };
function withDocker(answers: ConstructorParameters<typeof FakeDocker>[0]): void {
  vi.stubEnv("PATH", new FakeDocker(answers).env.PATH);
}
const server = (more: Record<string, unknown> = {}) => ({
  inferenceServers: { b: serverInput(more) },
});

describe("what `up` would refuse, read at once", () => {
  it("is what its own preflight refuses, word for word, and nothing that it only warns of", async () => {
    withDocker({ "info ": info, "ps ": { out: "" }, "network ": { out: "" } });
    const stack = readOf({
      ...server(),
      bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: KEY },
    });
    const { refused } = await update.readUpdate(stack, true);
    const updating = { locate: stack.locate, fingerprint: "any", isNew: true };
    const found = await preflight({ machines: stack.machines }, updating);
    expect(refused).toEqual(
      found.flatMap(({ name, verdict, message }) =>
        verdict === "refused" ? [`${name}: ${message}`] : [],
      ),
    );
    expect(refused).toContain(UNSET);
    expect(refused.length).toBeLessThan(found.length);
  });

  it("names the line of the stack file", async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, "127.0.0.1", done));
    const { port } = taken.address() as AddressInfo;
    withDocker({ "info ": info, "ps ": { out: "" }, "network ": { out: "" } });
    const { refused } = await update.readUpdate(readOf(server({ port })), false);
    taken.close();
    expect(refused).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^preflight of dgx: Port ${port} of vllm-model-${port} is in use by something that isn't ours\\. .* In the stack file, line \\d+: \`machines\\.dgx\\.inferenceServers\\.b\\.port\`\\.$`,
        ),
      ),
    );
  });

  it("is also said where no engine answers", async () => {
    withDocker({ "": { err: "Cannot connect to the Docker daemon\n", code: 1 } });
    const { refused, isApplied } = await update.readUpdate(readOf(server()), false);
    expect(isApplied).toBe(false);
    expect(refused).toContainEqual(
      expect.stringContaining(
        "preflight of dgx: No Docker engine answers at unix:///var/run/docker.sock (",
      ),
    );
  });

  it("is of every machine of the stack file", async () => {
    withDocker({ "": { code: 1 } });
    const stack = readOf(server());
    const [machine] = stack.machines;
    if (machine === undefined) throw new Error("no machine");
    const other = { ...machine, name: "dgx2" };
    const { refused } = await update.readUpdate({ ...stack, machines: [machine, other] }, false);
    expect(new Set(refused.map((each) => each.split(":")[0]))).toEqual(
      new Set(["preflight of dgx", "preflight of dgx2"]),
    );
  });

  const underWay = (by: ReturnType<typeof thisProcess>) => ({
    ...{ step: "forward" as const, startedAt: "2026-11-20T10:00:00Z", by, settings: "x" },
    ...{ passed: [], parts: [] },
  });
  it.each([
    ["one that runs", thisProcess(), true],
    ["one that ended", { ...thisProcess(), start: "1" }, false],
    ["one on another computer", { ...thisProcess(), host: "elsewhere" }, true],
  ])("is an update by --verified that is under way: %s", async (_name, by, busy) => {
    withDocker({ "": { code: 1 } });
    const stack = readOf(server());
    const record = stack.plan.files.find(({ role }) => role === "applied-plan")?.path ?? "";
    mkdirSync(dirname(record), { recursive: true });
    writeFileSync(
      join(dirname(record), "update.json"),
      recordText({ underWay: underWay(by) }) ?? "",
    );
    const { refused } = await update.readUpdate(stack, false);
    const said = refused.filter((each) => each.startsWith("An update by `serving up --verified`"));
    expect(said).toHaveLength(busy ? 1 : 0);
  });

  it.each([
    ["as it was applied", "maxModelLen: 262144", true],
    ["with a change", "maxModelLen: 131072", false],
  ])("knows whether `up` has anything to do: %s", async (_name, change, isApplied) => {
    withDocker({ "": { code: 1 } });
    const stack = readOf(server({ maxModelLen: 262144 }));
    const record = stack.plan.files.find(({ role }) => role === "applied-plan");
    mkdirSync(dirname(record?.path ?? ""), { recursive: true });
    writeFileSync(record?.path ?? "", record?.text ?? "");
    const now = readMachineStack(
      stack.file,
      "dgx",
      stack.text.replace("maxModelLen: 262144", change),
    );
    expect((await update.readUpdate(now, false)).isApplied).toBe(isApplied);
  });
});

describe("a refused `up` in doctor's answer", () => {
  const REFUSED: UpdateFacts = {
    refused: ["preflight of dgx: A.", "preflight of dgx: B."],
    isApplied: false,
  };
  const said = (more: Partial<Picture>, stack: Stack = stackOf()) =>
    reportsOf({ logs: [], stack, update: REFUSED, ...more });
  const there = { containers: [container()], allContainers: true };

  it("repeats each sentence, and names what to run again", () => {
    expect(said(there)).toEqual([
      {
        id: "update-refused",
        severity: "trouble",
        cause: NOW,
        evidence: "preflight of dgx: A.\npreflight of dgx: B.",
        change: "Each sentence says what to change. Then run `up` again.",
        edits: [],
        advice: "Each sentence says what to change. Then run `up` again.",
        command: "serving up",
        source: "the preflight of `up`",
        caughtByPlan: true,
        caughtBy: "the preflight of `up`",
      },
    ]);
  });

  it("is nothing where nothing is refused", () => {
    expect(said({ ...there, update: { refused: [], isApplied: false } })).toEqual([]);
    expect(reportsOf({ logs: [], stack: stackOf(), ...there })).toEqual([]);
  });

  it("is no trouble of a machine that runs as it was applied", () => {
    const update = { ...REFUSED, isApplied: true };
    expect(said({ ...there, update }).map(({ severity, cause }) => [severity, cause])).toEqual([
      [
        "note",
        "What is applied runs as it is, but the next `up` would be refused as things are now.",
      ],
    ]);
  });

  it.each<[string, Partial<Picture>]>([
    ["a container is missing", { containers: [], allContainers: true }],
    ["no container could be read", {}],
    [
      "a file was changed",
      { ...there, files: [{ role: "x", path: "/x", state: "different" }] as never },
    ],
  ])("is a trouble of one that needs an `up`: %s", (_name, more) => {
    const update = { ...REFUSED, isApplied: true };
    const found = said({ ...more, update }).find(({ id }) => id === "update-refused");
    expect(found?.severity).toBe("trouble");
  });

  it("is said once where another diagnosis says it", () => {
    const ids = (more: Partial<Picture>, refused: string[]) =>
      said({ ...more, update: { refused, isApplied: false } }).map(({ id }) => id);
    const silent = "preflight of dgx: No Docker engine answers at unix:///var/run/docker.sock (x).";
    expect(ids({ dockerProblem: "docker ps failed" }, [silent])).toEqual(["docker-unreachable"]);
    expect(ids({ dockerProblem: "docker ps failed" }, [silent, "preflight of dgx: B."])).toEqual([
      "update-refused",
      "docker-unreachable",
    ]);
    // Without a container to look for, nothing else says it.
    expect(ids({}, [silent])).toEqual(["update-refused"]);
    const meminfo = { totalGiB: 64, availableGiB: 60 };
    const total = said({ meminfo, update: { refused: [], isApplied: false } });
    expect(total.map(({ id }) => id)).toEqual(["total-memory-differs"]);
  });

  it("names every policy that refuses, and all that it finds", () => {
    const refusals = [
      { name: "images", message: "One." },
      { name: "images", message: "Two." },
    ];
    const one = said(
      { ...there, update: { refused: [], isApplied: false } },
      {
        ...stackOf(),
        refusals,
      },
    );
    expect(one.map(({ id, cause, evidence }) => [id, cause, evidence])).toEqual([
      [
        "plan-refused",
        "The policy images refuses the stack file, so `up` changes nothing.",
        "One.\nTwo.",
      ],
    ]);
    const two = [...refusals, { name: "aggregate-utilization", message: "Three." }];
    const [both] = said(there, { ...stackOf(), refusals: two });
    expect([both?.cause, both?.evidence]).toEqual([
      "Policies refuse the stack file, so `up` changes nothing.",
      "images: One.\nimages: Two.\naggregate-utilization: Three.",
    ]);
  });
});

describe("serving doctor after a refused `up`", () => {
  it("finds the trouble, and doesn't tell to run what was refused", async () => {
    vi.spyOn(update, "readUpdate").mockResolvedValue({ refused: [UNSET], isApplied: false });
    const home = temporaryFolder("refused-doctor-");
    const file = join(home, "Pulumi.dgx.yaml");
    writeFileSync(file, STACK_TEXT);
    const docker = new FakeDocker({ "ps --all": { out: "" }, "network ": { out: "" } });
    const asked = ["doctor", "--file", file];
    const { code, out, err } = await runServing(asked, { ...docker.env, HOME: home });
    expect(code).toBe(1);
    expect(out).toContain(`\nupdate-refused: ${NOW}\n  evidence   ${UNSET}\n`);
    expect(out).not.toContain("No trouble found");
    expect(err).not.toContain("Nothing is applied yet");
  });

  it("says of a machine that runs that its next `up` would be refused, and ends with 0", async () => {
    vi.spyOn(update, "readUpdate").mockResolvedValue({ refused: [UNSET], isApplied: true });
    const home = temporaryFolder("applied-doctor-");
    const file = join(home, "Pulumi.dgx.yaml");
    writeFileSync(file, STACK_TEXT);
    markApplied(home, "dgx");
    const docker = new FakeDocker({
      "ps --all": { out: `${"f".repeat(64)}\n` },
      "inspect ": { out: JSON.stringify([inspected({ name: CONTAINER })]) },
      "logs ": { out: "" },
    });
    const { code, out } = await runServing(["doctor", "--file", file], {
      ...docker.env,
      HOME: home,
    });
    expect(out).toContain("update-refused (harmless): What is applied runs as it is");
    expect([code, out.includes(UNSET)]).toEqual([0, true]);
  });
});
