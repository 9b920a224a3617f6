import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { temporaryFolder } from "../layers/temporaryFolder";

/** Bundles the command line as it is delivered and returns the file: what is killed must be a process of its own. */
export function bundledServing(): string {
  const outfile = join(temporaryFolder("serving-test-"), "serving.cjs");
  buildSync({
    entryPoints: [join(__dirname, "../../operate/serving.ts")],
    bundle: true,
    platform: "node",
    target: "node20",
    outfile,
    logLevel: "error",
  });
  const template = "automation-template.yaml";
  copyFileSync(join(__dirname, "../../harness/templates", template), join(dirname(outfile), template));
  return outfile;
}
