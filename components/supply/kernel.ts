import { defined } from "@local-serving/base/faults/defined";
import type { Files } from "@local-serving/machines/files";
import releases from "./releases/releases.json";

/**
 * A kernel, driver or container toolkit with which such machines were seen to fail. All given
 * conditions must match.
 */
interface KnownTrouble {
  /** Regular expressions. */
  readonly kernel?: string;
  readonly driver?: string;
  readonly toolkit?: string;
  /** Kernel argument that avoids the failure. */
  readonly avoidedBy?: string;
  readonly message: string;
  readonly source: string;
}

const KNOWN_TROUBLES: readonly KnownTrouble[] = releases.kernels;

const ASKED_ARGUMENTS = KNOWN_TROUBLES.flatMap(({ avoidedBy }) => avoidedBy ?? []);

/** Where a Docker engine, or the toolkit's own runtime, is told to hand GPUs out by CDI. */
const CDI = {
  "/etc/docker/daemon.json": /"cdi"\s*:\s*true/,
  "/etc/nvidia-container-runtime/config.toml": /^\s*mode\s*=\s*"cdi"/m,
};

/** The NVIDIA Container Toolkit of a machine: `1.19.1` or `1.19.1 with CDI`. */
async function readToolkit({ text, ask }: Pick<Files, "text" | "ask">) {
  const { out } = await ask(["nvidia-ctk", "--version"]);
  const version = /version (\d[\w.]*)/.exec(out)?.[1];
  if (version === undefined) return undefined;
  const told = await Promise.all(
    Object.entries(CDI).map(async ([path, pattern]) => pattern.test((await text(path)) ?? "")),
  );
  return told.includes(true) ? `${version} with CDI` : version;
}

/**
 * Reads what is known to matter about a machine's kernel, driver and container toolkit, and the
 * kernel's arguments that known troubles ask for.
 */
export async function readKernel(files: Pick<Files, "text" | "ask">, proc = "/proc") {
  const { text } = files;
  const read = async (file: string) => ((await text(`${proc}/${file}`)) ?? "").trimEnd();
  const words = (await read("cmdline")).split(/\s+/);
  const driver = /Module.*?\s(\d+\.\d[\d.]*)\s/.exec(await read("driver/nvidia/version"))?.[1];
  return {
    kernel: (await read("sys/kernel/osrelease")) || "unknown",
    kernelArguments: ASKED_ARGUMENTS.filter((each) => words.includes(each)),
    ...defined({ driver, toolkit: await readToolkit(files) }),
  };
}

/** What `readKernel` reads. */
export type Kernel = {
  readonly kernel: string;
  readonly kernelArguments: readonly string[];
  readonly driver?: string | undefined;
  readonly toolkit?: string | undefined;
};

/**
 * The known troubles of a machine's kernel, driver and toolkit, a sentence each, with what to do and who
 * says so.
 */
export function knownTroubles(seen: Kernel): string[] {
  const { kernel, kernelArguments, driver = "", toolkit = "" } = seen;
  return KNOWN_TROUBLES.filter(
    (each) =>
      new RegExp(each.kernel ?? "").test(kernel) &&
      new RegExp(each.driver ?? "").test(driver) &&
      new RegExp(each.toolkit ?? "").test(toolkit) &&
      !(each.avoidedBy !== undefined && kernelArguments.includes(each.avoidedBy)),
  ).map((each) => {
    const what = [
      each.kernel && `kernel ${kernel}`,
      each.driver && `driver ${driver}`,
      each.toolkit && `NVIDIA Container Toolkit ${toolkit}`,
    ];
    return `${what.filter(Boolean).join(", ")}: ${each.message} (${each.source})`;
  });
}
