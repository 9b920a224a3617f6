import { FaultyInput } from "@local-serving/base/faults/fault";
import { describe, expect, it } from "vitest";
import { planText } from "../../cli/plan/planText";
import { plan } from "../../components/plan/plan";
import { link, ranks } from "../fixtures/ranks";
import { BRIDGE } from "../fixtures/services";

const evidence = { home: "/home/me" };
const planned = (...given: Parameters<typeof ranks>) => {
  const { machines, warnings } = plan(ranks(...given), evidence);
  const [first, second] = machines;
  if (first === undefined || second === undefined) throw new Error("two machines are planned");
  return { first, second, warnings };
};

/** What one list of words has that another lacks. */
const beyond = (words: readonly string[], others: readonly string[]) =>
  words.filter((word) => !others.includes(word));

describe("a server over two machines", () => {
  const { first, second, warnings } = planned();
  const [head] = first.inferenceServers;
  const [worker] = second.ranks;

  it("has its head where it is written, and a worker on the other machine", () => {
    expect(first.inferenceServers.map(({ key }) => key)).toEqual(["b"]);
    expect(first.ranks).toEqual([]);
    expect(second.inferenceServers).toEqual([]);
    expect(second.ranks.map(({ key }) => key)).toEqual(["dgx1.b"]);
    expect([head?.container.name, worker?.container.name]).toEqual([
      "vllm-model-8001",
      "vllm-model-8001-rank1",
    ]);
    expect([head?.container.resource, worker?.container.resource]).toEqual([
      "dgx1-b",
      "dgx2-dgx1.b",
    ]);
    const nodes = [
      { machine: "dgx1", address: "192.168.100.1", container: "vllm-model-8001" },
      { machine: "dgx2", address: "192.168.100.2", container: "vllm-model-8001-rank1" },
    ];
    const mark = expect.stringMatching(/^[0-9a-f]{16}$/);
    expect(head?.rank).toEqual({ index: 0, nodes, link: link(1), masterPort: 29501, mark });
    expect(worker?.rank).toEqual({
      index: 1,
      nodes,
      link: link(2),
      masterPort: 29501,
      mark: head?.rank?.mark,
    });
  });

  it("gives both ranks one command but for their places", () => {
    expect(head?.container.command.slice(-10)).toEqual([
      ...[
        "--nnodes",
        "2",
        "--node-rank",
        "0",
        "--master-addr",
        "192.168.100.1",
        "--master-port",
        "29501",
      ],
      ...["--distributed-timeout-seconds", "1800"],
    ]);
    expect(head?.container.command.slice(3, 7)).toEqual([
      "org/model",
      "--host",
      "192.168.100.1",
      "--port",
    ]);
    expect(beyond(head?.container.command ?? [], worker?.container.command ?? [])).toEqual(["0"]);
    expect(beyond(worker?.container.command ?? [], head?.container.command ?? [])).toEqual([
      "1",
      "--headless",
    ]);
  });

  it("gives each rank the variables of its own end of the link", () => {
    const own = (last: number) => ({
      GLOO_SOCKET_IFNAME: `enp1s0f${last}np1`,
      LOCAL_SERVING_RANKS: head?.rank?.mark,
      NCCL_IB_DISABLE: "0",
      NCCL_IB_GID_INDEX: String(last + 2),
      NCCL_IB_HCA: `rocep1s0f${last},roceP2p1s0f${last}`,
      NCCL_IGNORE_CPU_AFFINITY: "1",
      NCCL_SOCKET_IFNAME: `enp1s0f${last}np1`,
      TP_SOCKET_IFNAME: `enp1s0f${last}np1`,
      VLLM_ENGINE_READY_TIMEOUT_S: "3600",
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS: "1800",
      VLLM_HOST_IP: `192.168.100.${last}`,
    });
    expect(head?.container.env).toMatchObject(own(1));
    expect(worker?.container.env).toMatchObject(own(2));
  });

  it("runs each rank on the machine's network, with its RDMA devices and a /dev/shm of its own", () => {
    for (const container of [head?.container, worker?.container])
      expect(container).toMatchObject({
        ...{ network: "host", ports: [], ipc: "private", shmGiB: 64 },
        ...{ devices: ["/dev/infiniband"], capabilities: ["CAP_IPC_LOCK"] },
        ulimits: [
          { name: "memlock", soft: -1, hard: -1 },
          { name: "stack", soft: 67108864, hard: 67108864 },
        ],
        healthcheck: {
          test: ["CMD", "curl", "-fsS", "-o", "/dev/null", "http://192.168.100.1:8001/health"],
        },
      });
  });

  it("counts each rank's share on its own machine", () => {
    const lines = ({ ledger }: typeof first) =>
      ledger.lines.slice(0, 2).map(({ name, gib }) => [name, gib]);
    expect(lines(first)).toEqual([
      ["vllm-model-8001", 54.73],
      ["vllm-model-8001: overshoot", 0.94],
    ]);
    expect(lines(second)).toEqual([
      ["vllm-model-8001-rank1", 54.73],
      ["vllm-model-8001-rank1: overshoot", 0.94],
    ]);
    expect([first, second].map(({ starts }) => Object.keys(starts))).toEqual([
      ["vllm-model-8001"],
      ["vllm-model-8001-rank1"],
    ]);
  });

  it("tells each start gate its rank and where the other's gate is", () => {
    const gate = ({ files }: typeof first) =>
      files
        .find(({ role }) => role === "start-gate")
        ?.text.split("\n")
        .slice(1);
    expect(gate(first)).toEqual([
      "floor 2048",
      "starts 3",
      "server vllm-model-8001 56044 58 http://192.168.100.1:8001/health",
      "rank vllm-model-8001 0 192.168.100.1 29502 enp1s0f1np1",
      "peer vllm-model-8001 dgx2 192.168.100.2 29502",
      "model vllm-model-8001 org/model",
      "",
    ]);
    expect(gate(second)).toEqual([
      "floor 2048",
      "starts 3",
      "server vllm-model-8001-rank1 56044 58 http://192.168.100.1:8001/health",
      "rank vllm-model-8001-rank1 1 192.168.100.2 29502 enp1s0f2np1",
      "peer vllm-model-8001-rank1 dgx1 192.168.100.1 29502",
      "model vllm-model-8001-rank1 org/model",
      "",
    ]);
  });

  it("answers at the head's link address alone, whatever name the machine has elsewhere", () => {
    expect(first.endpoints).toEqual([
      { key: "b", name: "vllm-model-8001", url: "http://192.168.100.1:8001/v1" },
    ]);
    expect(second.endpoints).toEqual([]);
    const named = planned({}, { clients: { host: "dgx1.local", codex: {} }, bridge: BRIDGE }).first;
    expect(named.endpoints[0]).toEqual({
      key: "b",
      name: "vllm-model-8001",
      url: "http://192.168.100.1:8001/v1",
    });
    expect(named.clients[0]?.baseUrl).toBe("http://192.168.100.1:8001/v1");
    const config = named.files.find(({ role }) => role === "bridge-config")?.text;
    expect(config).toContain("api_base: http://192.168.100.1:8001/v1");
  });

  it("is behind the bridge of another machine of the link by that address", () => {
    const bridge = { ...BRIDGE, servers: ["dgx1.b"] };
    const config = planned({}, {}, { bridge }).second.files.find(
      ({ role }) => role === "bridge-config",
    )?.text;
    expect(config).toContain("api_base: http://192.168.100.1:8001/v1");
  });

  it("refuses clients on other computers that ask it themselves, and says what to write", () => {
    const clients = (codex: object) => ({ clients: { on: "here", host: "dgx1.local", codex } });
    const bridge = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "KEY_OF_BRIDGE" };
    let faults: unknown;
    try {
      planned({}, { ...clients({}), bridge });
    } catch (error) {
      faults =
        error instanceof FaultyInput && error.faults.map(({ path, message }) => [path, message]);
    }
    expect(faults).toEqual([
      [
        "machines.dgx1.clients.codex.via",
        "codex talks to `b` directly, which listens only on 192.168.100.1: no other computer can reach it. Write `clients.codex.via: bridge`. Or leave the clients' files on the machine: `clients.on: machine`.",
      ],
    ]);
    expect(planned({}, { ...clients({ via: "bridge" }), bridge }).first.clients[0]?.baseUrl).toBe(
      "http://dgx1.local:8787/v1",
    );
  });

  it("changes its mark with what all ranks have alike, and with nothing of one machine", () => {
    const mark = (...given: Parameters<typeof ranks>) =>
      planned(...given).second.ranks[0]?.rank?.mark;
    expect(mark({}, {}, { link: link(2, { interface: "enp1s0f0np0", gidIndex: 5 }) })).toBe(
      head?.rank?.mark,
    );
    for (const changed of [
      { maxModelLen: 1024 },
      { environment: { NCCL_DEBUG: "INFO" } },
      { masterPort: 29600 },
    ])
      expect(mark(changed)).not.toBe(head?.rank?.mark);
  });

  it("goes by sockets without RDMA devices, and is warned about once", () => {
    expect(warnings.map(({ code }) => code)).not.toContain("link-by-sockets");
    const bare = (last: number) => ({ link: link(last, { hcas: [], gidIndex: undefined }) });
    const sockets = planned({}, bare(1), bare(2));
    const container = sockets.second.ranks[0]?.container;
    expect(container?.env).toMatchObject({
      NCCL_IB_DISABLE: "1",
      NCCL_SOCKET_IFNAME: "enp1s0f2np1",
    });
    expect(Object.keys(container?.env ?? {})).not.toContain("NCCL_IB_HCA");
    expect([container?.devices, container?.capabilities]).toEqual([undefined, undefined]);
    expect(sockets.warnings.filter(({ code }) => code === "link-by-sockets")).toEqual([
      {
        machine: "dgx1",
        code: "link-by-sockets",
        message:
          "b: its ranks use sockets, not RDMA, so each token waits for them. Declare the link's RDMA devices, `hcas` (`ibdev2netdev` prints them) and `gidIndex`, below `machines.dgx1.link` and `machines.dgx2.link`.",
      },
    ]);
  });

  it("shows its ranks, their machines and the link in the plan", () => {
    const text = planText({ machines: [first, second], warnings: [] }, []);
    for (const line of [
      "    rank 0 of 2, the head, which has the API; rank 1 is vllm-model-8001-rank1 on dgx2 (192.168.100.2)",
      "    link: enp1s0f1np1, 192.168.100.1, by RDMA on rocep1s0f1 and roceP2p1s0f1, GID 3; no other computer may be on it",
      "    starts behind a gate: waits until MemAvailable covers what it takes, and until all ranks can start",
      "    rank 1 of 2; rank 0 is vllm-model-8001 on dgx1 (192.168.100.1)",
      "      --shm-size 64g \\",
      "      --device /dev/infiniband \\",
      "      --cap-add CAP_IPC_LOCK \\",
      "      --network host \\",
      "    vllm-model-8001  http://192.168.100.1:8001/v1",
      "  Nothing here answers: the head of the ranks does",
    ])
      expect(text.split("\n")).toContain(line);
  });
});
