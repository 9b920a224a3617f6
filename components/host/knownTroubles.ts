import type { Files } from "./files";

/** A kernel or a driver with which such machines were seen to fail. */
interface KnownTrouble {
  /** All that are given must fit. */
  readonly kernel?: RegExp;
  readonly driver?: RegExp;
  /** Argument of the kernel with which it doesn't happen. */
  readonly avoidedBy?: string;
  readonly message: string;
  readonly source: string;
}

const KNOWN_TROUBLES: readonly KnownTrouble[] = [
  {
    kernel: /^7\.0\.0-(1019-nvidia|31)(?!\d)/,
    avoidedBy: "kho=off",
    message:
      "This kernel sets about 9.3 GiB aside for kexec handover, and pinned memory fails: add `kho=off` to GRUB_CMDLINE_LINUX in /etc/default/grub, run `sudo update-grub` and reboot.",
    source: "NV-Kernels PR #590 and #591, MiaAI-Lab #259 (2026-09)",
  },
  {
    driver: /^590\./,
    message: "Drivers 590 deadlock while vLLM captures CUDA graphs: install driver 580.",
    source: "README of eugr/spark-vllm-docker (read 2026-11-22)",
  },
  {
    driver: /^595\.91\.07$/,
    kernel: /^6\.17\.0-1032\b/,
    message: "With this driver and kernel a prompt of 70,000 tokens stopped the whole machine: install driver 580.",
    source: "open-gpu-kernel-modules #1358 (2026-09)",
  },
];

const ASKED_ARGUMENTS = KNOWN_TROUBLES.flatMap(({ avoidedBy }) => avoidedBy ?? []);

/** What of a machine's kernel and driver is known to matter: its release, the arguments that troubles ask for, the driver. */
export async function readKernel({ text }: Pick<Files, "text">, proc = "/proc") {
  const read = async (file: string) => ((await text(`${proc}/${file}`)) ?? "").trimEnd();
  const words = (await read("cmdline")).split(/\s+/);
  const driver = /Module.*?\s(\d+\.\d[\d.]*)\s/.exec(await read("driver/nvidia/version"))?.[1];
  return {
    kernel: (await read("sys/kernel/osrelease")) || "unknown",
    kernelArguments: ASKED_ARGUMENTS.filter((each) => words.includes(each)),
    ...(driver === undefined ? {} : { driver }),
  };
}

type Kernel = {
  readonly kernel: string;
  readonly kernelArguments: readonly string[];
  readonly driver?: string | undefined;
};

/** The known troubles of a machine's kernel and driver, a sentence each, with what to do and who says so. */
export function knownTroubles({ kernel, kernelArguments, driver = "" }: Kernel): string[] {
  return KNOWN_TROUBLES.filter(
    (each) =>
      (each.kernel?.test(kernel) ?? true) &&
      (each.driver?.test(driver) ?? true) &&
      !(each.avoidedBy !== undefined && kernelArguments.includes(each.avoidedBy)),
  ).map(({ kernel: ofKernel, driver: ofDriver, message, source }) => {
    const what = [ofKernel && `kernel ${kernel}`, ofDriver && `driver ${driver}`].filter(Boolean).join(", ");
    return `${what}: ${message} (${source})`;
  });
}
