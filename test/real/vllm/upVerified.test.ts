import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { digestOf } from "../../engine/stackConfig";
import { VerifiedStack } from "../../engine/verifiedStack";
import { mustRun } from "../../layers/run";
import { CPU_SERVER } from "./cpuServer";
import { describeWithImages } from "./describeWithImages";
import { type Engine, type EngineVersion, installEngine } from "./engine";
import { type ProgramImage, programImage } from "./programImage";

/** Two environments, linked and not copied, and two small images. */
const NEEDED_GB = 14;

/** Two starts of vLLM and three runs of its probes, on a busy machine. */
const LIMIT_SECONDS = 2400;

/** Where a container has its model cache; the environments, of 6 GB each, are mounted with it. */
const CACHE = ".cache/huggingface";

describeWithImages(
  "serving up --verified with the real vLLM",
  { neededGB: NEEDED_GB, limitSeconds: LIMIT_SECONDS },
  () => {
    let stack: VerifiedStack;
    const engines: Engine[] = [];
    let old: ProgramImage;
    let newer: ProgramImage;
    const table: string[] = [];

    const timed = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
      const began = performance.now();
      const result = await work();
      table.push(
        `${what.padEnd(48)}${((performance.now() - began) / 1000).toFixed(0).padStart(6)} s`,
      );
      return result;
    };
    const mountedAt = (version: EngineVersion) => `/root/${CACHE}/engines/${version}`;
    const imageOf = async (version: EngineVersion) => {
      const engine = await installEngine(version);
      engines.push(engine);
      return programImage(inject("dockerLayer"), {
        repository: "vllm/vllm-openai",
        version: `v${version}`,
        environment: dirname(dirname(engine.path)),
        mountedAt: mountedAt(version),
        files: {
          "/opt/scripted/scripted.py": readFileSync(join(__dirname, "scripted.py"), "utf8"),
        },
        changes: ['ENTRYPOINT ["vllm","serve"]'],
      });
    };
    /** The models of the old version, and both environments by hard links, which cost no disk. */
    const fill = async (home: string) => {
      const cache = join(home, CACHE);
      await mkdir(join(cache, "engines"), { recursive: true });
      for (const { version, path, home: models } of engines) {
        const to = join(cache, "engines", version);
        await mustRun("cp", ["--archive", "--link", dirname(dirname(path)), to]);
        await mustRun("cp", ["--archive", "--no-clobber", join(models, "hub"), cache]);
      }
    };
    /** What `serving pin --write` records of an image. */
    const versions = (image: ProgramImage) => ({
      versions: {
        vllm: image === old ? "0.30.0" : "0.32.0",
        transformers: image === old ? "5.23.0" : "5.19.0",
        evidence: "read",
        digest: digestOf(image),
        source: "the environment",
      },
    });
    const upVerified = (what: string) =>
      timed(what, () => stack.serving("up", "--verified", "--yes"));

    beforeAll(async () => {
      [old, newer] = [await imageOf("0.30.0"), await imageOf("0.32.0")];
      stack = await timed("up, wait and verify of 0.30.0", () =>
        VerifiedStack.open(old, {
          server: { ...CPU_SERVER, ...versions(old) },
          machine: { operatingSystemGiB: 4, startWithinMinutes: 15 },
          prepare: fill,
          limitSeconds: LIMIT_SECONDS,
        }),
      );
    }, LIMIT_SECONDS * 1000);
    afterAll(async () => {
      console.log(table.join("\n"));
      await stack?.close();
      for (const engine of engines) engine.remove();
    });

    it("keeps a newer vLLM whose probes pass", async () => {
      stack.configure(newer, versions(newer));
      const up = await upVerified("up --verified to 0.32.0, which stays");
      expect(up.code, up.stdout + up.stderr).toBe(0);
      expect(up.stderr).toContain("The stack file is the one to go back to from now on.");
      expect((await stack.running()).image).toBe(newer.reference);
      expect(await stack.callsTools("auto")).toBe(true);
    });

    it.each<[string, Record<string, unknown>, RegExp]>([
      [
        "a tool parser that finds no calls",
        { tools: { parser: "hermes" } },
        /The update was put back: dgx\.b chat-tools failed \(/,
      ],
      [
        "a variable that ends it as it starts",
        { environment: { ...CPU_SERVER.environment, VLLM_CPU_KVCACHE_SPACE: "much" } },
        /The update was put back: the start of dgx\.b failed \(it ended.*invalid literal for int\(\) with base 10: .much/,
      ],
    ])("goes back to it from %s", async (what, wrong, sentence) => {
      stack.configure(newer, { ...versions(newer), ...wrong });
      const up = await upVerified(`up --verified to ${what}`);
      expect(up.code, up.stdout + up.stderr).toBe(1);
      expect(up.stderr).toMatch(sentence);
      expect(up.stderr).toMatch(/the probes that passed before pass again \(\d+\)\./);
      console.log(up.stderr.slice(up.stderr.indexOf("The update was put back")));
      expect((await stack.running()).image).toBe(newer.reference);
      expect(await stack.callsTools("auto")).toBe(true);
      stack.configure(newer, versions(newer));
      const same = await stack.workspace.up("--skip-preview");
      expect([same.code, same.steps], same.stdout).toEqual([0, []]);
    });
  },
);
