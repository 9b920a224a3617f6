import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { installEngine } from "./engine";

/** Seconds for an installation, with room for a busy machine. */
const SECONDS = 1200;

it.each(["0.30.0", "0.32.0"] as const)(
  "vLLM %s: a startup plan outlives its share, a connector refuses segments that grow",
  { timeout: SECONDS * 1000 },
  async (version) => {
    const engine = await installEngine(version);
    try {
      const snapshots = join(engine.home, "hub/models--rig--dense/snapshots");
      const [revision = ""] = readdirSync(snapshots);
      const program = join(engine.path, "../python");
      const { stdout } = await promisify(execFile)(
        program,
        [join(__dirname, "startDefaults.py"), join(snapshots, revision)],
        { cwd: engine.home },
      );
      const { shares, sequences, moved } = JSON.parse(
        stdout.slice(stdout.indexOf("SAID") + "SAID".length),
      );
      // Decision 23: once these differ, VLLM_ENABLE_STARTUP_PLAN does no harm.
      expect(shares[0]).toBe(shares[1]);
      expect(sequences[0]).not.toBe(sequences[1]);
      expect(moved).toContain("is incompatible with PYTORCH_CUDA_ALLOC_CONF");
    } finally {
      engine.remove();
    }
  },
);
