import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { runShown } from "@local-serving/base/commandLine/run";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { failedPulls, waitsForEver } from "../../cli/engine/eventLog";
import { temporaryFolder } from "../layers/temporaryFolder";

let log = "";
beforeEach(() => {
  log = join(temporaryFolder("events-"), "events");
});
afterEach(() => void vi.useRealTimers());

const failed = (op: string) =>
  `${JSON.stringify({ sequence: 1, resOpFailedEvent: { metadata: { op }, status: 2 } })}\n`;

it.each([
  ["delete-replaced", true],
  ["create", false],
  ["delete", false],
])("an update whose step %s failed waits for ever after a quiet minute: %s", (op, expected) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const waits = waitsForEver(log);
  expect(waits()).toBe(false);
  appendFileSync(log, failed(op));
  expect(waits()).toBe(false);
  vi.advanceTimersByTime(59_000);
  appendFileSync(log, '{"sequence": 2, "diagnosticEvent": {"message": "pulling"}}\n');
  expect(waits()).toBe(false);
  vi.advanceTimersByTime(59_999);
  expect(waits()).toBe(false);
  vi.advanceTimersByTime(1);
  expect(waits()).toBe(expected);
});

it.each([
  ["delete-replaced", false],
  ["create", true],
])("an image that didn't come says whether a container was stopped: %s", (op, none) => {
  const type = "docker:index/container:Container";
  const message = "error pulling image x/y:v1: manifest unknown";
  const events = [
    { resourcePreEvent: { metadata: { op, type } } },
    { resourcePreEvent: { planning: true, metadata: { op: "delete-replaced", type } } },
    { diagnosticEvent: { severity: "error", message } },
  ];
  appendFileSync(log, events.map((each) => `${JSON.stringify(each)}\n`).join(""));
  expect(failedPulls(log)).toEqual([
    expect.stringMatching(/^The image x\/y:v1 could not be fetched: /),
    ...(none ? ["No container was stopped or replaced."] : []),
  ]);
});

it("a program that is stuck is interrupted as by Ctrl-C, and ends by itself", async () => {
  const program = ["sh", "-c", "trap 'exit 7' INT; while :; do sleep 0.1; done"];
  let looks = 0;
  expect(await runShown(program, { stdio: ["ignore", 2, 2] }, () => ++looks > 1)).toBe(7);
});
