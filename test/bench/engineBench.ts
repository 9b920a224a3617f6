import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plan } from "../../components/plan/plan";
import { stackSettings } from "../../components/settings/stackSettings";
import { startDockerLayer } from "../docker/layer";
import { makeImage } from "../docker/makeImage";
import { copyProgram } from "../engine/copyProgram";
import { engineEnvironment } from "../engine/environment";
import { findEngine } from "../engine/layer";
import { stackConfig } from "../engine/stackConfig";
import { writeStackFile } from "../engine/stackFile";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { writeBareProgram, writeEmptyPack } from "./bareProgram";
import { inTurns, reportTurns } from "./figures";

const PAIRS = 5;

export async function engineBench(): Promise<void> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bench-")));
  try {
    await benchIn(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function benchIn(root: string): Promise<void> {
  const engine = await findEngine(join(root, "engine"));
  if (engine.missing !== undefined) return console.log(`engine figures skipped: ${engine.missing}`);
  const docker = await startDockerLayer();
  const { layer } = docker;
  if (layer.missing !== undefined) return console.log(`engine figures skipped: ${layer.missing}`);
  const env = engineEnvironment(root, engine);
  const pulumi = (cwd: string, ...args: string[]) =>
    mustRun(engine.pulumi, [...args, "--stack", "bench", "--non-interactive"], {
      cwd,
      env,
      limitSeconds: 300,
    });
  const [ours, bare, empty] = [join(root, "ours"), join(root, "bare"), join(root, "empty")];
  try {
    mkdirSync(ours);
    const config = stackConfig({
      image: await makeImage(layer),
      portA: 1,
      portB: await freePort(),
      unique: "bench",
    });
    copyProgram(ours);
    writeStackFile(join(ours, "Pulumi.bench.yaml"), config);
    const settings = stackSettings.parse({ machines: config["local-serving:machines"] });
    const [machine] = plan(settings, { home: join(root, "home") }).machines;
    if (machine === undefined) throw new Error("no machine planned");
    writeBareProgram(bare, machine);
    writeEmptyPack(empty);
    await pulumi(ours, "stack", "init");
    await pulumi(bare, "stack", "init");
    const preview = (cwd: string, ...args: string[]) => pulumi(cwd, "preview", ...args);
    reportTurns(
      ["preview of ours", "preview of a bare program, same resources"],
      await inTurns(
        PAIRS,
        () => preview(ours),
        () => preview(bare),
      ),
      1.05,
    );
    reportTurns(
      ["preview of ours, our policy pack", "preview of ours, empty policy pack"],
      await inTurns(
        PAIRS,
        () => preview(ours, "--policy-pack", join(ours, "policies")),
        () => preview(ours, "--policy-pack", empty),
      ),
      1.05,
    );
    await pulumi(ours, "up", "--yes", "--skip-preview");
    reportTurns(
      ["up without changes", "preview without changes"],
      await inTurns(
        PAIRS,
        () => pulumi(ours, "up", "--yes", "--skip-preview"),
        () => preview(ours),
      ),
      1.15,
    );
  } finally {
    await mustRun(
      engine.pulumi,
      ["destroy", "--yes", "--skip-preview", "--stack", "bench", "--non-interactive"],
      {
        cwd: ours,
        env,
      },
    ).catch(() => {});
    await docker.stop();
  }
}
