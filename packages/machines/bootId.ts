import type { Files } from "./files";

/**
 * Reads the boot id of a machine's kernel: random, and another one after each boot. Machines with
 * one boot id are one computer, whatever names and engines lead there.
 */
export async function readBootId(
  { text }: Pick<Files, "text">,
  proc = "/proc",
): Promise<string | undefined> {
  return (await text(`${proc}/sys/kernel/random/boot_id`))?.trim() || undefined;
}
