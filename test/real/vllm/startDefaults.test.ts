import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { installVllm } from "../kv/environment";
import { ENGINE_VERSIONS, type EngineVersion, installEngine } from "./engine";

const run = promisify(execFile);

/** Seconds for an installation, with room for a busy machine. */
const SECONDS = 1200;

/** Whose fingerprint leaves out `max_num_seqs` as well. */
const SEQUENCES_LEFT_OUT: readonly string[] = ["0.26.0"];

/** PyPI has it for GPUs alone; its configuration is made without one. */
const FOR_GPUS = "0.33.0";

it.each([...ENGINE_VERSIONS, FOR_GPUS] as const)(
  "vLLM %s: a startup plan outlives its share, a connector refuses segments that grow",
  { timeout: SECONDS * 1000 },
  async (version) => {
    const { python, home, remove } = await installed(version);
    try {
      const snapshots = join(home, "hub/models--rig--dense/snapshots");
      const [revision = ""] = readdirSync(snapshots);
      const script = join(__dirname, "startDefaults.py");
      const { stdout } = await run(python, [script, join(snapshots, revision)], { cwd: home });
      const said = JSON.parse(stdout.slice(stdout.indexOf("SAID") + "SAID".length));
      expect([version, `${version}+cpu`]).toContain(said.version);
      expect(said.alone).toBe("taken");
      expect(said.beside).toContain("is incompatible with PYTORCH_CUDA_ALLOC_CONF");
      expect(said.without).toBe("taken");
      // Decision 23: once these differ, VLLM_ENABLE_STARTUP_PLAN does no harm.
      expect(said.shares[0]).toBe(said.shares[1]);
      expect(said.sequences[0] === said.sequences[1]).toBe(SEQUENCES_LEFT_OUT.includes(version));
      expect(said.batches[0]).not.toBe(said.batches[1]);
    } finally {
      remove();
    }
  },
);

/** vLLM's Python with the tiny models in the hub's cache. */
async function installed(version: EngineVersion | typeof FOR_GPUS) {
  if (version !== FOR_GPUS) {
    const engine = await installEngine(version);
    return { ...engine, python: join(engine.path, "../python") };
  }
  const home = temporaryFolder("startDefaults-");
  const vllm = await installVllm(version);
  await run(vllm.python, [join(__dirname, "tinyModels.py"), home], { maxBuffer: 2 ** 26 });
  return { ...vllm, home };
}
