import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REAL_STARTS } from "../../cli/doctor/realStarts";
import { ENGINE_VERSIONS, type Engine, installEngine } from "./engine";
import { FAILING_STARTS, failedStart } from "./failingStarts";
import { told } from "./told";

const INSTALL_MS = 600_000;
const START_MS = 600_000;

/**
 * The version whose logs doctor's own tests hold; of the others only starts that end before their
 * engine begins.
 */
const ALL_OF = "0.30.0";

describe.each(ENGINE_VERSIONS)("a start of the real vLLM %s that fails", (version) => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await installEngine(version);
  }, INSTALL_MS);
  afterAll(() => engine?.remove());

  const starts = FAILING_STARTS.filter(({ late }) => version === ALL_OF || late !== true);
  it.each(starts.map((each) => [each.name, each] as const))(
    "%s is told by doctor",
    async (name, each) => {
      const { code, log } = await failedStart(engine, each);
      expect(code).not.toBe(0);
      expect(await told(log)).toEqual([REAL_STARTS[name]?.id]);
    },
    START_MS,
  );
});
