/**
 * Whether a machine is this computer: its Docker engine listens on a socket file here. Of any other machine nothing that is
 * read here (memory, ports, folders, processes) is true. A `tcp://` address counts as elsewhere even on loopback, where a
 * tunnel may end.
 */
export function isHere({ dockerHost }: { readonly dockerHost: string }): boolean {
  return dockerHost.startsWith("unix://");
}

/** Why `up` refuses a machine that is another computer. */
export function elsewhere(name: string, { dockerHost }: { readonly dockerHost: string }): string {
  return `The Docker engine of ${name} is at ${dockerHost}, so ${name} is another computer. \`up\` sets up only the computer that it runs on: run it on ${name} itself, with \`dockerHost: unix:///var/run/docker.sock\`. A preview and \`serving plan\` work from here.`;
}

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
