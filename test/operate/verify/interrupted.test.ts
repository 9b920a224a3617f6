import { afterAll, beforeAll, expect, it } from "vitest";
import { hostOf } from "../../../operate/sees/host";
import { verify } from "../../../operate/verify/run/runner";
import type { StandIn } from "../../stand-in/server";
import { machineOf, planned, startPlanned } from "./environment";

let server: StandIn;
beforeAll(async () => {
  server = await startPlanned();
});
afterAll(() => server.close());

it("an interrupted run has what it found, and says of the rest why it wasn't asked", async () => {
  const controller = new AbortController();
  const machine = machineOf(planned(server.port));
  const { probes, causes } = await verify(machine, {
    baseUrl: server.url,
    timeoutSeconds: 20,
    host: hostOf,
    machines: [machine],
    only: ["health", "models", "chat"],
    interrupt: controller.signal,
    progress: {
      starts: (name) => {
        if (name === "models") controller.abort("SIGINT");
      },
      ended: () => {},
    },
  });
  const rest = "not run to its end: interrupted (SIGINT)";
  expect(probes.map(({ name, status, detail }) => [name, status, detail])).toEqual([
    ["health", "pass", expect.any(String)],
    ["models", "skip", rest],
    ["chat", "skip", rest],
  ]);
  expect(causes).toEqual([]);
});
