/** A range of addresses: its first one as a number, and how many of its bits are the network's. */
export interface Subnet {
  readonly first: number;
  readonly prefix: number;
}

/** `172.31.241.0/28` as numbers; `undefined` for what is no IPv4 range. */
export function subnetOf(text: string): Subnet | undefined {
  const [, address = "", prefix = ""] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(text) ?? [];
  if (address === "") return undefined;
  const first = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  return { first, prefix: Number(prefix) };
}

/** Whether two ranges have an address in common: then one holds the other. */
export function overlap(one: Subnet, other: Subnet): boolean {
  const size = 2 ** (32 - Math.min(one.prefix, other.prefix));
  return Math.floor(one.first / size) === Math.floor(other.first / size);
}
