import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesOf } from "@local-serving/machines/files";
import { readListeners } from "@local-serving/machines/listeners";
import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeSsh } from "../layers/fakeSsh";
import { httpServer } from "../layers/httpServer";
import { temporaryFolder } from "../layers/temporaryFolder";

const proc = temporaryFolder("proc-");

mkdirSync(join(proc, "net"));
mkdirSync(join(proc, "77/fd"), { recursive: true });
mkdirSync(join(proc, "self/fd"), { recursive: true });
writeFileSync(
  join(proc, "net/tcp"),
  [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0",
    "   1: 0100007F:1F41 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0",
    "   2: 00000000:1F42 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0",
    "",
  ].join("\n"),
);
symlinkSync("socket:[4711]", join(proc, "77/fd/3"));
writeFileSync(
  join(proc, "77/cmdline"),
  `${["vllm", "serve", "org/model", "--gpu-memory-utilization", "0.72"].join("\0")}\0`,
);

afterEach(() => void vi.unstubAllEnvs());

const HOSTS = ["unix:///var/run/docker.sock", "ssh://me@dgx"];

describe("what listens on a port", () => {
  it.each(HOSTS)(
    "at %s is read with its argv, or without one where the process can't be looked into",
    async (dockerHost) => {
      vi.stubEnv("PATH", new FakeSsh().path);
      expect(await readListeners([8000, 8001, 8002, 8003], proc, filesOf({ dockerHost }))).toEqual([
        {
          port: 8000,
          pid: 77,
          argv: ["vllm", "serve", "org/model", "--gpu-memory-utilization", "0.72"],
        },
        { port: 8002 },
      ]);
    },
  );

  it("counts a connection to a port as no listener, and a missing /proc as nothing", async () => {
    expect(await readListeners([8001], proc)).toEqual([]);
    expect(await readListeners([8000], join(proc, "absent"))).toEqual([]);
  });

  it("is this process for a port that this process opened", async () => {
    const { port } = await httpServer(() => undefined);
    const [found] = await readListeners([port]);
    expect(found?.port).toBe(port);
    expect(found?.argv?.[0]).toMatch(/node/);
  });
});
