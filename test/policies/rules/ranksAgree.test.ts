import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import {
  type Declared,
  declaredResources,
} from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { serverInput } from "../../fixtures/machine";
import { ranks } from "../../fixtures/ranks";
import { DIGEST, said, server } from "../declared";

const RULE = "ranks-agree";
const resources = (...given: Parameters<typeof ranks>) =>
  declaredResources(plan(ranks(...given), { home: "/home/me" }));

const HEAD = "dgx1-b";
const WORKER = "dgx2-dgx1.b";

type Props = Record<string, unknown> & { readonly command?: readonly string[] };

/** The same two ranks, one of whose containers is changed by hand. */
const changed = (name: string, change: (props: Props) => Props): Declared[] =>
  resources().map((each) =>
    each.type === TYPE.container && each.name === name
      ? { ...each, props: { ...each.props, ...change(each.props) } }
      : each,
  );

const withWord = (from: string, to: string) => (props: Props) => ({
  command: props.command?.map((word) => (word === from ? to : word)) ?? [],
});

describe("ranks-agree", () => {
  it("passes what the plan makes, by RDMA and by sockets, in parts and in stages", () => {
    expect(said(RULE, resources())).toEqual([]);
    expect(said(RULE, resources({ tensorParallelSize: 1, pipelineParallelSize: 2 }))).toEqual([]);
  });

  it.each<[string, Declared[], string[]]>([
    [
      "a worker that is missing",
      resources().filter(({ name }) => name !== WORKER),
      [
        "vllm-model-8001 is one of 2 ranks, and 1 of them are declared. Declare exactly one container for each rank (`--nnodes`), or vLLM waits for the missing ones. At 192.168.100.1:29501 these meet: vllm-model-8001.",
      ],
    ],
    [
      "a worker that meets its head elsewhere",
      changed(WORKER, withWord("29501", "29503")),
      [
        "vllm-model-8001 is one of 2 ranks, and 1 of them are declared. Declare exactly one container for each rank (`--nnodes`), or vLLM waits for the missing ones. At 192.168.100.1:29501 these meet: vllm-model-8001.",
        "vllm-model-8001-rank1 is one of 2 ranks, and 1 of them are declared. Declare exactly one container for each rank (`--nnodes`), or vLLM waits for the missing ones. At 192.168.100.1:29503 these meet: vllm-model-8001-rank1.",
      ],
    ],
    [
      "two ranks of one number",
      changed(WORKER, withWord("1", "0")),
      [
        "vllm-model-8001-rank1 and vllm-model-8001 are both rank 0 of one server. Number its ranks from 0, each once (`--node-rank`): it meets at 192.168.100.1:29501.",
      ],
    ],
    [
      "another image",
      changed(WORKER, () => ({ image: `vllm/vllm-openai:v0.33.0@${DIGEST}` })),
      [
        `vllm-model-8001-rank1 and vllm-model-8001, ranks of one server, run two images. Give both the same image, by digest: they are \`vllm/vllm-openai:v0.33.0@${DIGEST}\` and \`vllm/vllm-openai:v0.30.0@sha256:${"0123456789abcdef".repeat(4)}\`.`,
      ],
    ],
    [
      "another window and another model",
      changed(WORKER, (props) => ({
        command: [...(props.command ?? []), "--max-model-len", "8192"].map((word, at) =>
          at === 0 ? "org/other" : word,
        ),
      })),
      [
        "vllm-model-8001-rank1 and vllm-model-8001 are ranks of one server, and differ. Give both the same the model (org/other, org/model), --max-model-len (8192, 262144): vLLM would start and hang later.",
      ],
    ],
    [
      "another revision and another share",
      changed(WORKER, (props) => ({
        command: [...(props.command ?? []), "--revision", "abc", "--gpu-memory-utilization", "0.5"],
      })),
      [
        "vllm-model-8001-rank1 and vllm-model-8001 are ranks of one server, and differ. Give both the same --gpu-memory-utilization (0.5, 0.45), --revision (abc, not given): vLLM would start and hang later.",
      ],
    ],
    [
      "parts that the machines can't share",
      resources().map((each) =>
        each.type === TYPE.container
          ? {
              ...each,
              props: {
                ...each.props,
                command: [...((each.props as Props).command ?? []), "-tp", "3"],
              },
            }
          : each,
      ),
      [
        "vllm-model-8001 divides its model unequally among 2 machines. Make 3 x 1 parts (`--tensor-parallel-size`, `--pipeline-parallel-size`) the number of all their GPUs. In the stack file: `machines.dgx1.inferenceServers.b.tensorParallelSize`.",
      ],
    ],
  ])("refuses %s", (_, given, messages) => {
    expect(said(RULE, given)).toEqual(messages.map((message) => `refused: ${message}`));
  });

  it("takes a server of one machine for no rank", () => {
    expect(said(RULE, [server(), server({}, "c")])).toEqual([]);
  });

  it("names the head first in whichever order ranks are declared", () => {
    const other = changed(WORKER, (props) => ({
      command: [...(props.command ?? []), "--revision", "abc"],
    }));
    for (const given of [other, other.toReversed()])
      expect(said(RULE, given).join()).toContain(
        "vllm-model-8001-rank1 and vllm-model-8001 are ranks of one server, and differ. Give",
      );
  });

  it("names every rank, two of one number among the workers too, and every word of an argument", () => {
    const rank = (name: string, ...more: string[]) =>
      server(
        { command: ["m", "--nnodes=3", "-tp", "3", "--master-addr", "10.0.0.1", ...more] },
        name,
      );
    const worker = (name: string) => rank(name, "--node-rank=1", "--headless", "--host", "::1");
    expect(said(RULE, [rank("a"), worker("b"), worker("c")])).toEqual([
      "refused: c and b are both rank 1 of one server. Number its ranks from 0, each once (`--node-rank`): it meets at 10.0.0.1:29501.",
    ]);
    expect(said(RULE, [rank("a"), worker("b")]).join()).toContain(
      "refused: a is one of 3 ranks, and 2 of them are declared. Declare exactly one container for each rank (`--nnodes`), or vLLM waits for the missing ones.",
    );
    const named = rank("b", "--node-rank=1", "--served-model-name", "x", "y");
    const of = [
      rank("a", "--revision", "abc"),
      named,
      rank("c", "--node-rank=2", "--revision", "abc"),
    ];
    expect(said(RULE, of).join()).toContain(
      "differ. Give both the same --served-model-name (x y, not given), --revision (not given, abc): vLLM",
    );
  });

  it("takes a worker's API arguments for nothing", () => {
    expect(said(RULE, changed(WORKER, withWord("8001", "8009")))).toEqual([]);
  });
});

