import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { installVllm } from "../kv/environment";
import { runToEnd } from "../process";
import { ENGINE_VERSIONS, installEngine } from "./engine";

/** Installing an engine, and some 240 loops on two cores that others use too. */
const SECONDS = 2400;

interface Loop {
  readonly found: Readonly<Record<string, unknown>>;
}

const loops = readFileSync(join(__dirname, "../../kv/prefixReuse.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Loop);

/**
 * Each with its Python; of 0.33 there is no build for CPUs, and the one for GPUs needs none for its
 * scheduler.
 */
const INSTALLED = [
  ...ENGINE_VERSIONS.map((version) => {
    const install = async () => {
      const { path, remove } = await installEngine(version);
      return { python: join(path, "../python"), remove };
    };
    return { version, install };
  }),
  { version: "0.33.0", install: () => installVllm("0.33.0") },
];

describe.each(INSTALLED)(
  "prefix reuse of vLLM $version's own scheduler",
  ({ version, install }) => {
    let engine: Awaited<ReturnType<typeof install>> | undefined;
    beforeAll(async () => {
      engine = await install();
    }, SECONDS * 1000);
    afterAll(() => engine?.remove());

    it(
      "is what was recorded",
      async () => {
        const folder = temporaryFolder("prefix-reuse-");
        const file = join(folder, "loops.json");
        writeFileSync(file, JSON.stringify(loops));
        const ran = await runToEnd(
          engine?.python ?? "",
          [join(__dirname, "prefixReuse.py"), file],
          {
            env: { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR: folder },
            cwd: folder,
            seconds: SECONDS,
          },
        );
        const said = JSON.parse(
          ran.out.split("FOUND")[1] ?? `{"found": ${JSON.stringify(ran.err.slice(-2000))}}`,
        );
        expect(said.found).toEqual(loops.map(({ found }) => found[version]));
      },
      SECONDS * 1000,
    );
  },
);
