// Machines made real in a namespace of their own: /proc/meminfo and /proc/driver are bound over, and
// docker, nvidia-smi and systemctl on PATH are stand-ins. The MemTotal and the names of the GPUs are
// those of devices.json, everything else is made up.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";

const ROOT = process.cwd();

const canMake =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["-mnpu", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0;

interface MadeReal {
  readonly memTotalKib: number;
  readonly gpu: string;
  readonly smiMemory: string;
  /** argv of a vLLM that listens on port 8000, where one does. */
  readonly vllm?: readonly string[];
}

/** Listens as a vLLM does, by its argv alone. */
const LISTENER =
  'require("node:http").createServer((_, answer) => answer.writeHead(404).end()).listen(8000, "127.0.0.1")';

const SCRIPT = `
set -e
mount --make-rprivate /
mount -t proc proc /proc
ip link set lo up 2>/dev/null || true
mount --bind "$MADE/meminfo" /proc/meminfo
mount -t tmpfs tmpfs /proc/driver
cp -a "$MADE/driver/." /proc/driver
hostname made-real
if [ -n "$VLLM" ]; then
  (exec -a vllm node -e "$LISTENER" vllm serve $VLLM) &
  sleep 1
fi
cd "$PROJECT"
exec node "$PROGRAM" "$@"
`;

/** Runs \`serving\` on a machine, in a folder that stays. */
function machine(made: MadeReal) {
  const folder = temporaryFolder("made-real-");
  const write = (file: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
    chmodSync(join(folder, file), mode);
  };
  const program = (name: string, text: string) =>
    write(`bin/${name}`, `#!/bin/sh\n${text}\n`, 0o755);
  const { memTotalKib, gpu, smiMemory } = made;
  const available = Math.round(memTotalKib * (made.vllm === undefined ? 0.93 : 0.22));
  write("meminfo", `MemTotal:       ${memTotalKib} kB\nMemAvailable:   ${available} kB\n`);
  write("driver/nvidia/version", "NVRM version: Kernel Module  580.95.05  Release Build\n");
  write("driver/nvidia/gpus/000f:01:00.0/information", `Model: \t\t ${gpu}\n`);
  program("nvidia-smi", `case "$1" in --query-gpu=name*) echo "${gpu}, ${smiMemory}";; esac`);
  program("systemctl", "echo LoadState=not-found");
  program(
    "docker",
    'case "$1" in info) echo \'{"ID":"7TRN","Runtimes":{"nvidia":{}}}\';; network) echo lo;; esac',
  );
  write("project/Pulumi.yaml", "name: local-serving\nruntime: nodejs\n");
  const project = join(folder, "project");
  const serving = (...args: string[]) =>
    run("unshare", ["-mnpu", "--fork", "bash", "-c", SCRIPT, "made-real", ...args], {
      env: {
        ...process.env,
        ...{ MADE: folder, PROJECT: project, LISTENER, VLLM: made.vllm?.join(" ") ?? "" },
        PROGRAM: join(ROOT, "bundle/serving.cjs"),
        PATH: `${join(folder, "bin")}:${process.env.PATH}`,
      },
    });
  return { serving, file: () => readFileSync(join(project, "Pulumi.made.yaml"), "utf8") };
}

describe.skipIf(!canMake)("a machine in a namespace of its own (needs root and unshare)", () => {
  it("is a DGX Spark beside a vLLM at 0.72, and what is offered may not start", async () => {
    const spark = machine({
      ...{ memTotalKib: 127_600_592, gpu: "NVIDIA GB10", smiMemory: "[N/A]" },
      vllm: ["org/model-a", "--served-model-name", "model-a", "--gpu-memory-utilization", "0.72"],
    });
    const made = await spark.serving("init", "--yes", "--name", "made");
    expect(made.code).toBe(1);
    expect(made.stdout).toContain("Found on made-real:\n  - Device: a DGX Spark");
    expect(made.stdout).toContain("Beside instance A, which takes 0.72 of the memory");
    expect(spark.file()).toContain("device: gb10\n");
    expect(spark.file()).toContain("gpuMemoryUtilization: 0.72\n");
    const plan = await spark.serving("plan", "--stack", "made");
    expect(plan.code).toBe(0);
    expect(plan.stdout).not.toContain("planned as a DGX Spark");
  });

  it("is an RTX 5090 with 62.5 GiB, which gets no server and no word of NVIDIA's driver", async () => {
    const rtx = machine({
      ...{ memTotalKib: 62.5 * 1024 ** 2, gpu: "NVIDIA GeForce RTX 5090", smiMemory: "32607" },
    });
    const made = await rtx.serving("init", "--yes", "--name", "made");
    expect(made.code).toBe(1);
    expect(made.stdout).toContain("this machine has none: there is no server B");
    expect(made.stdout).not.toContain("install it");
    expect(rtx.file()).toContain("device: other\n");
    expect(rtx.file()).not.toContain("inferenceServers");
    const plan = await rtx.serving("plan", "--stack", "made");
    expect(plan.code).toBe(0);
  });
});
