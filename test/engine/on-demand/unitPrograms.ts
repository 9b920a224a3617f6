import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Programs that play systemd's user manager and llama-swap for one test. */
export interface UnitPrograms {
  /** To be put before PATH. */
  readonly bin: string;
  /** A program that answers as llama-swap and starts nothing, or $LLAMA_SWAP; and its sum. */
  readonly program: { readonly version: string; readonly from: string; readonly sha256: string };
  /** What systemctl, loginctl and journalctl were asked so far, below a home. */
  calls(home: string): string[];
}

/** Puts these programs below a folder. */
export function unitPrograms(folder: string): UnitPrograms {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const put = (file: string, path: string) => {
    copyFileSync(join(__dirname, file), path);
    chmodSync(path, 0o755);
  };
  for (const name of ["systemctl", "loginctl", "journalctl"]) put("systemctl.py", join(bin, name));
  // The real one, where somebody names it.
  const from = process.env.LLAMA_SWAP ?? join(folder, "llama-swap");
  if (process.env.LLAMA_SWAP === undefined) put("llamaSwap.py", from);
  return {
    bin,
    program: {
      version: "v250",
      from,
      sha256: createHash("sha256").update(readFileSync(from)).digest("hex"),
    },
    calls: (home) => {
      const log = join(home, ".stand-in-systemd/calls");
      return existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
    },
  };
}
