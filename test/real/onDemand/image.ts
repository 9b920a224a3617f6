import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { copyTools, makeRootfs } from "../../docker/rootfs";
import { mustRun } from "../../layers/run";
import type { OwnDaemon } from "../docker/ownDaemon";

/**
 * Fills an empty root with the stand-in's and real curl; `vllm` is one small file, made of a program
 * of this folder.
 */
export async function rootWithServer(root: string, program: string): Promise<void> {
  await makeRootfs(root);
  rmSync(join(root, "usr/local/bin/curl"));
  await copyTools(root, ["curl"]);
  await build({
    entryPoints: [join(__dirname, `${program}.ts`)],
    outfile: join(root, "opt/stub.cjs"),
    bundle: true,
    platform: "node",
    target: "node20",
    logLevel: "error",
  });
  putProgram(root, "vllm", '#!/bin/sh\nexec node /opt/stub.cjs "$@"\n');
}

/** Puts a script where a container finds programs. */
export function putProgram(root: string, name: string, text: string): void {
  const path = join(root, "usr/local/bin", name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

/** Imports a root as an image, and removes it. */
export async function importRoot(
  { docker }: OwnDaemon,
  root: string,
  image: string,
): Promise<void> {
  const archive = `${root}.tar`;
  const owner = ["--owner=0", "--group=0"];
  await mustRun("tar", ["--create", "--file", archive, "--directory", root, ...owner, "."]);
  await docker("import", "--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin", archive, image);
  rmSync(root, { recursive: true });
  rmSync(archive);
}
