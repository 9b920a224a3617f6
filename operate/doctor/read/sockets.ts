import { readFile } from "node:fs/promises";
import type { Socket } from "../facts";

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = "0A";

/** Every listening TCP socket of this machine. */
export async function readSockets(proc = "/proc"): Promise<Socket[]> {
  const tables = await Promise.all(
    [`${proc}/net/tcp`, `${proc}/net/tcp6`].map((file) => readFile(file, "utf8").catch(() => "")),
  );
  return tables.flatMap(socketsOfProc);
}

/** Listening sockets in the text of /proc/net/tcp or tcp6. */
export function socketsOfProc(table: string): Socket[] {
  return table
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === LISTENING)
    .map((columns) => {
      const [address = "", port = "0"] = columns[1]?.split(":") ?? [];
      return { address: addressOf(address), port: Number.parseInt(port, 16) };
    });
}

/** Listening sockets in what `ss -lntp` prints. */
export function socketsOfSs(text: string): Socket[] {
  return text.split("\n").flatMap((line) => {
    const match = /^(?:tcp\s+)?LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s/.exec(`${line} `);
    if (match === null) return [];
    const address = (match[1] ?? "").replace(/^\[|\]$/g, "").replace(/%.*$/, "");
    return [{ address: address === "*" ? "::" : address, port: Number(match[2]) }];
  });
}

/** The kernel prints each 32-bit word of an address in the order of the machine's bytes. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).reverse());
  if (words.length === 1) return bytes.map((byte) => Number.parseInt(byte, 16)).join(".");
  if (bytes.every((byte) => byte === "00")) return "::";
  if (bytes.slice(0, 15).every((byte) => byte === "00") && bytes[15] === "01") return "::1";
  const mapped = bytes.slice(0, 10).every((byte) => byte === "00") && bytes.slice(10, 12).join("") === "FFFF";
  return mapped
    ? bytes
        .slice(12)
        .map((byte) => Number.parseInt(byte, 16))
        .join(".")
    : (bytes.join("").match(/.{4}/g) ?? []).join(":").toLowerCase();
}
