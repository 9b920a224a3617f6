import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Egress {
  readonly hosts: string[];
  /** Variables that send everything but loopback through here. */
  readonly variables: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * A proxy that writes down which hosts a program asks for, and lets nothing out; `near` are
 * addresses of this machine.
 */
export async function watchEgress(near: readonly string[] = []): Promise<Egress> {
  const hosts: string[] = [];
  const server = createServer((request, response) => {
    hosts.push(new URL(request.url ?? "/", "http://unknown").host);
    response.statusCode = 502;
    response.end();
  });
  server.on("connect", (request, socket) => {
    hosts.push(request.url ?? "");
    // A client that gives up at once is no fault of the test.
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 502 Nothing leaves this machine\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // An address is a string only for a Unix socket.
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const direct = ["127.0.0.1", "localhost", ...near].join(",");
  return {
    hosts,
    variables: {
      ...{
        HTTP_PROXY: proxy,
        http_proxy: proxy,
        HTTPS_PROXY: proxy,
        https_proxy: proxy,
        ALL_PROXY: proxy,
      },
      ...{ NO_PROXY: direct, no_proxy: direct },
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
