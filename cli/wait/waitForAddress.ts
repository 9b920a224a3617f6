import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "@local-serving/base/commandLine/command";
import { answersOk } from "../sees/api";

/** Milliseconds between two questions. */
const EVERY = 1000;

/** Asks the server at an address, whoever started it, until it says that it is ready. */
export async function waitForAddress(url: string, timeoutSeconds: number): Promise<Outcome> {
  const began = performance.now();
  const waited = () => Math.round((performance.now() - began) / 1000);
  let ready = await answersOk(`${url}/health`);
  while (!ready && waited() < timeoutSeconds) {
    await sleep(EVERY);
    ready = await answersOk(`${url}/health`);
  }
  const seconds = waited();
  const outcome = ready ? "ready" : "timeout";
  return {
    result: { servers: [{ url, outcome, seconds }], diagnoses: [] },
    text: ready
      ? `${url} is ready after ${seconds} s.`
      : `${url} is not ready after ${seconds} s: see its own log.`,
    failed: !ready,
  };
}
