import { createServer, type RequestListener, type Server } from "node:http";
import { onTestFinished } from "vitest";
import { listening } from "../stand-in/listening";

/**
 * A small HTTP server that ends with the test; not for concurrent tests, of which vitest knows only
 * the last.
 */
export async function httpServer(
  listener: RequestListener,
  port = 0,
  address = "127.0.0.1",
): Promise<{ server: Server; port: number; url: string }> {
  const server = createServer(listener);
  const { close, ...at } = await listening(server, port, address);
  onTestFinished(close);
  return { server, ...at };
}
