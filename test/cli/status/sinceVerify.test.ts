import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { describe, expect, it, vi } from "vitest";
import { readSystem, type System } from "../../../cli/sees/system";
import { sinceVerify, sinceVerifyText } from "../../../cli/status/sinceVerify";
import { FakeSsh } from "../../layers/fakeSsh";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker } from "../fakeDocker";

const THEN: System = {
  bootId: "one",
  bootedAt: "2026-11-01T00:00:00.000Z",
  kernel: "6.17.0-1014-nvidia",
  kernelArguments: [],
  driver: "580.95.05",
  docker: "28.3.3",
  toolkit: "1.18.0",
};
const BOOTED = { bootId: "two", bootedAt: "2026-11-24T10:00:00.000Z" };
const text = (now: System, then = THEN) => {
  const found = sinceVerify(then, now);
  return found === null ? null : sinceVerifyText(found);
};

describe("what became of a machine since its last verify", () => {
  it("is nothing while it has the same boot and versions", () => {
    expect(sinceVerify(THEN, { ...THEN })).toBeNull();
  });

  it("is a boot, with its time", () => {
    expect(text({ ...THEN, ...BOOTED })).toEqual([
      "since the last verify: it booted at 2026-11-24 10:00 UTC. `serving verify` shows whether everything still works.",
    ]);
  });

  it("is another kernel, driver, Docker or toolkit, with what the supply list knows of each", () => {
    const now = {
      ...THEN,
      ...BOOTED,
      kernel: "7.0.0-1019-nvidia",
      driver: "590.48.01",
      docker: "29.0.1",
      toolkit: "1.19.1 with CDI",
    };
    const [first, ...troubles] = text(now) ?? [];
    expect(first).toBe(
      "since the last verify: it booted at 2026-11-24 10:00 UTC; kernel 6.17.0-1014-nvidia -> 7.0.0-1019-nvidia; driver 580.95.05 -> 590.48.01; Docker 28.3.3 -> 29.0.1; NVIDIA Container Toolkit 1.18.0 -> 1.19.1 with CDI. `serving verify` shows whether everything still works.",
    );
    expect(troubles).toEqual([
      expect.stringMatching(/^ {2}kernel 7\.0\.0-1019-nvidia: .*add `kho=off`/),
      expect.stringMatching(/^ {2}driver 590\.48\.01: Drivers 590 deadlock/),
      expect.stringMatching(/^ {2}NVIDIA Container Toolkit 1\.19\.1 with CDI: A DGX Spark froze/),
    ]);
  });

  it("says that the supply list knows no trouble of other versions", () => {
    expect(text({ ...THEN, docker: "28.5.0" })).toEqual([
      "since the last verify: Docker 28.3.3 -> 28.5.0. `serving verify` shows whether everything still works.",
      "  The supply list knows no trouble with what runs now.",
    ]);
  });

  it("leaves out what was not read at both times", () => {
    const bare = { kernel: "unknown", kernelArguments: [] };
    expect([sinceVerify(THEN, bare), sinceVerify(bare, THEN)]).toEqual([null, null]);
    expect(sinceVerify({ ...THEN, bootId: "zero" }, { ...bare, bootId: "one" })).toEqual({
      bootedAt: "",
      changes: [],
      troubles: [],
    });
  });
});

describe("a machine's system", () => {
  const VERSION = { version: { out: "28.3.3\n" } };

  it("is read from where Linux and Docker have it; what is not there is left out", async () => {
    const proc = temporaryFolder("system-");
    vi.stubEnv("PATH", new FakeDocker(VERSION).env.PATH);
    const read = () => readSystem(HERE, { proc });
    expect(await read()).toEqual({ kernel: "unknown", kernelArguments: [], docker: "28.3.3" });
    for (const [path, said] of [
      ["sys/kernel/random/boot_id", "6b1f\n"],
      ["sys/kernel/osrelease", "6.17.0-1014-nvidia\n"],
      ["stat", "cpu  1 2 3\nbtime 1795514400\nprocesses 7\n"],
    ] as const) {
      mkdirSync(dirname(join(proc, path)), { recursive: true });
      writeFileSync(join(proc, path), said);
    }
    vi.stubEnv("PATH", "/nowhere");
    const found = await read();
    vi.unstubAllEnvs();
    expect(found).toEqual({
      bootId: "6b1f",
      bootedAt: "2026-11-24T10:00:00.000Z",
      kernel: "6.17.0-1014-nvidia",
      kernelArguments: [],
    });
  });

  it("is read over ssh, too", async () => {
    const ssh = new FakeSsh();
    vi.stubEnv("PATH", `${ssh.folder}:${new FakeDocker(VERSION).env.PATH}`);
    const [there, here] = [await readSystem("ssh://me@dgx"), await readSystem(HERE)];
    vi.unstubAllEnvs();
    expect(there).toEqual(here);
    expect(there).toMatchObject({
      docker: "28.3.3",
      bootId: expect.stringMatching(/^[\da-f-]{36}$/),
    });
    expect(ssh.asked().some((each) => each.includes("boot_id"))).toBe(true);
  });
});
