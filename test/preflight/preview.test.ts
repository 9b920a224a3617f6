import { afterEach, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import { preflight } from "../../components/preflight/preflight";
import type { MachineFacts } from "../../components/preflight/types";
import { stack } from "../fixtures/machine";

const { machines } = plan(stack({ dockerHost: "unix:///nonexistent/docker.sock" }), {
  home: "/nonexistent",
});
const UPDATING = { locate: () => ({}), fingerprint: "settings", isNew: false };

/** What is read of the machine where its Docker engine answers or doesn't. */
const facts = (docker: MachineFacts["docker"]): MachineFacts => ({
  docker,
  memory: { totalGiB: 60, availableGiB: 50 },
  listeners: [],
  directories: [],
  fileFolders: [],
  faultyVariables: [],
  kernel: { kernel: "6.17", kernelArguments: [] },
});
const NO_GPUS: MachineFacts["docker"] = { reachable: true, gpuRuntime: false, containers: [] };

const refusedAt = async (preview: boolean, docker: MachineFacts["docker"]) =>
  (await preflight({ machines }, { ...UPDATING, preview }, async () => facts(docker)))
    .filter(({ verdict }) => verdict === "refused")
    .map(({ message }) => message.split(".")[0]);

afterEach(() => void vi.useRealTimers());

it("a preview finds what an update finds on a machine that answers", async () => {
  expect(await refusedAt(true, NO_GPUS)).toEqual(
    expect.arrayContaining(["Docker has no GPU runtime", "totalGiB is 121"]),
  );
  expect(await refusedAt(true, NO_GPUS)).toEqual(await refusedAt(false, NO_GPUS));
});

it("a preview without a Docker engine judges nothing of the machine", async () => {
  const away: MachineFacts["docker"] = { reachable: false, reason: "no socket" };
  expect(await refusedAt(true, away)).toEqual([]);
  expect(await refusedAt(false, away)).not.toEqual([]);
});

it("a preview says that a machine wasn't read in time, and goes on", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let found: ReturnType<typeof preflight> | undefined;
  await new Promise<void>((isAsked) => {
    found = preflight({ machines }, { ...UPDATING, preview: true }, () => {
      isAsked();
      return new Promise(() => undefined);
    });
  });
  vi.advanceTimersByTime(2000);
  expect(await found).toEqual([
    {
      name: "preflight of dgx",
      verdict: "warned",
      message:
        "It wasn't read within 2 s, so this preview doesn't say what of it `up` would refuse.",
    },
  ]);
});
