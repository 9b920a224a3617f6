import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { type Finished, mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { cloneAt, describeWithHistory } from "../package/atCommit";
import { installed, pack, packed } from "../package/packed";
import { describeEngineWithGpus } from "./available";
import { engineEnvironment } from "./environment";
import { stackConfig } from "./stackConfig";
import { writeStackFile } from "./stackFile";
import { readUpdate } from "./update";

/** The last commit before there was a package: whoever used it had a clone. */
const BEFORE_PACKAGE = "586c0828";

/** The first commit whose package runs. */
const FIRST_PACKAGE = "42199716";

/**
 * What a preview shows since these commits, as docs/upgrade.md names it: the files, by their script, the
 * plan, which says that nobody could weigh the tests' model, and inputs that nobody reads any more.
 */
const CHANGED_SINCE = [
  "update Command dgx-applied-plan",
  "update Command dgx-client-env",
  "update Command dgx-launcher-client-env",
  "update Command dgx-start-gate",
  "update ImageRecord dgx-b-image-record",
  "update Machine dgx",
];

const PAGE = readFileSync(join(__dirname, "../../docs/guide/own-repository.md"), "utf8");

/** The operator's own file, which the first `up` replaces. */
const THEIRS = "MINE=1\n";

/**
 * A stack of one server and a client's file, applied by an earlier program; its state is where that
 * program keeps it by itself. Each test here takes about a minute: a build and a package for each
 * program, and three to five runs of the engine.
 */
class Earlier {
  private constructor(
    readonly root: string,
    private readonly env: Readonly<Record<string, string | undefined>>,
    readonly config: ReturnType<typeof stackConfig>,
    readonly container: string,
  ) {}

  static async open(): Promise<Earlier> {
    const layer = inject("engineLayer");
    if (layer.missing !== undefined) throw new Error(layer.missing);
    const root = temporaryFolder("moved-");
    const given = engineEnvironment(root, layer);
    const portB = await freePort();
    const unique = `m${portB}`;
    const parts = { image: await pinnedImage(), portA: await freePort(), portB, unique };
    const config = stackConfig(
      parts,
      { maxModelLen: 131_072 },
      { instanceA: "none", memoryFloorGiB: 0, clients: { clientEnv: { server: "b" } } },
    );
    const env = {
      ...given,
      PULUMI_BACKEND_URL: undefined,
      PULUMI_CONFIG_PASSPHRASE: undefined,
      LOCAL_SERVING_STACK: undefined,
    };
    const stack = new Earlier(root, env, config, `vllm-model-${unique}-${portB}`);
    mkdirSync(dirname(stack.clientFile), { recursive: true });
    writeFileSync(stack.clientFile, THEIRS);
    return stack;
  }

  /** A file that the stack writes. */
  get clientFile(): string {
    return join(this.root, "home/.local/share/local-serving/clients/client.env");
  }

  in(folder: string, program: string, ...args: readonly string[]): Promise<Finished> {
    return run(program, args, { cwd: folder, env: this.env, limitSeconds: 150 });
  }

  async must(folder: string, program: string, ...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.in(folder, program, ...args);
    expect(code, `${program} ${args.join(" ")}:\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  /** What the program of a folder would change, as the engine says it. */
  async changes(folder: string): Promise<string[]> {
    const log = join(this.root, "events.json");
    const preview = ["preview", "--diff", "--event-log", log];
    const update = readUpdate(await this.in(folder, "node", bin(folder), ...preview), log);
    expect(update, update.stdout + update.stderr).toMatchObject({ code: 0 });
    expect(update.changes.same).toBeGreaterThan(0);
    return update.steps
      .map(({ op, type, name }) => `${op} ${type.split(":").at(-1)} ${name}`)
      .toSorted();
  }

  /** The running container by its id, which a replacement would change. */
  running(): Promise<string> {
    const format = "{{.Id}} {{.State.Running}}";
    return mustRun("docker", ["inspect", "--format", format, this.container]);
  }

  async close(folder: string): Promise<void> {
    await this.in(folder, "node", bin(folder), "down", "--yes");
    await run("docker", ["rm", "--force", this.container]);
    rmSync(this.root, { recursive: true, force: true });
  }
}

const bin = (folder: string) => join(folder, "node_modules/local-serving/bundle/serving.cjs");

describeWithHistory(
  "a stack of a clone that moves to a folder of its own",
  describeEngineWithGpus,
  () => {
    let stack: Earlier;
    let own = "";
    let started = "";

    beforeAll(async () => {
      stack = await Earlier.open();
      own = join(stack.root, "home/spark");
      await installed(await packed(), own);
      const clone = await cloneAt(BEFORE_PACKAGE);
      await mustRun("npm", ["run", "--silent", "build"], { cwd: clone });
      rmSync(join(clone, "Pulumi.dgx.yaml"));
      writeStackFile(join(clone, "Pulumi.spark.yaml"), stack.config);
      const npmRun = (script: string, ...args: readonly string[]) =>
        stack.must(clone, "npm", "run", "--silent", script, "--", ...args, "--stack", "spark");
      await npmRun("up", "--yes");
      await npmRun("serving", "wait");
      await npmRun("serving", "verify");
      started = await stack.running();
      const [, copy = ""] = /```sh\n(cp -r CLONE.*?) +#/.exec(PAGE) ?? [];
      const command = copy.replaceAll("CLONE", clone).replaceAll("NAME", "spark");
      await stack.must(own, "sh", "-c", command);
      await stack.must(own, "node", bin(own), "init", "--no-install", "--pin", "0.0.0");
    });
    afterAll(() => stack.close(own));

    it("has nothing to change", async () => {
      expect(started).toMatch(/ true$/);
      expect(await stack.changes(own)).toEqual(CHANGED_SINCE);
      const plan = await stack.must(own, "node", bin(own), "plan", "--against", "applied");
      expect(plan).toContain("Nothing is replaced or written.");
    });

    it("knows the stack file that passed in the clone", async () => {
      const plan = await stack.must(own, "node", bin(own), "plan", "--against", "verified");
      expect(plan).toContain("Changed settings\n  None.\n");
    });

    it("is applied and removed from there, and gives back the file that was there first", async () => {
      expect(readFileSync(stack.clientFile, "utf8")).not.toBe(THEIRS);
      await stack.must(own, "node", bin(own), "up", "--yes");
      expect(await stack.running()).toBe(started);
      await stack.must(own, "node", bin(own), "down", "--yes");
      await expect(stack.running()).rejects.toThrow(/no such object/i);
      expect(readFileSync(stack.clientFile, "utf8")).toBe(THEIRS);
    });
  },
);

