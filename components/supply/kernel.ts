import type { Files } from "../../machines/files";
import releases from "./releases.json";

/**
 * A kernel or driver with which such machines were seen to fail. All given conditions must match.
 */
interface KnownTrouble {
  /** Regular expressions. */
  readonly kernel?: string;
  readonly driver?: string;
  /** Kernel argument that avoids the failure. */
  readonly avoidedBy?: string;
  readonly message: string;
  readonly source: string;
}

const KNOWN_TROUBLES: readonly KnownTrouble[] = releases.kernels;

const ASKED_ARGUMENTS = KNOWN_TROUBLES.flatMap(({ avoidedBy }) => avoidedBy ?? []);

/**
 * Reads what is known to matter about a machine's kernel and driver: its release, the arguments
 * that known troubles ask for, the driver.
 */
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

/** What `readKernel` reads. */
export type Kernel = {
  readonly kernel: string;
  readonly kernelArguments: readonly string[];
  readonly driver?: string | undefined;
};

/**
 * The known troubles of a machine's kernel and driver, a sentence each, with what to do and who
 * says so.
 */
export function knownTroubles({ kernel, kernelArguments, driver = "" }: Kernel): string[] {
  return KNOWN_TROUBLES.filter(
    (each) =>
      new RegExp(each.kernel ?? "").test(kernel) &&
      new RegExp(each.driver ?? "").test(driver) &&
      !(each.avoidedBy !== undefined && kernelArguments.includes(each.avoidedBy)),
  ).map(({ kernel: ofKernel, driver: ofDriver, message, source }) => {
    const what = [ofKernel && `kernel ${kernel}`, ofDriver && `driver ${driver}`]
      .filter(Boolean)
      .join(", ");
    return `${what}: ${message} (${source})`;
  });
}
