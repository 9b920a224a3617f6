import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { memoryLines } from "../../../cli/sees/containerLog";
import { temporaryFolder } from "../../layers/temporaryFolder";

const folder = temporaryFolder("memory-lines-");
afterEach(() => vi.unstubAllEnvs());

function dockerSays(script: string): void {
  const file = join(folder, "docker");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH ?? ""}`);
}

describe("what a container's log says of memory", () => {
  it("is found among megabytes of a busy server's lines, on either output, and nothing else is kept", async () => {
    dockerSays(
      [
        '[ "$*" = "logs b" ] || exit 1',
        "echo 'INFO Available KV cache memory: 4.61 GiB' >&2",
        "echo 'INFO GPU KV cache size: 456,766 tokens'",
        "yes 'INFO GPU KV cache usage: 3.2%, Prefix cache hit rate: 9.0%' | head -n 200000",
        "echo \"INFO Received request 1: prompt: 'GPU KV cache size: 1 tokens'\"",
      ].join("\n"),
    );
    expect(await memoryLines("b", "unix:///var/run/docker.sock", 20)).toEqual({
      text: "INFO Available KV cache memory: 4.61 GiB\nINFO GPU KV cache size: 456,766 tokens",
    });
  });

  it("is only what was said since the start gate last opened, and what the gate says", async () => {
    dockerSays(
      [
        "echo 'INFO Available KV cache memory: 4.61 GiB'",
        "echo 'start gate: stopped at the floor: 1.20 GiB are available, below 2.00 GiB for 3 s'",
        "echo 'start gate: open after 60 s, 60.00 GiB are available'",
        "echo 'INFO Available KV cache memory: 4.70 GiB'",
        "echo \"INFO Received request 1: prompt: 'start gate: open after 60 s', params: 'start gate: closed: 3'\"",
        "echo 'start gate: stopped at the floor: 1.10 GiB are available, below 2.00 GiB for 3 s'",
      ].join("\n"),
    );
    const text = [
      "INFO Available KV cache memory: 4.70 GiB",
      "start gate: stopped at the floor: 1.10 GiB are available, below 2.00 GiB for 3 s",
    ].join("\n");
    expect(await memoryLines("b", "", 20)).toEqual({ text });
  });

  it("is nothing where docker fails; of a log without an end it is what came in time, and that is said", async () => {
    dockerSays("echo 'Error response from daemon: No such container: b' >&2; exit 1");
    expect(await memoryLines("b", "", 20)).toEqual({ text: "" });
    dockerSays("echo 'Model loading took 20.5 GiB memory'; exec sleep 3600");
    expect(await memoryLines("b", "", 1)).toEqual({
      text: "Model loading took 20.5 GiB memory",
      cutShort: "its log was not read beyond 1 s: a later start may be missing",
    });
  });
});
