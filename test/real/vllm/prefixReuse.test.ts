import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runToEnd } from "../process";
import { ENGINE_VERSIONS, type Engine, installEngine } from "./engine";

/** Installing an engine, and some 240 loops on two cores that others use too. */
const SECONDS = 2400;

interface Loop {
  readonly found: Readonly<Record<string, unknown>>;
}

const loops = readFileSync(join(__dirname, "../../kv/prefixReuse.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Loop);

describe.each(ENGINE_VERSIONS)("prefix reuse of vLLM %s's own scheduler", (version) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await installEngine(version);
  }, SECONDS * 1000);
  afterAll(() => engine?.remove());

  it(
    "is what was recorded",
    async () => {
      const folder = temporaryFolder("prefix-reuse-");
      const file = join(folder, "loops.json");
      writeFileSync(file, JSON.stringify(loops));
      const python = join(engine.path, "../python");
      const ran = await runToEnd(python, [join(__dirname, "prefixReuse.py"), file], {
        env: { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR: folder },
        cwd: folder,
        seconds: SECONDS,
      });
      const said = JSON.parse(ran.out.split("FOUND")[1] ?? `{"found": ${JSON.stringify(ran.err.slice(-2000))}}`);
      expect(said.found).toEqual(loops.map(({ found }) => found[version]));
    },
    SECONDS * 1000,
  );
});
