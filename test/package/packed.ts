import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { linkModules } from "../layers/modules";
import { mustRun } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");
const LEFT_OUT = [".git", ".pulumi-state", "coverage", "dist", "node_modules"];

/**
 * Packs a copy of this checkout as `npm publish` would, with its own build; returns the tarball.
 * With a version it is that release, which npm lets anybody publish.
 */
export async function packed(release?: string): Promise<string> {
  const copy = temporaryFolder("packed-");
  for (const name of readdirSync(PROJECT))
    if (!LEFT_OUT.includes(name))
      cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  linkModules(copy);
  if (release !== undefined) {
    const manifest = join(copy, "package.json");
    const { private: _, ...published } = JSON.parse(readFileSync(manifest, "utf8"));
    writeFileSync(
      manifest,
      JSON.stringify({ ...published, version: release, published: true }, null, 2),
    );
  }
  return pack(copy);
}

/** Packs a checkout with its own build, and returns the tarball. */
export async function pack(checkout: string): Promise<string> {
  const out = await mustRun("npm", ["pack", "--silent"], { cwd: checkout });
  return join(checkout, out.split("\n").at(-1) ?? "");
}

/** Puts the package and its peers below a folder, as npm does; returns the package's own folder. */
export async function installed(tarball: string, folder: string): Promise<string> {
  const modules = join(folder, "node_modules");
  const own = join(modules, "local-serving");
  mkdirSync(own, { recursive: true });
  await mustRun("tar", ["-xzf", tarball, "-C", own, "--strip-components=1"]);
  symlinkSync(join(PROJECT, "node_modules/@pulumi"), join(modules, "@pulumi"));
  return own;
}
