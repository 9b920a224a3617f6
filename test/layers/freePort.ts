import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Ports given to tests, below the ones that Linux lends to outgoing connections (32768 and up):
 * such a port can be taken by a test's request between this look and a container's start.
 */
const LOWEST = 14_000;
const HIGHEST = 32_000;

/** Workers that share a machine get a band each, so no two are given the same port. */
const BANDS = 12;
const BAND = Math.floor((HIGHEST - LOWEST) / BANDS);
const first = LOWEST + (Number(process.env.VITEST_POOL_ID ?? 0) % BANDS) * BAND;
let next = randomInt(BAND);

/** A TCP port that nothing listens on now, on any address; another one at each call. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < BAND; tries++) {
    const port = first + (next++ % BAND);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${first} to ${first + BAND}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server.listen(port, "0.0.0.0"), "listening");
  const free = await listening.then(
    () => true,
    () => false,
  );
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}
