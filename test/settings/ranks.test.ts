import { describe, expect, it } from "vitest";
import { machinesFaults } from "../fixtures/faults";
import { link, node, twoMachines } from "../fixtures/ranks";
import { BRIDGE } from "../fixtures/services";

const faultsOf = (...given: Parameters<typeof twoMachines>) =>
  machinesFaults(twoMachines(...given));

/** One more machine of the link. */
const THIRD = { dgx3: node(3) };

const B = "machines.dgx1.inferenceServers.b";

describe("a server over several machines", () => {
  it("is taken with a link of each", () => {
    expect(faultsOf()).toEqual([]);
    expect(faultsOf({ tensorParallelSize: 1, pipelineParallelSize: 2 })).toEqual([]);
    expect(faultsOf({ listen: "192.168.100.1" })).toEqual([]);
    const sockets = { link: link(1, { hcas: [], gidIndex: undefined }) };
    expect(
      faultsOf({}, sockets, { link: { interface: "enp1s0f0np0", address: "192.168.100.2" } }),
    ).toEqual([]);
  });

  const wrong: [string, Parameters<typeof faultsOf>, string, Parameters<typeof faultsOf>][] = [
    [
      "its own machine not named first",
      [{ nodes: ["dgx2", "dgx1"] }],
      `${B}.nodes: Name each machine once, first the one that declares the server, which has the API: write \`nodes: [dgx1, dgx2]\`.`,
      [{ nodes: ["dgx1", "dgx2"] }],
    ],
    [
      "a machine named twice",
      [{ nodes: ["dgx1", "dgx2", "dgx2"] }],
      `${B}.nodes: Name each machine once, first the one that declares the server, which has the API: write \`nodes: [dgx1, dgx2]\`.`,
      [{ nodes: ["dgx1", "dgx2"] }],
    ],
    [
      "itself alone, twice",
      [{ nodes: ["dgx1", "dgx1"] }],
      `${B}.nodes: One machine alone needs no \`nodes\`: delete this line.`,
      [{ nodes: undefined, tensorParallelSize: 1 }],
    ],
    [
      "itself alone",
      [{ nodes: ["dgx1"] }],
      `${B}.nodes: Expected at least two machines: for a single machine, delete this line. (Machines that share the model, by their names in this stack.)`,
      [{ nodes: undefined, tensorParallelSize: 1 }],
    ],
    [
      "a machine that is not there",
      [{ nodes: ["dgx1", "dgx3"] }],
      `${B}.nodes.1: No machine \`dgx3\` in this stack. Known: dgx1, dgx2.`,
      [{ nodes: ["dgx1", "dgx2"] }],
    ],
    [
      "no link",
      [{}, {}, { link: undefined }],
      `${B}.nodes: The stack file doesn't say how these machines reach each other: write \`machines.dgx2.link: { interface: …, address: … }\`.`,
      [],
    ],
    [
      "more parts than GPUs",
      [{ tensorParallelSize: 4 }],
      `${B}.tensorParallelSize: \`tensorParallelSize: 4\` must equal the number of GPUs of all nodes, 2 (dgx1 1, dgx2 1): write \`tensorParallelSize: 2\`.`,
      [{ tensorParallelSize: 2 }],
    ],
    [
      "both kinds of parts",
      [{ pipelineParallelSize: 2 }],
      `${B}.tensorParallelSize: \`tensorParallelSize: 2\` x \`pipelineParallelSize: 2\` must equal the number of GPUs of all nodes, 2 (dgx1 1, dgx2 1): write \`tensorParallelSize: 1\`.`,
      [{ tensorParallelSize: 1, pipelineParallelSize: 2 }],
    ],
    [
      "stages that don't divide the GPUs",
      [{ pipelineParallelSize: 3 }],
      `${B}.tensorParallelSize: \`tensorParallelSize: 2\` x \`pipelineParallelSize: 3\` must equal the number of GPUs of all nodes, 2 (dgx1 1, dgx2 1): write \`tensorParallelSize: 2\` and \`pipelineParallelSize: 1\`.`,
      [{ tensorParallelSize: 2, pipelineParallelSize: 1 }],
    ],
    [
      "machines with different numbers of GPUs",
      [{ tensorParallelSize: 3 }, {}, { gpus: 2 }],
      `${B}.nodes: vLLM can share a model only among machines with the same number of GPUs, and these differ (dgx1 1, dgx2 2; \`gpus\`): name machines that are alike.`,
      [],
    ],
    [
      "RDMA devices of one machine only",
      [{}, {}, { link: link(2, { hcas: [] }) }],
      `${B}.nodes: dgx1 would use RDMA and the other nodes sockets: name the RDMA devices of all (those missing: \`machines.dgx2.link.hcas\`), or of none.`,
      [],
    ],
    [
      "an address of its own to listen on",
      [{ listen: "0.0.0.0" }],
      `${B}.listen: A server over several machines listens only on its machine's link address, 192.168.100.1: delete this line. For other computers, publish the bridge.`,
      [{ listen: undefined }],
    ],
    [
      "a variable that differs between the ranks",
      [{ environment: { VLLM_HOST_IP: "10.0.0.1", NCCL_DEBUG: "INFO" } }],
      `${B}.environment.VLLM_HOST_IP: Each rank gets its own, from its machine's \`link\`: delete this line.`,
      [{ environment: { NCCL_DEBUG: "INFO" } }],
    ],
    [
      "several API servers",
      [{ extraArgs: ["--seed", "7", "--api_server_count=2"] }],
      `${B}.extraArgs.2: A worker has no API, and its GPUs all take part in one model: with \`nodes\` delete this argument.`,
      [{ extraArgs: ["--seed", "7"] }],
    ],
    [
      "the bridge of a machine that has no end of its link",
      [
        { nodes: ["dgx1", "dgx3"] },
        {},
        { link: undefined, bridge: { ...BRIDGE, servers: ["dgx1.b"] } },
        THIRD,
      ],
      "machines.dgx2.bridge.servers.0: `dgx1.b` is only reachable over its private link, and dgx2 is not on that link: declare the bridge on dgx1.",
      [{ nodes: ["dgx1", "dgx3"] }, { bridge: BRIDGE }, { link: undefined }, THIRD],
    ],
    [
      "no GID",
      [{}, { link: link(1, { gidIndex: undefined }) }],
      "machines.dgx1.link.gidIndex: RDMA needs the index of the address's RoCE v2 GID, which differs between machines: write the one that `show_gids` prints beside the address on this machine, such as `gidIndex: 3`.",
      [{}, { link: link(1, { gidIndex: 3 }) }],
    ],
    [
      "the link as its name on the network",
      [{}, { clients: { host: "192.168.100.1" } }],
      "machines.dgx1.clients.host: This is the link's address, and no client may be on the link: the ranks accept commands from anyone who can reach them. Write the name that the machine has on the clients' network.",
      [{}, { clients: { host: "dgx1.local" } }],
    ],
    [
      "an executor",
      [{ executor: "ray" }],
      `${B}.executor: There is no \`executor\`: vLLM's own processes run the model, even over several machines (\`nodes\`), since vLLM's image has no Ray. Delete this line.`,
      [],
    ],
    [
      "Ray among the extra arguments",
      [{ extraArgs: ["--distributed-executor-backend=ray"] }],
      `${B}.extraArgs.0: \`--distributed-executor-backend\` can't be passed: vLLM's own processes (\`mp\`) run the model, even over several machines (\`nodes\`); vLLM's image has no Ray.`,
      [{ extraArgs: [] }],
    ],
  ];

  it.each(wrong)("is refused with %s, and taken as that says", (_, given, message, advised) => {
    expect(faultsOf(...given)).toEqual([message]);
    expect(faultsOf(...advised)).toEqual([]);
  });

  it("is refused on two machines with one address", () => {
    const [first, ...others] = faultsOf({}, {}, { link: link(1) });
    expect(first).toBe(
      "machines.dgx1.link.address: dgx2 also has this address: write this machine's own, as `ip -4 address show enp1s0f1np1` prints it there.",
    );
    expect(others.map((each) => each.split(":")[0])).toEqual(["machines.dgx2.link.address"]);
  });

  it.each([
    [{ address: "127.0.0.1" }, "link.address: Expected an IPv4 address of a private network"],
    [{ address: "8.8.8.8" }, "link.address: Expected an IPv4 address of a private network"],
    [{ address: "172.32.0.1" }, "link.address: Expected an IPv4 address of a private network"],
    [
      { interface: "wlP9s9" },
      "link.interface: The ranks accept commands from anyone who can reach them: write the interface of a cable or switch that connects only these machines.",
    ],
    [
      { interface: "lo" },
      "link.interface: The ranks accept commands from anyone who can reach them: write the interface of a cable or switch that connects only these machines.",
    ],
    [{ hcas: ["a,b"] }, "link.hcas.0: Expected the name of an RDMA device, such as rocep1s0f1"],
  ])("is refused with a link of %j", (more, message) => {
    expect(faultsOf({}, { link: link(1, more) })).toEqual([
      expect.stringContaining(`machines.dgx1.${message}`),
    ]);
  });
});
