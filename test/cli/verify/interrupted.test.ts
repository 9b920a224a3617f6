import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { hostOf } from "../../../cli/sees/host";
import { verify } from "../../../cli/verify/run/runner";
import { HEALTHY, type StandIn, startStandIn } from "../../stand-in/server";
import { runServing } from "../runServing";
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

it("the command prints that before the signal ends it", async () => {
  const chat = "POST /v1/chat/completions";
  const healthy = HEALTHY[chat];
  if (healthy === undefined) throw new Error(`the stand-in has no ${chat}`);
  const ended = vi.spyOn(process, "kill").mockReturnValue(true);
  const byHand = await startStandIn(["model", "--host", "127.0.0.1", "--port", "0"], {
    routes: {
      [chat]: (exchange) => {
        process.emit("SIGINT", "SIGINT");
        return healthy(exchange);
      },
    },
  });
  const only = ["--only", "health,chat"];
  const { out } = await runServing(["verify", "--base-url", byHand.url, ...only]);
  await byHand.close();
  expect(ended.mock.calls).toEqual([[process.pid, "SIGINT"]]);
  ended.mockRestore();
  // Here, where the signal is held up, the command goes on and prints once more.
  const printed = [
    `vllm-model-${new URL(byHand.url).port}`,
    "  pass health  alive",
    "  skip not run to its end: interrupted (SIGINT): chat",
    "",
    "1 passed, 0 failed, 1 skipped",
  ];
  expect(out.split("\n")).toEqual([...printed, ...printed, ""]);
});
