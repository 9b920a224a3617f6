import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { runServing } from "../cli/runServing";
import { planned } from "../cli/verify/environment";
import { serverInput } from "../fixtures/machine";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { ENDLESS } from "../stand-in/benchClient";
import { describeDocker } from "./available";
import { pinnedImage } from "./image";

const SMALL = [
  "--prompt",
  "640",
  "--new",
  "64",
  "--answer",
  "8",
  "--cold",
  "1000",
  "--agents",
  "2",
  "--calls",
  "2",
];

describeDocker("serving bench with a real container", () => {
  let file: string;
  let name: string;
  /** The folders of runs in the container, and the client's processes. */
  const left = async () => {
    const folders = await mustRun("docker", ["exec", name, "ls", "/tmp"]);
    const processes = await mustRun("docker", ["top", name, "-eo", "pid,args"]);
    return [...folders.split("\n"), ...processes.split("\n")].filter((line) =>
      /-bench-| bench serve /.test(line),
    );
  };

  beforeAll(async () => {
    const image = await pinnedImage();
    const port = await freePort();
    const server = serverInput({ image: image.reference, port, maxModelLen: 131_072 });
    const machines = {
      dgx: { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: server } },
    };
    file = join(temporaryFolder("bench-docker-"), "Pulumi.test.yaml");
    writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
    name = `vllm-model-${port}`;
    const command = planned(port).machines[0]?.inferenceServers[0]?.container.command ?? [];
    const published = [
      "--publish",
      `127.0.0.1:${port}:${port}`,
      "--entrypoint",
      "vllm",
      image.reference,
    ];
    await mustRun("docker", ["run", "--detach", "--name", name, ...published, "serve", ...command]);
    expect((await runServing(["wait", "--file", file, "--timeout", "60"])).code).toBe(0);
  });
  afterAll(() => run("docker", ["rm", "--force", name]));

  it("runs the client in it, records the rates, and leaves nothing there", async () => {
    const { code, out } = await runServing([
      "bench",
      "--file",
      file,
      ...SMALL,
      "--record",
      "--format",
      "json",
    ]);
    expect(code).toBe(0);
    const { runs, diff } = JSON.parse(out);
    expect(
      runs.map(({ title, requests }: Record<string, unknown>) => `${title}: ${requests}`),
    ).toEqual(["1000 cold: 1", "1 agent: 2", "2 agents: 4"]);
    expect(runs[2].reuse).toBeGreaterThan(0.9);
    expect(diff).toMatch(/^\+ +measuredSpeeds:\n\+ +prefill: 2000\n\+ +decode: 50$/m);
    expect(await left()).toEqual([]);
  });

  it("ends the client in the container when interrupted", async () => {
    const program = resolve(__dirname, "../../cli/serving.ts");
    const args = ["bench", "--file", file, ...SMALL, "--answer", String(ENDLESS)];
    const child = spawn(process.execPath, ["--import", "tsx", program, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const over = new Promise((settle) => child.on("close", (_, signal) => settle(signal)));
    await new Promise<void>((settle) => {
      let said = "";
      child.stderr.on("data", (chunk) => {
        said += String(chunk);
        if (said.includes("waiting")) settle();
      });
    });
    expect((await left()).length).toBeGreaterThan(1);
    child.kill("SIGINT");
    expect(await over).toBe("SIGINT");
    expect(await left()).toEqual([]);
  });

  it("says that the server doesn't answer, and that nothing is applied once its container is gone", async () => {
    const bench = async () => {
      const { code, err } = await runServing(["bench", "--file", file]);
      return [code, err];
    };
    await mustRun("docker", ["stop", "--time", "1", name]);
    expect(await bench()).toEqual([
      1,
      expect.stringMatching(
        /vllm-model-\d+ does not answer: .* Follow its start: serving status --wait/,
      ),
    ]);
    await mustRun("docker", ["rm", "--force", name]);
    expect(await bench()).toEqual([1, "Nothing is applied yet: run `serving up --stack test`.\n"]);
  });
});
