import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Lets a server listen, by default on a free port of loopback. */
export async function listening(server: Server, port = 0, host = "127.0.0.1") {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  // An address is a string only for a Unix socket, which is never listened on here.
  const at = (server.address() as AddressInfo).port;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${at}`, port: at, close };
}
