import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { afterAll } from "vitest";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Bundles the command line as it is delivered and returns the file: what is killed must be a process of its own. */
export function bundledServing(): string {
  const folder = mkdtempSync(join(tmpdir(), "serving-test-"));
  folders.push(folder);
  const outfile = join(folder, "serving.cjs");
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
