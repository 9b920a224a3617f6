import { afterEach, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import { preflight } from "../../components/preflight/preflight";
import { readMachine } from "../../components/preflight/readMachine";
import type { MachineFacts } from "../../components/preflight/types";
import { stack } from "../fixtures/machine";

vi.mock("../../components/preflight/readMachine");

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

const refusedAt = async (preview: boolean) =>
  (await preflight({ machines }, { ...UPDATING, preview }))
    .filter(({ verdict }) => verdict === "refused")
    .map(({ message }) => message.split(".")[0]);

afterEach(() => void vi.useRealTimers());

it("a preview finds what an update finds on a machine that answers", async () => {
  vi.mocked(readMachine).mockResolvedValue(facts(NO_GPUS));
  expect(await refusedAt(true)).toEqual(
    expect.arrayContaining(["Docker has no GPU runtime", "totalGiB is declared as 121"]),
  );
  expect(await refusedAt(true)).toEqual(await refusedAt(false));
});

it("a preview without a Docker engine judges nothing of the machine", async () => {
  vi.mocked(readMachine).mockResolvedValue(facts({ reachable: false, reason: "no socket" }));
  expect(await refusedAt(true)).toEqual([]);
  expect(await refusedAt(false)).not.toEqual([]);
});

it("a preview says that a machine wasn't read in time, and goes on", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let found: ReturnType<typeof preflight> | undefined;
  await new Promise<void>((isAsked) => {
    vi.mocked(readMachine).mockImplementation(() => {
      isAsked();
      return new Promise(() => undefined);
    });
    found = preflight({ machines }, { ...UPDATING, preview: true });
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
