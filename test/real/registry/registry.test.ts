import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readHost } from "../../../cli/sees/computer/computer";
import { version } from "../../../package.json";
import { madeMachine } from "../../cli/init/madeMachine";
import { pinnedImage } from "../../docker/image";
import { engineEnvironment } from "../../engine/environment";
import { stackConfig } from "../../engine/stackConfig";
import { writeStackFile } from "../../engine/stackFile";
import { readUpdate, type Update } from "../../engine/update";
import { freePort } from "../../layers/freePort";
import { mustRun, run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { title } from "../programs";
import { type PackageRegistry, startPackageRegistry } from "./packageRegistry";

/** From an empty folder to the first plan, and what of it is this program's own time. */
const FIRST_PLAN_SECONDS = 60;
const OWN_SECONDS = 2;

/** The release after the one of today. */
const NEWER = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));

/** Stands for a service: it stays up, and that is all. */
const STAYS = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";

const STACK = "spark-7f3a";

const engine = inject("engineLayer");
const docker = inject("dockerLayer");
const missing =
  engine.missing ?? docker.missing ?? (docker.missing === undefined ? docker.gpusMissing : "");
/** A step that applies something. */
const applying = (name: string, step: () => Promise<void>) =>
  it.skipIf(missing !== undefined)(
    missing === undefined ? name : `${name} (skipped: ${missing})`,
    step,
  );

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

/** Expects work to be done in a time. A busy computer gets a second try, for which it starts anew. */
async function expectWithin(limit: number, what: string, work: () => Promise<unknown>) {
  const first = await seconds(work);
  const best = first < limit ? first : Math.min(first, await seconds(work));
  console.log(
    `${what}: ${first.toFixed(2)} s${best === first ? "" : `, then ${best.toFixed(2)} s`}`,
  );
  expect(best).toBeLessThan(limit);
}

