import { mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { engineWasKilled, halfWritten, locksOf } from "../../../cli/engine/backend";
import { pendingIn } from "../../../cli/engine/brokenOff";
import { touchedAnything } from "../../../cli/engine/eventLog";
import { optionsBack, withSalt } from "../../../cli/update/task";
import { temporaryFolder } from "../../layers/temporaryFolder";

const event = (op: string, type: string, planning?: boolean) =>
  `${JSON.stringify({ resourcePreEvent: { metadata: { op, type }, ...(planning ? { planning } : {}) } })}\n`;
const CONTAINER = "docker:index/container:Container";

describe("what an engine left", () => {
  it.each([
    ["nothing", "", false],
    ["a preview", event("replace", CONTAINER, true), false],
    ["what stays", event("same", CONTAINER) + event("refresh", CONTAINER), false],
    ["the stack itself", event("create", "pulumi:pulumi:Stack"), false],
    ["a line that is cut off", event("update", CONTAINER).slice(0, 40), false],
    ["a step of its update", event("same", CONTAINER) + event("create", CONTAINER), true],
  ])("has touched something by its events: %s", (_, text, expected) => {
    const log = join(temporaryFolder("touched-"), "events");
    expect(touchedAnything(log)).toBe(false);
    writeFileSync(log, text);
    expect(touchedAnything(log)).toBe(expected);
  });

  it("is being made by its state", () => {
    const operation = (type: string, name?: string) => ({
      type,
      resource: { type: CONTAINER, inputs: { name } },
    });
    const pending_operations = [operation("creating", "b"), operation("deleting", "c")];
    expect(pendingIn(JSON.stringify({ deployment: { pending_operations } }))).toEqual([
      { type: CONTAINER, name: "b" },
    ]);
    expect(pendingIn("no state")).toEqual([]);
  });

  it("is locked by a process, in our folder and in another one", () => {
    const project = temporaryFolder("locks-");
    const lock = { pid: 7, username: "me", hostname: "spark", timestamp: "" };
    for (const [folder, stack] of [
      [join(project, ".pulumi-state"), "dgx"],
      [join(project, ".pulumi-state"), "other"],
      [join(project, "else"), "dgx"],
    ] as const) {
      const locks = join(folder, ".pulumi/locks/organization/local-serving", stack);
      mkdirSync(locks, { recursive: true });
      const pid = { dgx: 7, other: 8 }[stack] + (folder.endsWith("else") ? 100 : 0);
      writeFileSync(join(locks, "1.json"), JSON.stringify({ ...lock, pid }));
    }
    expect(locksOf(project, "dgx", { PULUMI_HOME: project })).toEqual([{ pid: 7, host: "spark" }]);
    const PULUMI_BACKEND_URL = `file://${project}/else`;
    expect(locksOf(project, "dgx", { PULUMI_BACKEND_URL })).toEqual([{ pid: 107, host: "spark" }]);
    expect(locksOf(project, "none", { PULUMI_HOME: project })).toEqual([]);
  });
});

describe("the way back", () => {
  it("has the levels, the colours and the parallel steps of the way forward, and nothing else", () => {
    expect(
      optionsBack([
        ...["--target", "urn", "--policy-pack-config", "levels.json", "--refresh"],
        ...["--color=never", "-p", "4", "--diff", "x"],
      ]),
    ).toEqual(["--policy-pack-config", "levels.json", "--color=never", "-p", "4"]);
  });

  it.each([
    ["config: {}\n", "config: {}\n", "config: {}\n"],
    ["config: {}", "config: {}\nencryptionsalt: v1:a\n", "config: {}\nencryptionsalt: v1:a\n"],
    ["encryptionsalt: v1:b\n", "encryptionsalt: v1:a\n", "encryptionsalt: v1:b\n"],
  ])("gives a kept text the salt that it lacks: %j", (kept, today, expected) => {
    expect(withSalt(kept, today)).toBe(expected);
  });

  it("is what a killed one left: a lock of no process, or what it had begun to make", () => {
    const project = temporaryFolder("killed-");
    const env = { PULUMI_HOME: project };
    const state = join(project, ".pulumi-state/.pulumi");
    const [locks, stacks] = [
      join(state, "locks/organization/local-serving/dgx"),
      join(state, "stacks/local-serving"),
    ];
    for (const folder of [locks, stacks]) mkdirSync(folder, { recursive: true });
    const isKilled = (lock: unknown, pending: readonly unknown[] = []) => {
      writeFileSync(join(locks, "1.json"), JSON.stringify(lock ?? {}));
      const latest = { resources: [], pending_operations: pending };
      writeFileSync(join(stacks, "dgx.json"), JSON.stringify({ checkpoint: { latest } }));
      return engineWasKilled(project, "dgx", env);
    };
    const dead = 2 ** 22 + 1; // More than the kernel gives a process.
    expect(engineWasKilled(project, "dgx", env)).toBe(false);
    expect(isKilled({ pid: dead, hostname: hostname() })).toBe(true);
    expect(isKilled({ pid: process.pid, hostname: hostname() })).toBe(false);
    expect(isKilled({ pid: dead, hostname: "elsewhere" })).toBe(false);
    expect(isKilled(undefined)).toBe(false);
    expect(isKilled(undefined, [{ type: "creating" }])).toBe(true);
    expect(isKilled({ pid: process.pid, hostname: hostname() }, [{ type: "creating" }])).toBe(
      false,
    );
    expect(engineWasKilled(project, "other", env)).toBe(false);
    // Nothing is known of a state elsewhere, whatever an earlier one left here.
    expect(isKilled({ pid: dead, hostname: hostname() })).toBe(true);
    for (const elsewhere of ["s3://bucket", "https://api.example"])
      expect(engineWasKilled(project, "dgx", { ...env, PULUMI_BACKEND_URL: elsewhere })).toBe(
        false,
      );
    writeFileSync(join(stacks, "other.json.attrs"), "");
    expect(isKilled(undefined)).toBe(false);
    for (const [text, is] of [
      ["{}", false],
      ["", true],
      ['{"user.', true],
    ] as const) {
      writeFileSync(join(stacks, "dgx.json.attrs"), text);
      expect(engineWasKilled(project, "dgx", env)).toBe(is);
      expect(halfWritten(project, "dgx", env)).toEqual(is ? [join(stacks, "dgx.json.attrs")] : []);
    }
  });
});
