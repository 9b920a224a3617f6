import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun, run } from "../layers/run";
import type { Versions } from "../stand-in/programs/versions";
import type { DockerLayer } from "./layer";

export interface PinnedImage {
  /** `localhost:PORT/vllm/vllm-openai:v0.30.0`. */
  readonly tag: string;
  readonly digest: string;
  /** Tag and digest together, as a stack file has it. */
  readonly reference: string;
}

export interface ImageOptions {
  /** Path of the image in its registry, `vllm/vllm-openai` by default. */
  readonly repository?: string;
  readonly tag?: string;
  /** What the packages inside say of themselves. */
  readonly versions?: Versions;
  /** What the image starts by itself; by default the base image's. */
  readonly entrypoint?: readonly string[];
  /** The arguments that it starts it with by itself. */
  readonly command?: readonly string[];
  /** Further programs in /usr/local/bin, as the text of a script. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** Versions as they are published for the pinned image of the default stack. */
const DEFAULT_VERSIONS: Versions = {
  vllm: "0.30.0",
  transformers: "5.10.4",
  torch: "2.13.0",
  "flashinfer-python": "0.6.17",
};

const PUSHES = 5;
/** Docker compresses what it pushes: minutes for an image of several GB. */
const PUSH_SECONDS = 2400;

/**
 * Makes an image that holds the stand-in server and pushes it to the tests' registry, so that its
 * digest is real. Each call gives a digest of its own, so that a test may remove its image while
 * another runs.
 */
export async function makeImage(
  layer: DockerLayer,
  options: ImageOptions = {},
): Promise<PinnedImage> {
  if (layer.missing !== undefined) throw new Error(layer.missing);
  const versions = options.versions ?? DEFAULT_VERSIONS;
  const repository = `${layer.registry}/${options.repository ?? "vllm/vllm-openai"}`;
  const tag = `${repository}:${options.tag ?? `v${versions.vllm ?? "0"}`}`;
  const container = await mustRun("docker", ["create", layer.baseImage]);
  let id: string;
  const folder = mkdtempSync(join(tmpdir(), "stand-in-image-"));
  try {
    mkdirSync(join(folder, "stand-in"));
    writeFileSync(join(folder, "stand-in/versions.json"), JSON.stringify(versions));
    writeFileSync(join(folder, "stand-in/build-id"), randomUUID());
    await mustRun("docker", ["cp", join(folder, "stand-in"), `${container}:/opt`]);
    mkdirSync(join(folder, "bin"));
    for (const [name, script] of Object.entries(options.programs ?? {}))
      writeFileSync(join(folder, "bin", name), script, { mode: 0o755 });
    await mustRun("docker", ["cp", `${join(folder, "bin")}/.`, `${container}:/usr/local/bin`]);
    const { entrypoint, command } = options;
    const changes = [
      ...(entrypoint === undefined ? [] : ["--change", `ENTRYPOINT ${JSON.stringify(entrypoint)}`]),
      ...(command === undefined ? [] : ["--change", `CMD ${JSON.stringify(command)}`]),
    ];
    id = await mustRun("docker", ["commit", ...changes, container]);
  } finally {
    rmSync(folder, { recursive: true });
    await mustRun("docker", ["rm", container]);
  }
  return pushed(id, repository, tag);
}

/** Pushes an image, so that its digest is real. */
export async function pushed(id: string, repository: string, tag: string): Promise<PinnedImage> {
  let said = "";
  // Another test's image may take the tag between the two steps: then that one was pushed, and ours
  // has no digest. The registry answers 500 where two pushes write the same layer.
  for (let attempt = 0; attempt < PUSHES; attempt += 1) {
    await mustRun("docker", ["tag", id, tag]);
    const push = await run("docker", ["push", "--quiet", tag], { limitSeconds: PUSH_SECONDS });
    said = push.stdout + push.stderr;
    if (push.code !== 0) continue;
    const inspected = await mustRun("docker", [
      "image",
      "inspect",
      "--format",
      "{{json .RepoDigests}}",
      id,
    ]);
    const repoDigests = JSON.parse(inspected) as string[];
    const digest = repoDigests.find((name) => name.startsWith(`${repository}@`))?.split("@")[1];
    if (digest !== undefined) return { tag, digest, reference: `${tag}@${digest}` };
  }
  throw new Error(`the registry gave ${tag} no digest:\n${said}`);
}
