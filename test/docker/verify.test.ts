import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { runServing } from "../cli/runServing";
import { planned } from "../cli/verify/environment";
import { serverInput } from "../fixtures/machine";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeDocker } from "./available";
import { type PinnedImage, pinnedImage } from "./image";

describeDocker("serving status --wait and serving verify with a real container", () => {
  const folder = mkdtempSync(join(tmpdir(), "verify-docker-"));
  let image: PinnedImage;
  let port: number;
  let file: string;
  let name: string;
  const start = async (command: readonly string[]) => {
    await mustRun("docker", [
      ...["run", "--detach", "--name", name, "--publish", `127.0.0.1:${port}:${port}`],
      ...["--entrypoint", "vllm", image.reference, "serve", ...command],
    ]);
  };
  beforeAll(async () => {
    image = await pinnedImage();
    port = await freePort();
    const server = serverInput({ image: image.reference, port, maxModelLen: 131_072 });
    const machines = {
      dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: server } },
    };
    file = join(folder, "Pulumi.test.yaml");
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    name = `vllm-model-${port}`;
  });
  afterAll(async () => {
    await run("docker", ["rm", "--force", name]);
    rmSync(folder, { recursive: true });
  });

  it("waits until it is ready, and finds it as planned", async () => {
    const command = planned(port).machines[0]?.inferenceServers[0]?.container.command ?? [];
    await start(command);
    expect((await runServing(["wait", "--file", file, "--timeout", "60"])).out).toMatch(
      `${name} is ready`,
    );
    // `containers` says how a container that no `up` made differs: test/engine/drift.test.ts.
    const only = "memory,chat-tools,native-messages-path,prefix-reuse,kv-cache";
    const { code, out } = await runServing([
      "verify",
      "--file",
      file,
      "--only",
      only,
      "--format",
      "json",
    ]);
    const { probes } = JSON.parse(out) as {
      probes: { name: string; status: string; detail: string }[];
    };
    expect(probes.map((probe) => `${probe.name} ${probe.status}`)).toEqual([
      "chat-tools pass",
      "native-messages-path pass",
      "prefix-reuse pass",
      "kv-cache pass",
      "memory pass",
    ]);
    expect(probes.at(-1)?.detail).toMatch(new RegExp(`resident: ${name} \\d+\\.\\d GiB`));
    expect(code).toBe(0);
    await mustRun("docker", ["rm", "--force", name]);
  });

  it("tells an image that is not here from a container that is not there", async () => {
    const absent = join(folder, "Pulumi.absent.yaml");
    writeFileSync(
      absent,
      readFileSync(file, "utf8").replace(/sha256:\w+/g, `sha256:${"0".repeat(64)}`),
    );
    const waiting = async (stack: string) =>
      (await runServing(["wait", "--file", stack, "--timeout", "1"])).out.split("\n")[0];
    expect(await waiting(absent)).toBe(`${name}: not ready after 1 s (waiting for the image)`);
    expect(await waiting(file)).toBe(`${name}: not ready after 1 s (waiting for the container)`);
  });

  it("says at once that Docker can't start it, in Docker's words", async () => {
    const taken = createServer().listen(port, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    try {
      await expect(start(["org/model"])).rejects.toThrow("address already in use");
    } finally {
      await new Promise((resolve) => taken.close(resolve));
    }
    const { code, out } = await runServing(["wait", "--file", file, "--timeout", "60"]);
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`^${name}: Docker can't start it: .*address already in use`));
    await mustRun("docker", ["rm", "--force", name]);
  });

  it("says at once that it died, with its own words", async () => {
    await start(["org/model", "--enable-auto-tool-choice"]);
    const { code, out } = await runServing(["wait", "--file", file, "--timeout", "60"]);
    expect(code).toBe(1);
    expect(out).toContain(`${name}: it ended with exit code 1`);
    expect(out).toContain("Error: --enable-auto-tool-choice requires --tool-call-parser");
    const verify = await runServing(["verify", "--file", file, "--only", "containers"]);
    expect(verify.out).toContain(`${name} is exited`);
  });
});
