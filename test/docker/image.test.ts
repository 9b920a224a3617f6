import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeDocker, describeDockerWithGpus } from "./available";
import { type PinnedImage, pinnedImage } from "./image";
import { statusOf } from "./statusOf";

describeDocker("the stand-in image", () => {
  let image: PinnedImage;
  beforeAll(async () => {
    image = await pinnedImage({
      versions: { vllm: "0.29.0", transformers: "5.11.0", torch: "2.13.0" },
    });
  });

  const inside = (entrypoint: string, ...args: string[]) =>
    run("docker", ["run", "--rm", "--entrypoint", entrypoint, image.reference, ...args]);

  it("has a tag of its vLLM version and a digest that the registry knows", async () => {
    expect(image.reference).toMatch(
      /^localhost:\d+\/vllm\/vllm-openai:v0\.29\.0@sha256:[0-9a-f]{64}$/,
    );
    await mustRun("docker", ["rmi", image.tag]);
    await mustRun("docker", ["pull", image.reference]);
  });

  it("gives another image another digest", async () => {
    expect((await pinnedImage()).digest).not.toBe(image.digest);
  });

  it("starts `vllm serve` with the container's arguments", async () => {
    const args = JSON.parse(
      await mustRun("docker", [
        "image",
        "inspect",
        "--format",
        "{{json .Config.Entrypoint}}",
        image.reference,
      ]),
    );
    expect(args).toEqual(["vllm", "serve"]);
    const refused = await run("docker", [
      "run",
      "--rm",
      image.reference,
      "m",
      "--enable-auto-tool-choice",
    ]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: "Error: --enable-auto-tool-choice requires --tool-call-parser\n",
    });
  });

  it.each([
    [
      "json",
      'import importlib.metadata as m, json; print(json.dumps({n: m.version(n) for n in ("vllm", "transformers")}))',
      '{"vllm":"0.29.0","transformers":"5.11.0"}\n',
    ],
    ["plain", "from importlib.metadata import version; print(version('transformers'))", "5.11.0\n"],
  ])("tells the versions inside, %s", async (_, code, stdout) => {
    expect(await inside("python3", "-c", code)).toMatchObject({ code: 0, stdout });
  });

  it("has the shell and the tools that a start script needs", async () => {
    const script =
      "awk '/^MemAvailable:/ { print ($2 > 0) }' /proc/meminfo; sleep 0; date +%s | grep -c '^[0-9]*$'";
    expect(await inside("/bin/sh", "-c", script)).toMatchObject({ code: 0, stdout: "1\n1\n" });
  });
});

describeDockerWithGpus("a container of the stand-in image", () => {
  let port: number;
  let container: string;
  beforeAll(async () => {
    port = await freePort();
    const image = await pinnedImage();
    container = await mustRun("docker", [
      ...[
        "run",
        "--detach",
        "--gpus",
        "all",
        "--ipc",
        "host",
        "--publish",
        `127.0.0.1:${port}:8001`,
      ],
      ...[
        image.reference,
        "org/m",
        "--served-model-name",
        "qwen",
        "--host",
        "0.0.0.0",
        "--port",
        "8001",
      ],
    ]);
  });
  afterAll(async () => {
    await mustRun("docker", ["rm", "--force", container]);
  });

  it("answers on its published port", async () => {
    await expect.poll(() => statusOf(`http://127.0.0.1:${port}/health`)).toBe(200);
    expect(await (await fetch(`http://127.0.0.1:${port}/version`)).json()).toEqual({
      version: "0.30.0",
    });
  });

  it.each([
    ["http://127.0.0.1:8001/health", 0],
    ["http://127.0.0.1:8001/nowhere", 22],
    ["http://127.0.0.1:9/health", 7],
  ])("has a curl that ends as a healthcheck on %s expects", async (url, code) => {
    expect((await run("docker", ["exec", container, "curl", "-fsS", "-m", "5", url])).code).toBe(
      code,
    );
  });

  it("ends within its grace when it is stopped", async () => {
    await mustRun("docker", ["stop", "--time", "60", container]);
    expect(await mustRun("docker", ["inspect", "--format", "{{.State.ExitCode}}", container])).toBe(
      "0",
    );
  });
});
