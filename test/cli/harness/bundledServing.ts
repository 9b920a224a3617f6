import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BuildOptions, buildSync } from "esbuild";
import { temporaryFolder } from "../../layers/temporaryFolder";

/**
 * Bundles the command line as it is delivered and returns the file: what is killed must be a
 * process of its own.
 */
export const bundledServing = (): string => bundled({});

let harness: string | undefined;

/**
 * The same with the harness's commands alone, for all files of a process: it is started often, and
 * starts sooner.
 */
export function bundledHarness(): string {
  harness ??= bundled({ external: ["./commands/*"], minifySyntax: true, minifyWhitespace: true });
  return harness;
}

function bundled(options: BuildOptions): string {
  const outfile = join(temporaryFolder("serving-test-"), "serving.cjs");
  buildSync({
    entryPoints: [join(__dirname, "../../../cli/serving.ts")],
    bundle: true,
    platform: "node",
    target: "node20",
    outfile,
    logLevel: "error",
    ...options,
  });
  const template = "automation-template.yaml";
  copyFileSync(
    join(__dirname, "../../../packages/harness/templates", template),
    join(dirname(outfile), template),
  );
  return outfile;
}
