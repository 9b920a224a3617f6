import { setTimeout as sleep } from "node:timers/promises";
import type { Route, RouteTable } from "../../stand-in/exchange";
import { HEALTHY, startStandIn } from "../../stand-in/server";

/** The stand-in, which answers with text however many tools a client offers. */
const ROUTES: RouteTable = Object.fromEntries(
  ["/v1/messages", "/v1/chat/completions", "/v1/responses"].map((path) => {
    const healthy = HEALTHY[`POST ${path}`];
    if (healthy === undefined) throw new Error(`the stand-in has no ${path}`);
    const route: Route = (exchange) =>
      healthy({ ...exchange, body: { ...exchange.body, tools: [] } });
    return [`POST ${path}`, route];
  }),
);

/**
 * `vllm serve ...` of an image: loads for as many seconds as `LOADS_FOR` says, or says `FAILS_WITH`
 * and ends with code 3.
 */
async function main(argv: readonly string[]): Promise<void> {
  const { LOADS_FOR = "0", FAILS_WITH } = process.env;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
  if (FAILS_WITH !== undefined) {
    console.log(FAILS_WITH);
    process.exit(3);
  }
  await sleep(Number(LOADS_FOR) * 1000);
  await startStandIn(argv, { routes: ROUTES });
  console.log("Application startup complete.");
}

void main(process.argv.slice(2));
