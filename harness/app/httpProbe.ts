import http from "node:http";
import https from "node:https";

/** What one GET of a URL showed. */
export interface HttpAnswer {
  /** Whether anything took the connection, an answer or not. */
  readonly connected: boolean;
  /** Status of the answer; absent when none came in time. */
  readonly status?: number;
  /** Why there is no status, in words. */
  readonly reason?: string;
}

/** Asks a URL once, without following redirects. Never rejects: that nothing answers is an answer. */
export function httpProbe(url: string, timeoutMs: number): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    let connected = false;
    const client = url.toLowerCase().startsWith("https:") ? https : http;
    const request = client.get(url, { agent: false }, (response) => {
      settle({ connected: true, status: response.statusCode ?? 0 });
    });
    const timer = setTimeout(() => settle({ connected, reason: "no answer in time" }), timeoutMs);
    const settle = (answer: HttpAnswer) => {
      clearTimeout(timer);
      request.destroy();
      resolve(answer);
    };
    request.on("socket", (socket) => {
      socket.on("connect", () => {
        connected = true;
      });
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      settle({ connected, reason: error.code ?? error.message });
    });
  });
}
