import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A small HTTP server that ends with the test. */
export async function httpServer(
  listener: RequestListener,
  port = 0,
  address = "127.0.0.1",
): Promise<{ server: Server; port: number; url: string }> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  // An address is a string only for a Unix socket, which is never listened on here.
  const at = (server.address() as AddressInfo).port;
  return { server, port: at, url: `http://${address}:${at}` };
}
