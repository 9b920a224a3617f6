import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { serverInput } from "../../fixtures/machine";
import { type StandIn, startStandIn } from "../../stand-in/server";
import { runServing } from "../runServing";

const folder = mkdtempSync(join(tmpdir(), "serving-wait-"));
const path = process.env.PATH;
let server: StandIn;
beforeAll(async () => {
  server = await startStandIn(["m", "--host", "127.0.0.1", "--port", "0"]);
  process.env.PATH = `${folder}:${path}`;
});
afterAll(async () => {
  process.env.PATH = path;
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A `docker` that knows one container: its state as `docker inspect` has it, and its log. */
function docker(state: object | undefined, log = ""): void {
  const inspected = JSON.stringify([
    { RestartCount: 0, State: { Status: "running", StartedAt: "2026-11-21T13:00:00Z", ...state } },
  ]);
  writeFileSync(join(folder, "inspect.json"), inspected);
  writeFileSync(join(folder, "log"), log);
  const script = [
    "#!/bin/sh",
    "shift 2",
    'case "$1" in',
    `  ps) ${state === undefined ? ":" : "echo 4711"} ;;`,
    `  inspect) cat '${folder}/inspect.json' ;;`,
    `  logs) cat '${folder}/log' ;;`,
    "  *) exit 1 ;;",
    "esac",
  ];
  writeFileSync(join(folder, "docker"), script.join("\n"));
  chmodSync(join(folder, "docker"), 0o755);
}

/** A stack file with one server on this port. */
function stackFile(port: number): string {
  const file = join(folder, `Pulumi.${port}.yaml`);
  const machines = {
    dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: serverInput({ port }) } },
  };
  writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
  return file;
}

describe("serving wait", () => {
  it("is done when the server is healthy", async () => {
    docker({});
    const { code, out, err } = await runServing([
      "wait",
      "--file",
      stackFile(server.port),
      "--format",
      "json",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      servers: [{ container: `vllm-model-${server.port}`, outcome: "ready", lastLines: [] }],
    });
    expect(err).toContain("ready");
  });

  it("ends early with the log of a container that died, and says what is next", async () => {
    docker(
      { Status: "exited", ExitCode: 1 },
      "INFO Starting to load model m...\rLoading 10%\nValueError: No available memory for the cache blocks.\n",
    );
    const { code, out } = await runServing(["wait", "--file", stackFile(1)]);
    expect(code).toBe(1);
    expect(out).toContain("vllm-model-1: it ended with exit code 1\nThe end of its log:\n");
    expect(out).toContain(
      "  Loading 10%\n  ValueError: No available memory for the cache blocks.\nNext: serving doctor",
    );
  });

  it("ends when its time is over", async () => {
    docker(undefined);
    const { code, out, err } = await runServing(["wait", "--file", stackFile(1), "--timeout", "1"]);
    expect(code).toBe(1);
    expect(out).toContain("vllm-model-1: not ready after 1 s (absent)");
    expect(err).toContain("its image is not here: it is being pulled");
  });

  it("says it when Docker does not answer", async () => {
    writeFileSync(
      join(folder, "docker"),
      "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n",
    );
    const { code, out, err } = await runServing(["wait", "--file", stackFile(1)]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("Cannot connect to the Docker daemon");
  });

  it("names the servers there are, when another is meant", async () => {
    const { code, err } = await runServing(["wait", "--file", stackFile(1), "--server", "c"]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("--server c: no such entry of inferenceServers; there are: b."),
    ]);
  });
});