/** What `serving init` makes; the first package had none for a folder of its own. */
const PULUMI_YAML = `name: local-serving
main: node_modules/local-serving/program.cjs
runtime:
  name: nodejs
  options:
    typescript: false
`;

describeWithHistory(
  "a stack of the first package that runs, under the package of today",
  describeEngineWithGpus,
  () => {
    let stack: Earlier;
    let own = "";
    let started = "";

    beforeAll(async () => {
      stack = await Earlier.open();
      own = join(stack.root, "home/spark");
      const today = await packed();
      await installed(await pack(await cloneAt(FIRST_PACKAGE)), own);
      writeFileSync(join(own, "Pulumi.yaml"), PULUMI_YAML);
      writeStackFile(join(own, "Pulumi.spark.yaml"), stack.config);
      await stack.must(own, "node", bin(own), "up", "--yes");
      started = await stack.running();
      expect(readFileSync(stack.clientFile, "utf8")).not.toBe(THEIRS);
      rmSync(join(own, "node_modules"), { recursive: true });
      expect(existsSync(bin(own))).toBe(false);
      await installed(today, own);
    });
    afterAll(() => stack.close(own));

    it("has nothing to change", async () => {
      expect(started).toMatch(/ true$/);
      expect(await stack.changes(own)).toEqual(CHANGED_SINCE);
    });

    it("is applied and removed by it", async () => {
      await stack.must(own, "node", bin(own), "up", "--yes");
      expect(await stack.running()).toBe(started);
      await stack.must(own, "node", bin(own), "down", "--yes");
      await expect(stack.running()).rejects.toThrow(/no such object/i);
      expect(readFileSync(stack.clientFile, "utf8")).toBe(THEIRS);
    });
  },
);