const verdaccio = inject("verdaccio");
describe.skipIf("missing" in verdaccio)(
  title("a program that comes from a registry", verdaccio),
  () => {
    let registry: PackageRegistry;
    let env: Record<string, string | undefined>;
    let folder = "";
    let facts = "";
    let port = 0;

    beforeAll(async () => {
      if ("missing" in verdaccio) throw new Error(verdaccio.missing);
      registry = await startPackageRegistry(verdaccio.path);
      const root = temporaryFolder("from-registry-");
      env = {
        ...(engine.missing === undefined ? engineEnvironment(root, engine) : {}),
        // The state and its passphrase are where an operator has them who has set nothing.
        PULUMI_BACKEND_URL: undefined,
        PULUMI_CONFIG_PASSPHRASE: undefined,
        LOCAL_SERVING_STACK: undefined,
        ...registry.env,
      };
      folder = join(root, "spark");
      mkdirSync(folder);
      facts = join(root, "facts.json");
      writeFileSync(facts, JSON.stringify(await readHost(madeMachine({}).sources)));
    });
    afterAll(async () => {
      if (existsSync(join(folder, ".pulumi-state"))) {
        const down = await serving("down", "--yes");
        await run("docker", ["volume", "rm", "--force", `net-${unique()}-chat-ui-data`]);
        expect(down, down.stdout + down.stderr).toMatchObject({ code: 0 });
      }
      await registry?.stop();
    });

    /** The program as an operator runs it who has it in no other place. */
    const serving = (...args: string[]) =>
      run("npx", ["--yes", "local-serving", ...args], { cwd: folder, env });
    const file = () => join(folder, `Pulumi.${STACK}.yaml`);
    const pinned = (): unknown =>
      JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).dependencies;
    const unique = () => `registry${port}`;

    const up = async (): Promise<Update> => {
      const events = join(temporaryFolder("events-"), "events");
      return readUpdate(await serving("up", "--yes", "--event-log", events), events);
    };

    it("is asked for by npx in an empty folder, and plans a made-up Spark there", async () => {
      await registry.publish(version);
      let isFirst = true;
      await expectWithin(FIRST_PLAN_SECONDS, "npx init and npx plan", async () => {
        const [cwd, home] = isFirst
          ? [folder, env.HOME]
          : [temporaryFolder("again-"), temporaryFolder("nothing-in-the-cache-")];
        isFirst = false;
        const npx = (...args: string[]) =>
          run("npx", ["--yes", "local-serving", ...args], { cwd, env: { ...env, HOME: home } });
        const init = await npx("init", "--from", facts, "--yes");
        expect(init, init.stderr + registry.log()).toMatchObject({ code: 0 });
        const plan = await npx("plan");
        expect(plan).toMatchObject({ code: 0, stderr: "" });
        expect(plan.stdout).toContain("KV cache of vllm-qwen3.6-35b-a3b-8001");
      });
      expect(pinned()).toEqual({ "local-serving": version });
      expect(readdirSync(folder)).toContain(`Pulumi.${STACK}.yaml`);
    });

    it("takes little of that time itself", async () => {
      const program = join(folder, "node_modules/local-serving/bundle/serving.cjs");
      await expectWithin(OWN_SECONDS, "init and plan without npm", async () => {
        const cwd = temporaryFolder("no-install-");
        const own = (...args: string[]) => mustRun("node", [program, ...args], { cwd, env });
        await own("init", "--from", facts, "--yes", "--no-install");
        await own("plan", "--file", join(cwd, `Pulumi.${STACK}.yaml`));
      });
    });

    applying("applies a stack of stubs, and finds it as planned", async () => {
      port = await freePort();
      writeStackFile(file(), await stubs(port, unique()));
      const applied = await up();
      expect(applied, applied.stdout + applied.stderr).toMatchObject({ code: 0 });
      const waited = await serving("wait", "--timeout", "60");
      expect(waited, waited.stdout).toMatchObject({ code: 0 });
      const probes = ["containers", "chat-tools", "native-messages-path", "prefix-reuse"];
      const verified = await serving("verify", "--only", probes.join(","), "--format", "json");
      const results = JSON.parse(verified.stdout).probes as { name: string; status: string }[];
      expect(results.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(
        probes.map((name) => `${name} pass`).sort(),
      );
      expect(verified.code).toBe(0);
    });

    applying("shows what a newer release changes on the machine, and pins it", async () => {
      await registry.publish(NEWER);
      // As docs/upgrade.md has it.
      const outdated = await run("npm", ["outdated", "--json", "local-serving"], {
        cwd: folder,
        env,
      });
      expect(JSON.parse(outdated.stdout)).toMatchObject({
        "local-serving": { current: version, latest: NEWER },
      });
      const exact = ["install", "--save-exact", "local-serving@latest"];
      await mustRun("npm", exact, { cwd: folder, env });
      expect(pinned()).toEqual({ "local-serving": NEWER });
      expect((await serving("--version")).stdout).toBe(`${NEWER}\n`);
      const shown = await serving("plan", "--against", "applied");
      expect(shown, shown.stderr).toMatchObject({ code: 0 });
      expect(shown.stdout).toContain("clients lose nothing.");
    });

    applying("replaces nothing with the newer release", async () => {
      const running = async () => {
        const filter = ["--filter", `network=net-${unique()}`];
        const listed = await mustRun("docker", ["ps", "--quiet", "--no-trunc", ...filter]);
        return listed.split("\n").sort();
      };
      const before = await running();
      expect(before).toHaveLength(["b", "bridge", "chatUi"].length);
      const upgraded = await up();
      expect(upgraded, upgraded.stdout + upgraded.stderr).toMatchObject({ code: 0 });
      expect(upgraded.steps.map(({ op, type, name }) => `${op} ${type} ${name}`)).toEqual([]);
      expect(Object.keys(upgraded.changes)).toEqual(["same"]);
      expect(await running()).toEqual(before);
    });
  },
);

/** A stack that this computer can hold, each container of which is a stub. */
async function stubs(portB: number, unique: string) {
  const stub = (repository: string, entrypoint: string, tag: string) =>
    pinnedImage({ programs: { [entrypoint]: STAYS }, entrypoint: [entrypoint], repository, tag });
  const bridge = await stub("berriai/litellm", "litellm", "v1.103.0");
  const chatUi = await stub("open-webui/open-webui", "bash", "v0.11.3");
  const parts = { image: await pinnedImage(), portA: await freePort(), portB, unique };
  const services = {
    instanceA: "none",
    bridge: { image: bridge.reference, port: await freePort() },
    chatUi: { image: chatUi.reference, port: await freePort() },
  };
  return stackConfig(parts, { maxModelLen: 131_072 }, services);
}
