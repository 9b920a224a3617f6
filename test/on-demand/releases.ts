import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { httpServer } from "../layers/httpServer";
import { temporaryFolder } from "../layers/temporaryFolder";

/** What stands for llama-swap in an archive. */
export const PROGRAM_TEXT = "#!/bin/sh\necho llama-swap\n";

const ARCH = process.arch === "arm64" ? "arm64" : "amd64";

/** Name of a release's archive for this machine, as goreleaser makes it. */
export const assetOf = (version: string): string =>
  `llama-swap_${version.slice(1)}_linux_${ARCH}.tar.gz`;

/** The archive of a release, with its sum. */
export function archive(text = PROGRAM_TEXT, program = "llama-swap") {
  const folder = temporaryFolder("archive-");
  writeFileSync(join(folder, program), text, { mode: 0o755 });
  writeFileSync(join(folder, "README.md"), "llama-swap\n");
  const file = join(folder, "archive.tar.gz");
  execFileSync("tar", ["-czf", file, "-C", folder, program, "README.md"]);
  const bytes = readFileSync(file);
  return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** What an address of releases has, by path; `cut` ends an answer before it is whole. */
export interface ReleaseFiles {
  readonly files: Readonly<Record<string, Buffer | string>>;
  readonly cut?: boolean;
  readonly status?: number;
}

/** A file server on loopback, as an address of releases. It is redirected once, as GitHub's is. */
export async function releases(of: () => ReleaseFiles) {
  const asked: string[] = [];
  const { url } = await httpServer((request, response) => {
    const path = request.url ?? "";
    asked.push(`${request.method} ${path}`);
    const { files, cut = false, status = 404 } = of();
    const file = files[path.replace(/^\/stored\//, "/")];
    if (file === undefined) return response.writeHead(status).end();
    if (!path.startsWith("/stored/"))
      return response.writeHead(302, { location: `/stored${path}` }).end();
    response.writeHead(200, { "content-length": Buffer.byteLength(file) });
    if (request.method === "HEAD") return response.end();
    if (!cut) return response.end(file);
    response.write(file.slice(0, 20), () => response.destroy());
    return response;
  });
  return { url, asked };
}

/** An empty folder of a machine, and where its program is to be. */
export function programPlace() {
  const home = temporaryFolder("on-demand-");
  const folder = join(home, "state/dgx/on-demand");
  return {
    folder,
    path: join(folder, "llama-swap"),
    make: () => mkdirSync(folder, { recursive: true }),
  };
}
