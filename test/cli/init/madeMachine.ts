import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import type { Sources } from "../../../cli/sees/computer/sources";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type Answers, FakeDocker } from "../fakeDocker";

/** A machine made of recorded files and answers. */
export interface Made {
  /** Default: a DGX Spark's. */
  readonly totalKib?: number;
  readonly availableKib?: number;
  /** What listens, by port: a process with its argv, or another user's. */
  readonly listening?: Readonly<
    Record<number, { readonly argv: readonly string[]; readonly unit?: string } | "unseen">
  >;
  readonly docker?: Answers;
  /** What `systemctl show ollama.service` prints. */
  readonly ollamaUnit?: string;
  readonly ollamaUrl?: string;
  /** Models in the cache, with the size of their weights in bytes. */
  readonly cached?: Readonly<Record<string, number>>;
  /** Names of the GPUs that the driver shows; none: no driver. Default: a DGX Spark's. */
  readonly gpus?: readonly string[];
  /** What nvidia-smi gives as the memory of each, in MiB. Default: it doesn't answer. */
  readonly smiMemory?: string;
  /** What nvidia-smi says of processes: `812, /usr/bin/python3, 14540` a line. */
  readonly gpuProcesses?: string;
  /** The control group of a process, by its number. */
  readonly cgroups?: Readonly<Record<number, string>>;
  /** Vendor, then product of the DMI. */
  readonly dmi?: readonly [vendor: string, product: string];
  /** Model, then compatible strings of the device tree. */
  readonly tree?: readonly [model: string, ...compatible: string[]];
  /** `10de:2b85` of each display on the PCI bus. */
  readonly pci?: readonly string[];
  readonly kernel?: string;
  readonly driver?: string;
  readonly usualPorts?: readonly number[];
}

const GPU_DOCKER: Answers = {
  info: { out: '{"ID":"7TRN","Runtimes":{"nvidia":{}}}' },
  "network inspect": { out: "lo\n" },
  ps: {},
};

/** Where to look at a made machine, and the variables under which its programs are found. */
export function madeMachine(made: Made): { sources: Sources; env: Record<string, string> } {
  const folder = temporaryFolder("made-machine-");
  const docker = new FakeDocker(made.docker ?? GPU_DOCKER);
  const unit = made.ollamaUnit ?? "LoadState=not-found\n";
  program(docker.folder, "systemctl", `#!/bin/sh\ncat <<'END'\n${unit}END\n`);
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  const { totalKib = 127_600_592, availableKib = 120_000_000 } = made;
  write("proc/meminfo", `MemTotal:       ${totalKib} kB\nMemAvailable:   ${availableKib} kB\n`);
  write("proc/sys/kernel/hostname", "spark-7f3a\n");
  write("proc/sys/kernel/osrelease", `${made.kernel ?? "6.17.0-1014-nvidia"}\n`);
  write("proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=UUID=4711 quiet\n");
  showDevice(made, write, docker.folder);
  const sockets = Object.entries(made.listening ?? {}).map(([port, what], index) => {
    const pid = 700 + index;
    if (what !== "unseen") {
      write(`proc/${pid}/cmdline`, `${what.argv.join("\0")}\0`);
      write(`proc/${pid}/cgroup`, `0::/system.slice/${what.unit ?? "cron.scope"}\n`);
      mkdirSync(join(folder, `proc/${pid}/fd`));
      symlinkSync(`socket:[${4000 + index}]`, join(folder, `proc/${pid}/fd/3`));
    }
    const hex = Number(port).toString(16).toUpperCase().padStart(4, "0");
    const address = what === "unseen" || port === "11434" ? "0100007F" : "00000000";
    return `   ${index}: ${address}:${hex} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 ${4000 + index} 1`;
  });
  write("proc/net/tcp", ["  sl  local_address", ...sockets, ""].join("\n"));
  for (const [id, bytes] of Object.entries(made.cached ?? {})) {
    const at = `home/.cache/huggingface/hub/models--${id.replace("/", "--")}`;
    write(`${at}/refs/main`, "c0ffee");
    write(
      `${at}/snapshots/c0ffee/model.safetensors.index.json`,
      JSON.stringify({ metadata: { total_size: bytes } }),
    );
  }
  return {
    env: docker.env,
    sources: {
      dockerHost: HERE,
      files: {
        ...filesOf({ dockerHost: HERE }),
        disk: async () => ({ device: 1, freeBytes: 350e9 }),
      },
      proc: join(folder, "proc"),
      sys: join(folder, "sys"),
      env: { PATH: docker.folder, HF_HOME: undefined },
      home: join(folder, "home"),
      ollamaUrl: made.ollamaUrl ?? "http://127.0.0.1:1",
      usualPorts: made.usualPorts ?? [],
    },
  };
}

/** What the kernel and nvidia-smi show of the machine's device. */
function showDevice(
  made: Made,
  write: (file: string, text: string) => void,
  programs: string,
): void {
  const { gpus = ["NVIDIA GB10"], smiMemory, dmi, tree, pci = [], cgroups = {} } = made;
  if (gpus.length > 0)
    write(
      "proc/driver/nvidia/version",
      `NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  ${made.driver ?? "580.95.05"}  Release Build\n`,
    );
  for (const [index, gpu] of gpus.entries())
    write(
      `proc/driver/nvidia/gpus/000f:0${index + 1}:00.0/information`,
      `Model: \t\t ${gpu}\nIRQ:   \t\t 477\n`,
    );
  const rows = gpus.map((gpu) => `${gpu}, ${smiMemory}\n`).join("");
  const answers = [
    'case "$1" in',
    `--query-gpu=name*) ${smiMemory === undefined ? "exit 9" : `cat <<'END'\n${rows}END`}`,
    ";;",
    `--query-compute*) cat <<'END'\n${made.gpuProcesses ?? ""}END\n;;`,
    "*) exit 9;;",
    "esac",
  ];
  program(programs, "nvidia-smi", `#!/bin/sh\n${answers.join("\n")}\n`);
  for (const [pid, group] of Object.entries(cgroups)) write(`proc/${pid}/cgroup`, `${group}\n`);
  if (dmi !== undefined) {
    write("sys/class/dmi/id/sys_vendor", `${dmi[0]}\n`);
    write("sys/class/dmi/id/product_name", `${dmi[1]}\n`);
  }
  if (tree !== undefined) {
    const [model, ...compatible] = tree;
    write("proc/device-tree/model", `${model}\0`);
    write("proc/device-tree/compatible", compatible.map((each) => `${each}\0`).join(""));
  }
  for (const [index, id] of pci.entries()) {
    const [vendor, device] = id.split(":");
    const at = `sys/bus/pci/devices/0000:0${index}:00.0`;
    write(`${at}/class`, "0x030000\n");
    write(`${at}/vendor`, `0x${vendor}\n`);
    write(`${at}/device`, `0x${device}\n`);
  }
}

function program(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), 0o755);
}
