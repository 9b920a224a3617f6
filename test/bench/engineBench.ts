import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { plan } from "../../components/plan/plan";
import { stackSettings } from "../../components/settings/stackSettings";
import { startDockerLayer } from "../docker/layer";
import { engineEnvironment } from "../engine/environment";
import { findEngine } from "../engine/layer";
import { stackConfig } from "../engine/stackConfig";
import { writeStackFile } from "../engine/stackFile";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { writeBareProgram, writeEmptyPack } from "./bareProgram";
import { report, timed } from "./figures";

const PROJECT = resolve(__dirname, "../..");
const RUNS = 5;
const SOURCES = [
  "index.ts",
  "Pulumi.yaml",
  "package.json",
  "tsconfig.json",
  "components",
  "faults",
  "harness",
  "models",
  "policies",
];

/** Previews against a bare program and an empty pack, and an `up` without changes; with real parts or not at all. */
export async function engineBench(): Promise<void> {
  const engine = await findEngine();
  if (engine.missing !== undefined) return console.log(`engine figures skipped: ${engine.missing}`);
  const docker = await startDockerLayer();
  const { layer } = docker;
  if (layer.missing !== undefined) return console.log(`engine figures skipped: ${layer.missing}`);
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bench-")));
  const env = engineEnvironment(root, engine);
  const pulumi = (cwd: string, ...args: string[]) =>
    mustRun(engine.pulumi, [...args, "--stack", "bench", "--non-interactive"], {
      cwd,
      env,
      limitSeconds: 300,
    });
  const [ours, bare, empty] = [join(root, "ours"), join(root, "bare"), join(root, "empty")];
  try {
    for (const folder of ["home", "pulumi", "state", "ours"]) mkdirSync(join(root, folder));
    symlinkSync(engine.plugins, join(root, "pulumi/plugins"));
    const config = stackConfig({
      image: await pushed(layer.registry, layer.baseImage),
      portA: 1,
      portB: await freePort(),
      unique: "bench",
    });
    for (const name of SOURCES) cpSync(join(PROJECT, name), join(ours, name), { recursive: true });
    symlinkSync(realpathSync(join(PROJECT, "node_modules")), join(ours, "node_modules"));
    writeStackFile(join(ours, "Pulumi.bench.yaml"), config);
    const settings = stackSettings.parse({ machines: config["local-serving:machines"] });
    const [machine] = plan(settings, { home: join(root, "home") }).machines;
    if (machine === undefined) throw new Error("no machine planned");
    writeBareProgram(bare, machine);
    writeEmptyPack(empty);
    await pulumi(ours, "stack", "init");
    const ourPreview = await timed(RUNS, () => pulumi(ours, "preview"));
    const withEmpty = await timed(RUNS, () => pulumi(ours, "preview", "--policy-pack", empty));
    const withOurs = await timed(RUNS, () =>
      pulumi(ours, "preview", "--policy-pack", join(ours, "policies")),
    );
    await pulumi(ours, "up", "--yes", "--skip-preview");
    const noOpPreview = await timed(RUNS, () => pulumi(ours, "preview"));
    const noOpUp = await timed(RUNS, () => pulumi(ours, "up", "--yes", "--skip-preview"));
    await pulumi(ours, "destroy", "--yes", "--skip-preview");
    await pulumi(ours, "stack", "rm", "--yes");
    await pulumi(bare, "stack", "init");
    const barePreview = await timed(RUNS, () => pulumi(bare, "preview"));
    const ratio = (a: { median: number }, b: { median: number }) => `${(a.median / b.median).toFixed(2)} x`;
    report("preview of a bare program, same resources", barePreview);
    report(
      "preview of ours",
      ourPreview,
      `${ratio(ourPreview, barePreview)} the bare one, goal: at most 1.15`,
    );
    report("preview of ours, empty policy pack", withEmpty);
    report(
      "preview of ours, our policy pack",
      withOurs,
      `${ratio(withOurs, withEmpty)} the empty pack, goal: at most 1.25`,
    );
    report("preview without changes", noOpPreview);
    report("up without changes", noOpUp, `${ratio(noOpUp, noOpPreview)} the preview, goal: at most 1.15`);
  } finally {
    await mustRun(
      engine.pulumi,
      ["destroy", "--yes", "--skip-preview", "--stack", "bench", "--non-interactive"],
      { cwd: ours, env },
    ).catch(() => {});
    rmSync(root, { recursive: true, force: true });
    await docker.stop();
  }
}

/** The stand-in image under vLLM's name in the tests' registry. */
async function pushed(registry: string, image: string) {
  const tag = `${registry}/vllm/vllm-openai:v0.30.0`;
  await mustRun("docker", ["tag", image, tag]);
  await mustRun("docker", ["push", "--quiet", tag]);
  const digests = JSON.parse(
    await mustRun("docker", ["image", "inspect", "--format", "{{json .RepoDigests}}", tag]),
  ) as string[];
  const digest = digests.map((each) => each.split("@")[1]).find(Boolean) ?? "";
  return { tag, digest, reference: `${tag}@${digest}` };
}
