import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { buildSync } from "esbuild";
import { temporaryFolder } from "../../layers/temporaryFolder";

/**
 * A `docker` on PATH whose `exec` runs a program here, as the leader of a session of its own, as
 * Docker does.
 */
export function asContainer(programs = ""): {
  readonly folder: string;
  readonly env: Record<string, string>;
} {
  const folder = temporaryFolder("as-container-");
  const script = (name: string, lines: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  script("docker", `echo "$*" >> '${folder}/asked'\nshift 2\nexec setsid --wait "$@"`);
  if (programs === "") {
    const outfile = join(folder, "vllm.cjs");
    const entryPoints = [resolve(__dirname, "../../stand-in/programs/vllm.ts")];
    buildSync({
      entryPoints,
      outfile,
      bundle: true,
      platform: "node",
      target: "node20",
      logLevel: "error",
    });
    script("vllm", `exec '${process.execPath}' '${outfile}' "$@"`);
  }
  const path = [folder, ...(programs === "" ? [] : [programs]), process.env.PATH ?? ""].join(
    delimiter,
  );
  return { folder, env: { PATH: path } };
}
