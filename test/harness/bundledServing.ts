import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";

/** Bundles the command line as it is delivered and returns the file: what is killed must be a process of its own. */
export function bundledServing(): string {
  const outfile = join(mkdtempSync(join(tmpdir(), "serving-test-")), "serving.cjs");
  buildSync({
    entryPoints: [join(__dirname, "../../operate/serving.ts")],
    bundle: true,
    platform: "node",
    target: "node20",
    outfile,
    logLevel: "error",
  });
  return outfile;
}
