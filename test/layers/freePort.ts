import { createServer } from "node:net";

/** Ports that were given out in this process: the system may offer a closed one again at once. */
const given = new Set<number>();

/** A TCP port of loopback that nothing listens on now, another one at each call. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  if (given.has(address.port)) return freePort();
  given.add(address.port);
  return address.port;
}
