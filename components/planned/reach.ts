export interface Endpoint {
  readonly name: string;
  readonly url: string;
}

/** `true` for an address that only the machine itself can reach. */
export function isLoopback(address: string): boolean {
  return address.startsWith("127.");
}

/** Scheme, host and port as a program on the machine (or on the network, by `host`) reaches a published port. */
export function originOf(address: string, port: number, host?: string): string {
  return `http://${host ?? (address === "0.0.0.0" ? "127.0.0.1" : address)}:${port}`;
}
