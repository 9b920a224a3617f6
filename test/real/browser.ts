import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

/** A page in a real browser, driven by its DevTools protocol over a pipe. */
export interface Page {
  open(url: string): Promise<void>;
  /** Value of an expression in the page; what it awaits is awaited. */
  value(expression: string): Promise<unknown>;
  /** Writes into what has the focus. */
  write(text: string): Promise<void>;
  screenshot(file: string): Promise<void>;
  close(): Promise<void>;
}

interface Message {
  id?: number;
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** Opens a page of Chromium without a window. */
export async function openPage(
  chromium: string,
  folder: string,
  size: { width: number; height: number },
): Promise<Page> {
  const flags = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--hide-scrollbars",
  ];
  const child = spawn(
    chromium,
    [
      ...flags,
      `--user-data-dir=${folder}`,
      `--window-size=${size.width},${size.height}`,
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
  );
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const [, , , input, output] = child.stdio as [null, null, null, Writable, Readable];
  const waiting = new Map<
    number,
    { resolve(value: Record<string, unknown>): void; reject(error: Error): void }
  >();
  let [next, rest, session] = [1, "", undefined as string | undefined];
  output.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\0");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const { id = 0, result = {}, error } = JSON.parse(part) as Message;
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(error.message));
    }
  });
  const send = (method: string, params: Record<string, unknown> = {}) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject });
      input.write(
        `${JSON.stringify({ id, method, params, ...(session && { sessionId: session }) })}\0`,
      );
    });
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = String((await send("Target.attachToTarget", { targetId, flatten: true })).sessionId);
  await send("Page.enable");
  await send("Emulation.setDeviceMetricsOverride", {
    ...size,
    deviceScaleFactor: 1,
    mobile: false,
  });
  return {
    open: async (url) => void (await send("Page.navigate", { url })),
    value: async (expression) => {
      const asked = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await send("Runtime.evaluate", asked);
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return (result as { value?: unknown }).value;
    },
    write: async (text) => void (await send("Input.insertText", { text })),
    screenshot: async (file) => {
      const { data } = await send("Page.captureScreenshot", { format: "png" });
      writeFileSync(file, Buffer.from(String(data), "base64"));
    },
    close: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
