import { containersOf } from "@local-serving/machines/docker/containers";
import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { judgeMachine } from "../../components/preflight/judgeMachine";
import type { MachineFacts } from "../../components/preflight/types";
import { containersAsApplied } from "../../components/preflight/unweighedModels";
import { inspected } from "../cli/fakeDocker";
import { stack } from "../fixtures/machine";

const NAME = "vllm-model-8001";
const ID = "org/model";

const NEEDS = { images: [], models: [], disks: [], rootless: false };

function planned(server: Record<string, unknown> = {}) {
  const settings = stack({ instanceA: "none" }, { model: { id: ID }, ...server });
  const [machine] = plan(settings, { home: "/home/me" }).machines;
  if (machine === undefined) throw new Error("no machine planned");
  return machine;
}

/** What the preflight refuses of a machine whose cache and hub tell this. */
function refused(
  weightsGB: Record<string, number>,
  {
    server = {},
    running = false,
    asApplied = [],
    problem,
  }: {
    readonly problem?: string;
    readonly server?: Record<string, unknown>;
    readonly running?: boolean;
    readonly asApplied?: readonly string[];
  } = {},
) {
  const facts: MachineFacts = {
    docker: {
      reachable: true,
      gpuRuntime: true,
      containers: running ? containersOf([inspected({ name: NAME })]) : [],
    },
    memory: { totalGiB: 121.63, availableGiB: 110 },
    listeners: [],
    directories: [],
    fileFolders: [],
    faultyVariables: [],
    kernel: { kernel: "6.17.0-1021-nvidia", kernelArguments: [], driver: "580.95.05" },
    needs: {
      ...NEEDS,
      models:
        problem === undefined
          ? []
          : [{ kind: "model", name: ID, cache: "/c", image: "i", problem }],
      weightsGB,
    },
    asApplied,
  };
  return judgeMachine(planned(server), facts)
    .filter(({ verdict }) => verdict === "refused")
    .map(({ message, setting }) => [message, setting]);
}

const UNWEIGHED = [
  `${NAME}: nobody could weigh ${ID}: write \`model.weightsGB\` (\`serving fetch --check\` asks the hub for the size). Neither the model cache nor the hub tells its size. Nothing was touched.`,
  "inferenceServers.b.model.weightsGB",
];

describe("a model that no plan could weigh", () => {
  it("stops `up` where neither the cache nor the hub tells its size", () => {
    expect(refused({})).toEqual([UNWEIGHED]);
  });

  it("stops nothing where the hub can't be asked", () => {
    expect(refused({}, { problem: "connection refused" })).toEqual([]);
  });

  it("is no reason once its size is written, as that says", () => {
    expect(refused({}, { server: { model: { id: ID, weightsGB: 20 } } })).toEqual([]);
  });

  it("is weighed by the cache or the hub", () => {
    expect(refused({ [ID]: 20 })).toEqual([]);
    expect(refused({ [ID]: 80 })).toEqual([
      [
        `${NAME} can't start: the weights of ${ID} take 80.0 GB (74.51 GiB), and it has 54.73 GiB. Set a larger \`gpuMemoryUtilization\`, or serve a smaller model. Nothing was touched.`,
        "inferenceServers.b.gpuMemoryUtilization",
      ],
    ]);
    expect(refused({ [ID]: 80 }, { server: { gpuMemoryUtilization: 0.7 } })).toEqual([]);
    expect(refused({ [ID]: 80 }, { server: { extraArgs: ["--quantization", "fp8"] } })).toEqual([]);
  });

  it("stops nothing that runs as it was applied", () => {
    expect(refused({}, { running: true, asApplied: [NAME] })).toEqual([]);
    expect(refused({}, { running: true })).toEqual([UNWEIGHED]);
    expect(refused({}, { asApplied: [NAME] })).toEqual([UNWEIGHED]);
  });

  it("stops nothing that a name weighs, and nothing in a folder", () => {
    expect(refused({}, { server: { model: { id: "org/Model-8B" } } })).toEqual([]);
    expect(refused({}, { server: { model: { id: "/data/model" } } })).toEqual([]);
  });
});

it("a container is as applied where the record has it word for word", async () => {
  const machine = planned();
  const text = JSON.stringify({ machine: { containers: machine.containers } });
  const names = (written: string | undefined) =>
    containersAsApplied(machine, { text: () => Promise.resolve(written) });
  expect(await names(text)).toEqual(machine.containers.map(({ name }) => name));
  expect(await names(text.replace("--max-model-len", "--max-model-length"))).not.toContain(NAME);
  expect([await names(undefined), await names("{}"), await names("no JSON")]).toEqual([[], [], []]);
});
