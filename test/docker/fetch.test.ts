import { spawn } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { beforeAll, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { COMMIT, MODEL, StandInHub } from "../cli/fetch/standInHub";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { listening } from "../stand-in/listening";
import { describeDocker } from "./available";
import { hubToolImage } from "./hubTool";
import type { PinnedImage } from "./makeImage";

/** Two files of 60 MB. */
const WEIGHTS = 120_000_000;

/** What the tool may ask for again: it writes 10 MiB at a time, of two files at once. */
const IN_HAND = 2 * 10 * 1024 ** 2;

const NO_HUB = expect.stringContaining("the hub can't be reached");

describeDocker("serving fetch with the real huggingface_hub", () => {
  // By itself the one goes on with a file that an earlier run began, and the newest does not.
  describe.each([
    ["older", ["huggingface_hub==1.16.0", "typer<0.21", "click<8.3"]],
    ["newest", ["huggingface_hub"]],
  ])("%s", (name, packages) => {
    const program = resolve("bundle/serving.cjs");
    let image: PinnedImage;
    let reached = false;
    let hub: StandInHub;
    let url: string;
    let folder: string;
    let cache: string;

    beforeAll(async () => {
      const made = await hubToolImage(name, packages);
      reached = made !== undefined;
      if (made !== undefined) image = made;
    });
    beforeEach(async ({ skip }: TestContext) => {
      if (!reached) skip("huggingface_hub can't be installed from PyPI");
      hub = new StandInHub(WEIGHTS / 2);
      const server = await listening(
        createServer((request, response) => void hub.answer(request, response)),
      );
      url = server.url;
      folder = temporaryFolder("fetch-");
      cache = join(folder, "cache");
      write({});
      return server.close;
    });

    const file = () => join(folder, "Pulumi.test.yaml");
    const write = ({ model = "", server = "", reference = image.reference }) =>
      writeFileSync(
        file(),
        `config:
  local-serving:machines:
    dgx:
      totalGiB: 121.63
      modelCache: ${cache}
      instanceA: none
      inferenceServers:
        b:
          model: { id: ${MODEL}${model} }
          servedModelName: model
          image: ${reference}
          versions: { vllm: 0.30.0, transformers: 5.12.1, evidence: read, digest: ${reference.split("@")[1]}, source: test }
          gpuMemoryUtilization: 0.45
          maxModelLen: 4096
${server}`,
      );
    const fetch = (args: readonly string[] = [], more: Record<string, string> = {}) =>
      run("node", [program, "fetch", "--file", file(), ...args], {
        env: { HF_ENDPOINT: url, ...more },
      });
    const snapshot = (path: string) =>
      join(cache, "hub/models--org--model/snapshots", COMMIT, path);
    const isWhole = () =>
      [...hub.files].every(
        ([path, { body }]) =>
          path.startsWith("original/") || readFileSync(snapshot(path)).equals(body),
      );
    const continued = () => hub.asked.filter((asked) => !asked.endsWith(" from 0")).length;
    const containers = () =>
      mustRun("docker", ["ps", "--all", "--quiet", "--filter", "name=local-serving-fetch"]);

    it("pulls the image, fetches the model as the cache's owner, and then has nothing to do", async () => {
      mkdirSync(cache);
      chownSync(cache, 1234, 1234);
      await mustRun("docker", [
        "rmi",
        "--force",
        image.tag,
        image.reference.replace(/:[^:/]*@/, "@"),
      ]);
      const before = await fetch(["--check", "--format", "json"]);
      expect([before.code, readdirSync(cache)]).toEqual([1, []]);
      const { missing } = JSON.parse(before.stdout);
      const wanted = [...hub.files].filter(([path]) => !path.startsWith("original/"));
      const bytes = wanted.reduce((sum, [, { body }]) => sum + body.length, 0);
      expect(missing.models).toEqual([{ id: MODEL, revision: null, bytes }]);
      expect(missing.images).toEqual([{ image: image.reference, bytes: expect.any(Number) }]);
      expect(missing.images[0].bytes).toBeGreaterThan(10e6);
      const { code, stderr } = await fetch();
      expect([stderr, code]).toEqual([expect.stringMatching(/org\/model: 121 MB of 121 MB, /), 0]);
      expect([isWhole(), hub.sent, existsSync(snapshot("original"))]).toEqual([
        true,
        WEIGHTS,
        false,
      ]);
      expect(statSync(snapshot("config.json")).uid).toBe(1234);
      const after = await fetch(["--check"]);
      expect([after.code, after.stdout]).toEqual([
        0,
        expect.stringContaining("dgx has every image and model"),
      ]);
    });

    it("goes on by range where the line is cut in the middle", async () => {
      hub.behaviour = { bytesPerSecond: 30e6, cuts: [35e6, 45e6] };
      const first = await fetch();
      // The older tool gives up at a cut; the newest asks for the rest itself.
      if (name === "older") expect([first.code, first.stdout]).toEqual([1, NO_HUB]);
      expect((await fetch()).code).toBe(0);
      expect([isWhole(), continued()]).toEqual([true, 2]);
      expect(hub.sent).toBeLessThan(WEIGHTS + 2 * IN_HAND);
    });

    it("on Ctrl-C stops its container and keeps what came over a slow line, and the next run goes on", async () => {
      hub.behaviour = { bytesPerSecond: 4e6 };
      const child = spawn("node", [program, "fetch", "--file", file()], {
        env: { ...process.env, HF_ENDPOINT: url },
      });
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        // The second figure comes after ten seconds.
        if (/ MB of 121 MB, \d+ MB\/s, .* left/.test(text)) child.kill("SIGINT");
      });
      const signal = await new Promise((resolve) => child.on("close", (_, by) => resolve(by)));
      expect([signal, await containers()]).toEqual(["SIGINT", ""]);
      expect(said).toContain("Interrupted. What was downloaded stays");
      hub.behaviour = {};
      expect((await fetch()).code).toBe(0);
      expect([isWhole(), continued()]).toEqual([true, 2]);
      // What the other side of the line had already been given is lost.
      expect(hub.sent).toBeLessThan(WEIGHTS + 2 * IN_HAND);
    });

    it("of two at once downloads nothing twice", async () => {
      hub.behaviour = { bytesPerSecond: 20e6 };
      const ends = await Promise.all([fetch(), fetch()]);
      expect(ends.map(({ code }) => code)).toEqual([0, 0]);
      expect([isWhole(), hub.sent]).toEqual([true, WEIGHTS]);
    });

    it("says why nothing comes: token, gate, revision, rate, tag, no hub", async () => {
      const server = "          huggingFaceTokenVariable: MY_TOKEN\n";
      write({ server });
      hub.behaviour = { token: "hf_GoodGoodGood1" };
      const wrong = await fetch([], { MY_TOKEN: "hf_WrongWrong111" });
      expect([wrong.code, wrong.stdout]).toEqual([
        1,
        expect.stringContaining("token in MY_TOKEN is not accepted"),
      ]);
      hub.behaviour = { gated: true };
      expect((await fetch([], { MY_TOKEN: "x" })).stdout).toContain("the model is gated");
      hub.behaviour = { status: 429 };
      expect((await fetch()).stdout).toContain("rate limit");
      hub.behaviour = {};
      write({ model: `, revision: ${"d".repeat(40)}` });
      expect((await fetch()).stdout).toContain("the hub has no revision dddd");
      write({ reference: image.reference.replace(/[0-9a-f]{64}$/, "0".repeat(64)) });
      expect((await fetch()).stdout).toContain("the registry has no such tag or digest");
      write({ model: ", weightsGB: 0.1" });
      expect((await fetch([], { HF_ENDPOINT: "http://127.0.0.1:9" })).stdout).toContain(
        "the hub can't be reached",
      );
      expect(hub.sent).toBe(0);
    });

    it("refuses a disk that is too small, and says so where one fills up meanwhile", async () => {
      mkdirSync(cache);
      await mustRun("mount", ["-t", "tmpfs", "-o", "size=110m", "tmpfs", cache]);
      try {
        const { code, stdout } = await fetch();
        expect([code, stdout]).toEqual([
          1,
          expect.stringMatching(
            /\d+ MB of disk are free, 121 MB are needed \(\S+cache\)\. Missing: 121 MB of models\./,
          ),
        ]);
        expect(hub.sent).toBe(0);
        await mustRun("mount", ["-o", "remount,size=140m", cache]);
        hub.behaviour = { bytesPerSecond: 10e6 };
        const filling = fetch();
        await expect.poll(() => hub.sent).toBeGreaterThan(0);
        writeFileSync(join(cache, "other"), Buffer.alloc(60e6));
        const filled = await filling;
        expect([filled.code, filled.stdout]).toEqual([
          1,
          expect.stringContaining("the disk is full"),
        ]);
      } finally {
        await mustRun("umount", ["--lazy", cache]);
      }
    });
  });
});