describe("the other policies, of ranks", () => {
  const b = (masterPort: number) =>
    serverInput({ servedModelName: "c", port: 8002, masterPort, gpuMemoryUtilization: 0.1 });
  const two = (masterPort: number) => {
    const server = { ...b(masterPort), nodes: ["dgx1", "dgx2"], tensorParallelSize: 2 };
    const [first] = Object.values(ranks().machines);
    return resources({}, { inferenceServers: { b: first?.inferenceServers.b, c: server } });
  };

  it("have nothing against them", () => {
    const names = judge(resources()).filter(({ verdict }) => verdict !== "pass");
    expect(names.map(({ name, resource }) => [name, resource])).toEqual([
      ["server-starts", "dgx1"],
      ["server-starts", "dgx2"],
    ]);
  });

  it("count a worker's share on its machine, and name the head's setting", () => {
    const second = { inferenceServers: { own: serverInput({ gpuMemoryUtilization: 0.5 }) } };
    const judged = judge(resources({}, {}, second)).filter(
      ({ name }) => name === "aggregate-utilization",
    );
    expect(judged.map(({ verdict, resource, path }) => [verdict, resource, path])).toEqual([
      ["refused", "dgx2", "machines.dgx2.inferenceServers.own.gpuMemoryUtilization"],
    ]);
  });

  it("refuse two servers that meet at one port, or at the port of the other's gates, and name a free pair", () => {
    expect(said("host-ports", two(29503))).toEqual([]);
    const [first] = judge(two(29502)).filter(({ name }) => name === "host-ports");
    expect(first).toMatchObject({
      verdict: "refused",
      path: "machines.dgx1.inferenceServers.c.masterPort",
      value: 29504,
    });
    expect(first?.message).toContain(
      "c and b both take host port 29502/tcp. Give one of them another port, such as 29504.",
    );
    const paths = judge(two(29502)).flatMap(({ name, path }) =>
      name === "host-ports" ? [path] : [],
    );
    expect(new Set(paths)).toEqual(new Set(["machines.dgx1.inferenceServers.c.masterPort"]));
    expect(said("host-ports", two(29504))).toEqual([]);
  });

  it("warn of a head that listens on every address", () => {
    const open = changed(HEAD, (props) => ({
      command: [...(props.command ?? []), "--host", "0.0.0.0"],
    }));
    expect(said("lan-exposure", open)).toEqual([
      "warned: b is in the host's network, and no key is checked. Publish it on 127.0.0.1, and publish the bridge with a key for the network (`bridge.listen`, `bridge.keyVariable`). Everyone on the local network can use it. vLLM's own `--api-key` guards only part of its routes. If the bridge of another machine asks it, it has to listen there: let a firewall admit that machine alone.",
    ]);
  });

  it("want a size for a rank's own /dev/shm", () => {
    const without = changed(WORKER, () => ({ shmSize: undefined }));
    expect(said("inference-container", without)).toEqual([
      'refused: b lacks the host\'s IPC namespace. Set `ipcMode: "host"`; it has `private`.',
    ]);
  });
});
