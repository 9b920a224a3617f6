import type { Socket } from "../facts";

/** Listening sockets in what `ss -lntp` prints. */
export function socketsOfSs(text: string): Socket[] {
  return text.split("\n").flatMap((line) => {
    const match = /^(?:tcp\s+)?LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s/.exec(`${line} `);
    if (match === null) return [];
    const address = (match[1] ?? "").replace(/^\[|\]$/g, "").replace(/%.*$/, "");
    return [{ address: address === "*" ? "::" : address, port: Number(match[2]) }];
  });
}
