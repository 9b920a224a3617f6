import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../layers/run";
import { listening } from "../stand-in/listening";
import { describeEngineWithDocker } from "./available";
import { SHARE, TOTAL_GIB } from "./stackConfig";
import { Workspace } from "./workspace";

const AGAIN = "then run `serving up` again (`serving fetch` loads everything first).\n";
const NONE_STOPPED = "No container was stopped or replaced.\n";
const NOTHING = `@sha256:${"0".repeat(64)}`;

describeEngineWithDocker("an image that can't be pulled", () => {
  let workspace: Workspace;
  let registry: Awaited<ReturnType<typeof listening>>;
  let refusal = { status: 500, code: "", message: "" };

  const configOf = (image: string) => ({
    "local-serving:machines": {
      dgx: {
        ...{ totalGiB: TOTAL_GIB, network: "net-failed-pull", operatingSystemGiB: 1 },
        instanceA: {
          port: 8999,
          gpuMemoryUtilization: SHARE,
          servedModelName: "old",
          maxModelLen: 131072,
        },
        bridge: { image, port: 8998, servers: ["instance-a"] },
      },
    },
  });
  beforeAll(async () => {
    const server = createServer((_, response) => {
      const { status, code, message } = refusal;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ errors: [{ code, message }] }));
    });
    registry = await listening(server);
    const env = { BRIDGE_KEY: "s3cret-NoOutputMayHoldThis" };
    workspace = await Workspace.open({ config: configOf(`x/litellm:v1${NOTHING}`), env });
  });
  afterAll(async () => {
    await workspace.close();
    await registry.close();
  });

  const up = async (image: string) => {
    workspace.configure(configOf(image));
    const engine = join(workspace.project, "bundle/serving.cjs");
    return run("node", [engine, "up", "--yes", "--stack", workspace.stack], {
      cwd: workspace.project,
      env: workspace.env,
    });
  };

  it.each([
    [
      "a login",
      401,
      "UNAUTHORIZED",
      "authentication required",
      "has no such repository, or requires a login. Log in with `docker login localhost:PORT`, or correct `image`, ",
    ],
    [
      "patience",
      429,
      "TOOMANYREQUESTS",
      "You have reached your pull rate limit.",
      "refuses further pulls from this address for now (rate limit). Wait, or log in with `docker login localhost:PORT`, ",
    ],
    [
      "a digest that exists",
      404,
      "MANIFEST_UNKNOWN",
      "manifest unknown",
      "has no such tag or digest for this machine. Correct `image`: `serving pin IMAGE:TAG --write` writes the digest of a tag that exists, ",
    ],
  ])(
    "ends `serving up` with one sentence: the registry wants %s",
    async (_, status, code, message, told) => {
      refusal = { status, code, message };
      const image = `localhost:${registry.port}/berriai/litellm:v1${NOTHING}`;
      const { code: end, stdout, stderr } = await up(image);
      expect(end).not.toBe(0);
      expect(stderr.slice(stderr.lastIndexOf("The image"))).toBe(
        `The image ${image} could not be fetched: the registry ${told.replace("PORT", String(registry.port))}${AGAIN}${NONE_STOPPED}`,
      );
      expect(stdout.slice(stdout.indexOf("Updating"))).not.toContain("endpoints");
    },
  );

  it("ends it so where there is no way to the registry", async () => {
    const image = `localhost:9/berriai/litellm:v1${NOTHING}`;
    const { stderr } = await up(image);
    expect(stderr).toContain(
      `The image ${image} could not be fetched: the registry can't be reached. Check the network (and Docker's own proxy), ${AGAIN}`,
    );
  });
});
