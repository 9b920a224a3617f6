import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { judgeMachine } from "../../components/preflight/judgeMachine";
import { judgeSimpleServer } from "../../components/preflight/judgeSimpleServer";
import { readMachine } from "../../components/preflight/readMachine";
import { readSimpleServer } from "../../components/preflight/readSimpleServer";
import type { SimpleServerFacts } from "../../components/preflight/types";
import { stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";
import { httpServer } from "../layers/httpServer";
import { temporaryFolder } from "../layers/temporaryFolder";

const scratch = temporaryFolder("preflight-");
const IS_ROOT = process.getuid?.() === 0;

function machineOf(
  simpleServer: Record<string, unknown>,
  machine: Record<string, unknown> = {},
): MachinePlan {
  const [only] = plan(stack({ simpleServer, ...machine }), { home: scratch }).machines;
  if (only === undefined) throw new Error("no machine planned");
  return only;
}

const open = { uid: 0, gid: 0, mode: 0o755 };
const ready: SimpleServerFacts = {
  answer: { kind: "ollama", version: "0.34.4" },
  unitFound: true,
  dropInInPlace: true,
  account: { name: "ollama", uid: 997, gids: [984, 44] },
  directory: [
    { path: "/", ...open },
    { path: "/srv", ...open },
    { path: "/srv/models", uid: 997, gid: 984, mode: 0o755 },
  ],
  elevation: { works: true, reason: "" },
};
const host = { mode: "host", modelsDirectory: "/srv/models" };
const judged = (
  facts: Partial<SimpleServerFacts>,
  settings: Record<string, unknown> = {},
  elevate: unknown = ["sudo", "-n"],
) => judgeSimpleServer(machineOf({ ...host, ...settings }, { elevate }), { ...ready, ...facts });

describe("the preflight of an Ollama on the host", () => {
  it("has nothing to say of one that is ready", () => {
    expect(judged({})).toEqual([]);
    expect(judged({}, {}, "none")).toEqual([]);
    expect(judgeSimpleServer(machineOf({ mode: "none" }), undefined)).toEqual([]);
  });

  it.each<[string, Partial<SimpleServerFacts>, string, object?]>([
    [
      "a directory of somebody else",
      {
        directory: [
          ...(ready.directory?.slice(0, 2) ?? []),
          { path: "/srv/models", uid: 1000, gid: 984, mode: 0o755 },
        ],
      },
      "The model directory /srv/models belongs to user 1000, not to ollama: Ollama could not write there. Fix it with `sudo chown -R ollama:ollama /srv/models`.",
    ],
    [
      "a directory that is missing",
      {
        directory: [
          { path: "/", ...open },
          { path: "/srv", ...open },
          { path: "/srv/models", problem: "missing" },
        ],
      },
      "The model directory /srv/models does not exist. Create it with `sudo install -d -o ollama -g ollama -m 0755 /srv/models`.",
    ],
    [
      "a parent that is closed to the service's user",
      {
        directory: [
          { path: "/", ...open },
          { path: "/srv", uid: 0, gid: 0, mode: 0o750 },
          ...(ready.directory?.slice(2) ?? []),
        ],
      },
      "ollama can't reach the model directory /srv/models: it has no access to /srv. Fix it with `sudo chmod o+x /srv`, or choose another `modelsDirectory`.",
      { setting: "simpleServer.modelsDirectory" },
    ],
    [
      "a version that must not run",
      { answer: { kind: "ollama", version: "0.17.0" } },
      "Ollama 0.17.0 is running: releases below 0.17.1 have a vulnerability that is open to anyone who can reach their port (CVE-2026-7482). Update it to 0.17.1 or newer, as it was installed.",
    ],
    [
      "a release candidate of the first that may",
      { answer: { kind: "ollama", version: "0.17.1-rc2" } },
      "Ollama 0.17.1-rc2 is running: releases below 0.17.1 have a vulnerability that is open to anyone who can reach their port (CVE-2026-7482). Update it to 0.17.1 or newer, as it was installed.",
    ],
    [
      "no unit",
      { unitFound: false },
      "systemd has no unit ollama.service: is Ollama installed? Install it as https://ollama.com/download says, correct `simpleServer.unit`, or set `mode: none`.",
      { setting: "simpleServer.unit" },
    ],
    [
      "something else on the port",
      { answer: { kind: "something else" } },
      "Port 11434 is in use by something that isn't Ollama. Check with `ss -lntp 'sport = :11434'` and `docker ps`: an earlier container or the chat UI's integrated image is the usual cause.",
    ],
    [
      "a sudo that asks for a password",
      { elevation: { works: false, reason: "sudo: a password is required" } },
      "`sudo -n` does not work here (sudo: a password is required). Allow it without a password, or set `elevate: none` and run the plan's commands yourself.",
      { setting: "elevate", value: "none" },
    ],
  ])("refuses %s where we are to restart it", (_, facts, message, setting = {}) => {
    expect(judged(facts)).toEqual([{ verdict: "refused", message, ...setting }]);
  });

  it("refuses an unknown user", () => {
    const { account: _, ...without } = ready;
    expect(judgeSimpleServer(machineOf(host, { elevate: ["sudo", "-n"] }), without)).toEqual([
      {
        verdict: "refused",
        message:
          "There is no user ollama: set `simpleServer.serviceUser` to the `User=` of ollama.service.",
        setting: "simpleServer.serviceUser",
      },
    ]);
  });

  it("only warns of the same where the operator does it by hand", () => {
    expect(
      judged({ unitFound: false, answer: { kind: "ollama", version: "0.1.2" } }, {}, "none").map(
        ({ verdict }) => verdict,
      ),
    ).toEqual(["warned", "warned"]);
  });

  it("lets the service's user through by owner, group or everybody's right", () => {
    const through = (at: { uid: number; gid: number; mode: number }) =>
      judged({
        directory: [
          { path: "/", ...open },
          { path: "/srv", ...at },
          ...(ready.directory?.slice(2) ?? []),
        ],
      });
    expect(through({ uid: 997, gid: 0, mode: 0o100 })).toEqual([]);
    expect(through({ uid: 0, gid: 44, mode: 0o710 })).toEqual([]);
    expect(through({ uid: 0, gid: 0, mode: 0o701 })).toEqual([]);
    // The owner's and the group's bits come first, as the kernel has it.
    expect(through({ uid: 997, gid: 0, mode: 0o077 })).toHaveLength(1);
    expect(through({ uid: 0, gid: 984, mode: 0o701 })).toHaveLength(1);
  });

  it("does not know what the operator may not see", () => {
    expect(
      judged({
        directory: [
          { path: "/", ...open },
          { path: "/srv", problem: "unreadable" },
        ],
      }),
    ).toEqual([]);
  });

  it("warns of a build from source, whose version tells nothing", () => {
    expect(judged({ answer: { kind: "ollama", version: "0.0.0" } })).toEqual([
      { verdict: "warned", message: expect.stringContaining("as a build from source does") },
    ]);
  });

  it("warns of a drop-in that is not in place only where nothing of ours writes it", () => {
    expect(judged({ dropInInPlace: false }, {}, "none")).toEqual([
      {
        verdict: "warned",
        message: expect.stringContaining(
          "/etc/systemd/system/ollama.service.d/50-local-serving.conf differs from the plan. It isn't written for you, since `elevate` is `none`: run the commands that `serving plan simple-server` prints.",
        ),
      },
    ]);
    expect(judged({ dropInInPlace: false })).toEqual([]);
  });

  it("refuses a pull from a server that does not answer and that nobody of us starts", () => {
    const pulling = { models: ["qwen3:8b"], pull: true };
    const silent = { answer: { kind: "nothing" } } as const;
    expect(judged(silent, pulling, "none")).toEqual([
      {
        verdict: "refused",
        message:
          "Ollama does not answer at http://127.0.0.1:11434, so qwen3:8b can't be pulled. Start it, or set `pull: false`.",
        setting: "simpleServer.pull",
        value: false,
      },
    ]);
    expect(judged(silent, pulling)).toEqual([]);
    expect(judged(silent, { models: ["qwen3:8b"] }, "none")).toEqual([]);
  });

  it("warns of a second Ollama beside the chat UI's own", () => {
    const integrated = machineOf({ mode: "integrated" });
    expect(
      judgeSimpleServer(integrated, { answer: { kind: "ollama", version: "0.34.4" } }),
    ).toEqual([
      {
        verdict: "warned",
        message: expect.stringContaining("models pulled into one are missing in the other"),
        setting: "simpleServer.mode",
        value: "host",
      },
    ]);
    expect(judgeSimpleServer(integrated, { answer: { kind: "nothing" } })).toEqual([]);
  });
});

describe("what is read of an Ollama on the host", () => {
  it("is the answer, the unit, the drop-in, the user and the directory as they are", async () => {
    const { server, port } = await httpServer((_, response) =>
      response.end('{"version":"0.34.4"}'),
    );
    const systemdDirectory = join(scratch, "systemd");
    const machine = machineOf({
      mode: "host",
      port,
      systemdDirectory,
      serviceUser: userInfo().username,
      modelsDirectory: join(scratch, "models"),
    });
    const dropIn = machine.files.find((file) => file.role === "simple-server-dropin");
    const before = await readSimpleServer(machine);
    expect(before).toMatchObject({
      answer: { kind: "ollama", version: "0.34.4" },
      unitFound: false,
      dropInInPlace: false,
    });
    expect(before?.directory?.at(-1)).toEqual({
      path: join(scratch, "models"),
      problem: "missing",
    });
    expect(before?.account).toMatchObject({
      uid: process.getuid?.(),
      gids: expect.arrayContaining([process.getgid?.()]),
    });
    expect(before?.elevation).toBeUndefined();

    mkdirSync(dirname(dropIn?.path ?? ""), { recursive: true });
    writeFileSync(dropIn?.path ?? "", dropIn?.text ?? "");
    writeFileSync(join(systemdDirectory, "ollama.service"), "[Service]\n");
    mkdirSync(join(scratch, "models"));
    chmodSync(join(scratch, "models"), 0o751);
    if (IS_ROOT) chownSync(join(scratch, "models"), 1234, 4321);
    const after = await readSimpleServer(machine);
    expect(after).toMatchObject({ unitFound: true, dropInInPlace: true });
    expect(after?.directory?.[0]).toMatchObject({ path: "/", uid: 0 });
    expect(after?.directory?.at(-1)).toMatchObject({
      mode: 0o751,
      ...(IS_ROOT ? { uid: 1234, gid: 4321 } : {}),
    });
    await new Promise((resolve) => server.close(resolve));
    expect((await readSimpleServer(machine))?.answer).toEqual({ kind: "nothing" });
  });

  it.each<[string, RequestListener]>([
    ["another program", (_, response) => response.end("hello")],
    [
      "a redirect, which is not followed,",
      ({ url }, response) =>
        url === "/there"
          ? response.end('{"version":"0.34.4"}')
          : response.writeHead(302, { location: "/there" }).end(),
    ],
    ["an endless answer", (_, response) => response.end("x".repeat(9 * 1024 ** 2))],
  ])("is something else where %s answers", async (_, answer) => {
    const { port } = await httpServer(answer);
    expect((await readSimpleServer(machineOf({ mode: "host", port })))?.answer).toEqual({
      kind: "something else",
    });
  });

  it("includes whether sudo works, with its own words where it doesn't", async () => {
    const bin = join(scratch, "bin");
    mkdirSync(bin);
    const before = process.env.PATH;
    const sudo = async (script: string) => {
      writeFileSync(join(bin, "sudo"), script, { mode: 0o755 });
      process.env.PATH = `${bin}:${before}`;
      const facts = await readSimpleServer(
        machineOf({ mode: "host", port: 9 }, { elevate: ["sudo", "-n"] }),
      );
      process.env.PATH = before;
      return facts?.elevation;
    };
    expect(await sudo('#!/bin/sh\n[ "$*" = "-n true" ]\n')).toEqual({ works: true, reason: "" });
    expect(await sudo("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")).toEqual({
      works: false,
      reason: "sudo: a password is required",
    });
  });

  it("is nothing where there is none", async () => {
    expect(await readSimpleServer(machineOf({ mode: "none" }))).toBeUndefined();
  });
});

describe("what is read of the files that will be written", () => {
  const foldersOf = async (stateDirectory: string) =>
    (
      await readMachine(
        machineOf({ mode: "none" }, { stateDirectory, dockerHost: "unix:///nonexistent" }),
      )
    ).fileFolders;

  it("is that they can be, also where folders are still to be made", async () => {
    expect(await foldersOf(join(scratch, "new/state"))).toEqual([
      { path: join(scratch, "new/state/dgx/start-gate") },
      { path: join(scratch, "new/state/dgx") },
    ]);
  });

  it("is a symbolic link on the way, by its real path", async () => {
    mkdirSync(join(scratch, "real"));
    symlinkSync("real", join(scratch, "link"));
    const problem = `${join(scratch, "link")} leads through a symbolic link to ${join(scratch, "real")}; give the real path`;
    expect(await foldersOf(join(scratch, "link/state"))).toEqual([
      { path: join(scratch, "link/state/dgx/start-gate"), problem },
      { path: join(scratch, "link/state/dgx"), problem },
    ]);
  });

  it("is a file in the way", async () => {
    writeFileSync(join(scratch, "file"), "");
    expect((await foldersOf(join(scratch, "file")))[0]?.problem).toBe(
      `${join(scratch, "file")} is not a directory`,
    );
  });

  it("names the variables of secrets that hold none, and only those", async () => {
    const [machine] = plan(
      stack(
        {
          dockerHost: "unix:///nonexistent",
          bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: "TEST_BRIDGE_KEY" },
        },
        { huggingFaceTokenVariable: "TEST_HF_TOKEN" },
      ),
      { home: scratch },
    ).machines;
    if (machine === undefined) throw new Error("no machine planned");
    expect((await readMachine(machine)).faultyVariables).toEqual([
      { name: "TEST_HF_TOKEN", fault: "is not set" },
      { name: "TEST_BRIDGE_KEY", fault: "is not set" },
    ]);
    vi.stubEnv("TEST_HF_TOKEN", "hf_NoOutput");
    vi.stubEnv("TEST_BRIDGE_KEY", "NoOutputMayHoldThis");
    const facts = await readMachine(machine);
    vi.unstubAllEnvs();
    const fault = "has fewer than 20 characters";
    expect(facts.faultyVariables).toEqual([{ name: "TEST_BRIDGE_KEY", fault }]);
    expect(judgeMachine(machine, facts).map(({ message }) => message)).toContain(
      `TEST_BRIDGE_KEY ${fault}, but a secret file takes its value from it. Set it in this shell: \`export TEST_BRIDGE_KEY=$(openssl rand -hex 32)\`.`,
    );
    expect(JSON.stringify(facts)).not.toContain("NoOutput");
  });
});
