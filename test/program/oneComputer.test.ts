import { readFileSync } from "node:fs";
import { ComponentResource, runtime } from "@pulumi/pulumi";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { readBootIds } from "../../components/preflight/bootIds";
import { declareMachines, judgeMachines } from "../../components/program/declareMachines";
import { stackSettings } from "../../components/settings/stackSettings";
import { serverInput } from "../fixtures/machine";
import { FakeSsh } from "../layers/fakeSsh";
import { record } from "./record";

const BOOT_ID = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

/** Two machines that ssh reaches by two names; one computer answers to both. */
const settings = (share: number) =>
  stackSettings.parse({
    machines: Object.fromEntries(
      ["dgx", "dgx2"].map((name, index) => [
        name,
        {
          totalGiB: 121.63,
          dockerHost: `ssh://me@${name}`,
          home: `/home/${name}`,
          instanceA: "none",
          inferenceServers: {
            b: serverInput({ gpuMemoryUtilization: share, port: 8001 + index }),
          },
        },
      ]),
    ),
  });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.stubEnv("PATH", new FakeSsh().path);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

it("boot ids are read here and over ssh, and left out where nothing answers", async () => {
  const machines = [
    { name: "here", dockerHost: "unix:///run/user/1000/docker.sock" },
    { name: "there", dockerHost: "ssh://me@dgx" },
  ];
  expect([...(await readBootIds(machines))]).toEqual([
    ["here", BOOT_ID],
    ["there", BOOT_ID],
  ]);
  vi.stubEnv("PATH", new FakeSsh("No route to host").path);
  expect([...(await readBootIds(machines))]).toEqual([["here", BOOT_ID]]);
});

it.each([true, false])(
  "two names of one computer are judged together (preview: %s)",
  async (preview) => {
    const { log } = await import("@pulumi/pulumi");
    vi.spyOn(log, "warn").mockImplementation(async () => undefined);
    let end: unknown;
    const recorded = await record(async () => {
      vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
      const refused = ({ message }: Error) => ({ refusal: { error: { message } } });
      const { refusal } = await judgeMachines(settings(0.5)).catch(refused);
      end = refusal?.error.message;
    });
    expect(recorded).toEqual([]);
    expect(end).toContain(
      "aggregate-utilization: The servers of dgx and dgx2 (one computer) claim 1.00 of its memory, and 0.90 is the limit. ",
    );
  },
);

it("each machine has the boot id of its kernel among its outputs, and not among its inputs", async () => {
  const outputs: unknown[] = [];
  const spied = vi
    .spyOn(
      ComponentResource.prototype as unknown as { registerOutputs(o: unknown): void },
      "registerOutputs",
    )
    .mockImplementation((given) => void outputs.push(given));
  const recorded = await record(async () => {
    vi.spyOn(runtime, "isDryRun").mockReturnValue(true);
    await declareMachines(settings(0.2));
  });
  expect(spied).toHaveBeenCalled();
  expect(outputs.filter((each) => each !== undefined)).toEqual([
    { bootId: BOOT_ID },
    { bootId: BOOT_ID },
  ]);
  expect(JSON.stringify(recorded)).not.toContain(BOOT_ID);
});
