import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT } from "../wholeStack";

/** The model that `init` proposes for a Spark alone. */
const MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";
/** Of weights that fit into the share of these tests. */
const MODEL_BYTES = 2e9;

/** What the kernel of a DGX Spark shows, in place of what this one shows; then a program. */
const AS_SPARK = [
  "mount --make-rprivate /",
  'mount --bind "$1/meminfo" /proc/meminfo',
  'mount --bind "$1/driver" /proc/driver',
  'shift; exec "$@"',
].join(" && ");

/** A DGX Spark as far as files of the kernel tell, for programs that are started here as root. */
export class Spark {
  constructor(private readonly folder: string) {
    const gpu = join(folder, "driver/nvidia/gpus/000f:01:00.0");
    mkdirSync(gpu, { recursive: true });
    const memory = "MemTotal:       127600592 kB\nMemAvailable:   120000000 kB\n";
    writeFileSync(join(folder, "meminfo"), memory);
    const driver = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05\n";
    writeFileSync(join(folder, "driver/nvidia/version"), driver);
    writeFileSync(join(gpu, "information"), "Model: \t\t NVIDIA GB10\nIRQ:   \t\t 477\n");
  }

  /** A command line that runs a program there. */
  words(...words: readonly string[]): string[] {
    return ["unshare", "--mount", "sh", "-c", AS_SPARK, "sh", this.folder, ...words];
  }
}

/** Puts the model into a home's cache as huggingface_hub lays it out, without its weights. */
export function cacheModel(home: string): void {
  const name = MODEL.replace("/", "--");
  const repository = join(home, `.cache/huggingface/hub/models--${name}`);
  const snapshot = join(repository, "snapshots/c0ffee");
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(repository, "refs"));
  writeFileSync(join(repository, "refs/main"), "c0ffee");
  const index = JSON.stringify({ metadata: { total_size: MODEL_BYTES } });
  writeFileSync(join(snapshot, "model.safetensors.index.json"), index);
  cpSync(join(PROJECT, `models/${name}/config.json`), join(snapshot, "config.json"));
}
