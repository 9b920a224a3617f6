import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ask, type NoAnswer } from "@local-serving/base/http/ask";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { statusOf } from "../docker/statusOf";
import { freePort } from "../layers/freePort";
import { run } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { type StackParts, stackConfig } from "./stackConfig";
import { Workspace } from "./workspace";

type Answer = { readonly choices: readonly [{ readonly message: { readonly content: string } }] };

const NO_A = { instanceA: "none" };

const WAITS =
  /waiting for 1 of its requests to end, at most \d+ s more \(`waitForRequestsMinutes`\)\./;
const UP_SECONDS = 600;

describeEngineWithGpus("requests that run while their server is replaced", () => {
  let workspace: Workspace;
  let parts: StackParts;
  const url = () => `http://127.0.0.1:${parts.portB}`;
  beforeAll(async () => {
    const portB = await freePort();
    parts = { image: await pinnedImage(), portA: await freePort(), portB, unique: `r${portB}` };
    workspace = await Workspace.open({ config: stackConfig(parts, {}, NO_A) });
    const first = await npmRunUp({});
    expect(first.code, first.stdout).toBe(0);
    // Nothing was applied before, so nothing is cut off.
    expect(first.stdout).not.toContain("waitForRequestsMinutes");
  });
  afterAll(async () => workspace.close());

  const npmRunUp = async (
    server: object,
    machine: object = {},
    beside: Parameters<typeof stackConfig>[3] = {},
  ) => {
    workspace.configure(stackConfig(parts, { ...server }, { ...NO_A, ...machine }, beside));
    return update();
  };
  const update = async () => {
    rmSync(said(), { force: true });
    const engine = join(workspace.project, "bundle/serving.cjs");
    const args = [engine, "up", "--yes", "--stack", workspace.stack, "--color", "never"];
    const shown = args.map((word) => `'${word}'`).join(" ");
    // Into a file, since what it says decides when a request may end.
    const { code } = await run("sh", ["-c", `node ${shown} >'${said()}' 2>&1`], {
      ...{ cwd: workspace.project, env: workspace.env, limitSeconds: UP_SECONDS },
    });
    return { code, stdout: readFileSync(said(), "utf8") };
  };
  const said = () => join(workspace.root, "said");
  /** Lets the request end once the update says that it waits for it. */
  const releaseWhenWaited = async () => {
    const whatIsSaid = () => (existsSync(said()) ? readFileSync(said(), "utf8") : "");
    await expect.poll(whatIsSaid, { timeout: UP_SECONDS * 1000 }).toMatch(WAITS);
    const at = Date.now();
    await ask(`${url()}/stand-in/release`, { timeoutSeconds: UP_SECONDS });
    return at;
  };
  const ready = () => expect.poll(() => statusOf(`${url()}/health`)).toBe(200);
  const running = async () => {
    const { text } = await ask(`${url()}/metrics`, { timeoutSeconds: UP_SECONDS });
    return Number(/^vllm:num_requests_running\S+ (\S+)$/m.exec(text)?.[1]);
  };
  /** What becomes of a request that runs until it is let go. */
  const request = (model = `model-${parts.unique}`) =>
    ask(`${url()}/v1/chat/completions`, {
      timeoutSeconds: UP_SECONDS,
      body: { model, messages: [{ role: "user", content: "Say hello." }], stand_in_held: true },
    }).then(
      ({ text }) => (JSON.parse(text) as Answer).choices[0].message.content,
      ({ reason }: NoAnswer) => (reason === "closed" ? "cut off" : reason),
    );
  const startedAt = async () => {
    const name = `vllm-model-${parts.unique}-${parts.portB}`;
    const { stdout } = await run("docker", ["inspect", "--format", "{{.State.StartedAt}}", name]);
    return Date.parse(stdout.trim());
  };

  it("end with their whole answer, and only then `serving up` replaces the container", async () => {
    await ready();
    const before = await startedAt();
    const [answer, up, released] = await Promise.all([
      request(),
      afterStart(() => npmRunUp({ gpuMemoryUtilization: 0.03 })),
      releaseWhenWaited(),
    ]);
    expect(up.code, up.stdout).toBe(0);
    expect(["", "cut off"]).not.toContain(answer);
    expect(before).toBeLessThan(released);
    expect(await startedAt()).toBeGreaterThan(released);
    expect(up.stdout).toContain("dgx.b: its requests have ended.");
    // The preview, before the yes, says who waits.
    expect(up.stdout.slice(0, up.stdout.indexOf("Updating"))).toContain(
      "Plain `pulumi up` cuts them off.",
    );
    await ready();
  });

  it("are cut off after the time that the stack file gives them", async () => {
    const [answer, up] = await Promise.all([
      request(),
      afterStart(() => npmRunUp({ gpuMemoryUtilization: 0.02 }, { waitForRequestsMinutes: 0.1 })),
    ]);
    expect(up.code, up.stdout).toBe(0);
    expect(answer).toBe("cut off");
    expect(up.stdout).toContain(
      "dgx.b: after 0.1 min, 1 of its requests are still running and are cut off.",
    );
    await ready();
  });

  it("are not waited for with 0, nor where nothing runs, nor by plain `pulumi up`", async () => {
    const [cut, none] = await Promise.all([
      request(),
      afterStart(() => npmRunUp({ gpuMemoryUtilization: 0.03 }, { waitForRequestsMinutes: 0 })),
    ]);
    expect([cut, none.code]).toEqual(["cut off", 0]);
    expect(none.stdout).not.toContain("of its requests");
    await ready();
    const idle = await npmRunUp({ gpuMemoryUtilization: 0.02 });
    expect([idle.code, /of its requests|have ended/.test(idle.stdout)]).toEqual([0, false]);
    await ready();
    workspace.configure(stackConfig(parts, { gpuMemoryUtilization: 0.03 }, NO_A));
    const [gone, plain] = await Promise.all([request(), afterStart(() => workspace.up())]);
    expect([gone, plain.code]).toEqual(["cut off", 0]);
    expect(plain.stdout.slice(plain.stdout.indexOf("Updating"))).toContain(
      "Plain `pulumi up` cuts them off.",
    );
    await ready();
  });

  it("end before their server is removed for good", async () => {
    const [portC, { portB }] = [await freePort(), parts];
    const server = { gpuMemoryUtilization: 0.03 };
    const both = { c: { port: portC, servedModelName: `c-${parts.unique}` } };
    const added = await npmRunUp(server, {}, both);
    expect(added.code, added.stdout).toBe(0);
    parts = { ...parts, portB: portC };
    await ready();
    const asked = request(`c-${parts.unique}`);
    await expect.poll(running).toBe(1);
    const removed = { ...parts };
    workspace.configure(stackConfig({ ...parts, portB }, server, NO_A));
    const up = update();
    const [answer] = await Promise.all([asked, up, releaseWhenWaited()]);
    expect(["", "cut off"]).not.toContain(answer);
    expect((await up).code).toBe(0);
    expect((await up).stdout).toContain("dgx.c: its requests have ended.");
    expect(await statusOf(`http://127.0.0.1:${removed.portB}/health`)).toBeUndefined();
  });

  /** Starts something once the request beside it runs. */
  async function afterStart<T>(then: () => Promise<T>): Promise<T> {
    await expect.poll(running).toBe(1);
    return then();
  }
});
