import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type DockerLayer, labelOf } from "../../docker/layer";
import { type PinnedImage, pushed } from "../../docker/makeImage";
import { copyTools } from "../../docker/rootfs";
import { mustRun } from "../../layers/run";

export interface ProgramImage extends PinnedImage {
  /** Size unpacked, in bytes. */
  readonly bytes: number;
}

export interface ProgramImageOptions {
  /** Path of the image in the tests' registry, `vllm/vllm-openai`. */
  readonly repository: string;
  readonly version: string;
  /** Folder of a Python environment, which is at the same place inside. */
  readonly environment: string;
  /** Folder inside where the environment is mounted, so that it is not in the image. */
  readonly mountedAt?: string;
  /** Packages of the environment that are left out, and files of packages. */
  readonly without?: readonly string[];
  /** Text of further files inside, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Instructions of a Dockerfile: ENTRYPOINT, CMD, ENV, WORKDIR. */
  readonly changes: readonly string[];
}

/** What Python asks the system for: users, how names are found, certificates. */
export const OF_THE_SYSTEM = [
  "/etc/passwd",
  "/etc/group",
  "/etc/nsswitch.conf",
  "/etc/ssl/certs/ca-certificates.crt",
];

const IMPORT_SECONDS = 2400;

/**
 * Makes an image of a Python environment of this machine, with the Python behind it, the libraries
 * of both, a shell and a few tools, and pushes it to the tests' registry, so that its digest is
 * real.
 */
export async function programImage(
  layer: DockerLayer,
  options: ProgramImageOptions,
): Promise<ProgramImage> {
  if (layer.missing !== undefined) throw new Error(layer.missing);
  const { environment, mountedAt, without = [], files = {}, version } = options;
  const repository = `${layer.registry}/${options.repository}`;
  const folder = mkdtempSync(join(tmpdir(), "program-image-"));
  const [root, list] = [join(folder, "root"), join(folder, "list")];
  let id: string;
  try {
    await copyTools(root, ["bash", "curl", "lscpu"]);
    for (const empty of ["tmp", "root"]) mkdirSync(join(root, empty));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const paths = await pathsOf(environment);
    const taken = [
      ...(mountedAt === undefined ? paths : paths.filter((path) => path !== environment)),
      ...OF_THE_SYSTEM,
    ];
    if (mountedAt !== undefined) {
      mkdirSync(dirname(join(root, environment)), { recursive: true });
      symlinkSync(mountedAt, join(root, environment));
    }
    writeFileSync(list, taken.filter((path) => !existsSync(join(root, path))).join("\n"));
    const search = `ENV PATH=${join(environment, "bin")}:/usr/local/bin:/usr/bin:/bin`;
    const changes = [search, labelOf(layer.registry), ...options.changes];
    const left = without.map((name) => `--exclude 'site-packages/${name}'`).join(" ");
    const tar = `tar --create ${left} --directory "$1" . --directory / --files-from "$2"`;
    id = await mustRun(
      "sh",
      [
        ...["-c", `${tar} | { shift 2; docker import "$@" -; }`, "sh", root, list],
        ...changes.flatMap((change) => ["--change", change]),
      ],
      { limitSeconds: IMPORT_SECONDS },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
  const bytes = Number(await mustRun("docker", ["image", "inspect", "--format", "{{.Size}}", id]));
  return { ...(await pushed(id, repository, `${repository}:${version}`)), bytes };
}

/**
 * Paths of a Python environment, its interpreter, its standard library, and the system's libraries
 * behind them all.
 */
export async function pathsOf(environment: string): Promise<string[]> {
  const python = join(environment, "bin/python");
  const stdlib = await mustRun(python, [
    "-c",
    "import sysconfig; print(sysconfig.get_path('stdlib'))",
  ]);
  const folders = [environment, stdlib];
  const isInside = (path: string) => folders.some((folder) => path.startsWith(`${folder}/`));
  const find = "find -L \"$@\" -type f '(' -name '*.so' -o -name '*.so.*' -o -name python ')'";
  // A library for a GPU that is not here may lack something.
  const asked = await mustRun("sh", [
    "-c",
    `{ ${find}; } | xargs ldd 2>/dev/null || true`,
    "sh",
    ...folders,
  ]);
  const libraries = new Set(asked.match(/\/\S+(?= \(0x)/g));
  const outside = [...links(python), ...[...libraries].flatMap(links)].filter(
    (path) => !isInside(path),
  );
  return [...folders, ...new Set(outside)];
}

/** A path with all that it leads to, link by link. */
function links(path: string): string[] {
  const more = lstatSync(path).isSymbolicLink()
    ? links(resolve(dirname(path), readlinkSync(path)))
    : [];
  return [path, ...more];
}
