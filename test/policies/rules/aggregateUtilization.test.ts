import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";

import {
  container,
  declared,
  hostInstance,
  IMAGE,
  said,
  server,
  serverRecord,
  serving,
  UNKNOWN_LIST,
  UNKNOWN_NUMBER,
  UNKNOWN_TEXT,
  verdictsOf,
} from "../declared";

const RULE = "aggregate-utilization";

function machine(
  hostShare: unknown,
  share: string | undefined,
  more: Record<string, unknown> = {},
) {
  const flag = share === undefined ? [] : ["--gpu-memory-utilization", share];
  return declared(TYPE.machine, "dgx", {
    machine: "dgx",
    totalGiB: 121.63,
    hostInstance: hostShare === "none" ? "none" : { port: 8000, gpuMemoryUtilization: hostShare },
    servers: [{ name: "b", image: IMAGE, command: ["m", ...flag], environment: {} }],
    ...more,
  });
}

describe("a machine's declaration", () => {
  const ABOVE = [
    ...["0.45004", "0.450049", "0.4500000001", "0.450000000000001", "0.4500000000000001"],
    ...["0.45000000000000007", "4.500000000000001e-1"],
  ];
  it.each(ABOVE)("is over the limit by any digit: %s", (share) => {
    expect(said(RULE, [machine(0.45, share)]).join()).toContain(
      "refused: The servers of dgx claim 0.9001 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of b to 0.45 or less.",
    );
    expect(said(RULE, [machine(Number(share), "0.45")]).join()).toContain(
      "Claimed: instance A (host, port 8000) 0.4501 + b 0.45, ",
    );
  });

  it.each([
    ["the default pair", 0.45, "0.45"],
    ["exactly the limit, where binary fractions say more", 0.72, "0.18"],
    ["no instance A", "none", "0.90"],
    // The very number that vLLM reads of 0.45.
    ["more digits than a number has", 0.45, "0.45000000000000001"],
  ])("passes: %s", (_, host, share) => {
    expect(verdictsOf(RULE, [machine(host, share)])).toEqual([
      { name: RULE, level: "mandatory", verdict: "pass", message: "", resource: "" },
    ]);
  });

  it("refuses the impossible pair with the figures and the largest share that fits", () => {
    expect(verdictsOf(RULE, [machine(0.72, "0.45")])).toEqual([
      {
        name: RULE,
        level: "mandatory",
        verdict: "refused",
        resource: "dgx",
        message:
          "The servers of dgx claim 1.17 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of b to 0.18 or less. The plan still warns of the sum of the shares. Instance A is not ours to lower: only its owner can, to 0.45 or less. Claimed: instance A (host, port 8000) 0.72 + b 0.45, 142.3 of 121.63 GiB.",
      },
    ]);
  });

  it("names what all memory leaves, where that is less than the limit does", () => {
    const memory = { lines: [], largestUtilization: { b: { bySum: 0.35, byAggregate: 0.45 } } };
    expect(said(RULE, [machine(0.45, "0.5", { memory })]).join()).toContain(
      "Set --gpu-memory-utilization of b to 0.35 or less. Instance A is not ours to lower: only its owner can, to 0.40 or less.",
    );
    for (const bySum of [0.45, UNKNOWN_NUMBER]) {
      const same = { lines: [], largestUtilization: { b: { bySum, byAggregate: 0.45 } } };
      expect(said(RULE, [machine(0.45, "0.5", { memory: same })]).join()).toContain(
        "of b to 0.45 or less.",
      );
    }
    const none = { lines: [], largestUtilization: { b: { bySum: 0, byAggregate: 0.45 } } };
    expect(said(RULE, [machine(0.45, "0.5", { memory: none })]).join()).toContain(
      "No share is left for b beside the others.",
    );
    expect(said(RULE, [machine(0.45, "0.95")]).join()).toMatch(/only its owner can\. Claimed: /);
  });

  it("refuses one ten-thousandth too much and shows it", () => {
    expect(said(RULE, [machine(0.45, "0.4501")]).join()).toMatch(
      /claim 0\.9001 .*to 0\.45 or less/,
    );
  });

  it("counts a missing flag as vLLM's default", () => {
    expect(said(RULE, [machine("none", undefined)]).join()).toMatch(
      /^refused: The servers of dgx claim 0\.92 of its memory, and 0\.90 is the limit\. Set --gpu-memory-utilization of b to 0\.90 or less\./,
    );
  });

  it("says that servers may start on request where none of several has a share left", () => {
    const command = ["m", "--gpu-memory-utilization", "0.95"];
    const servers = ["b", "c"].map((name) => ({ name, image: IMAGE, command, environment: {} }));
    expect(said(RULE, [machine("none", undefined, { servers })]).join()).toContain(
      "No share is left for c beside the others. Write `start: onRequest` at those that needn't run at once: `serving start` starts one where it fits.",
    );
    expect(said(RULE, [machine(0.9, "0.1")]).join()).not.toContain("onRequest");
  });

  it("says when no share is left", () => {
    expect(said(RULE, [machine(0.9, "0.1")]).join()).toContain(
      "No share is left for b beside the others.",
    );
  });

  it("wants a word about instance A", () => {
    const [message] = said(RULE, [machine(0.45, "0.45", { hostInstance: undefined })]);
    expect(message).toMatch(
      /^refused: The memory share of instance A can't be judged: it is not declared; declare its share, or `none` if there is no instance A\./,
    );
    expect(said(RULE, [machine(0.45, "0.45", { hostInstance: null })])).toEqual([message]);
  });

  it.each([
    ["its servers", { servers: UNKNOWN_LIST }, /a server of ours .* `servers` is not known/],
    ["instance A", { hostInstance: UNKNOWN_TEXT }, /instance A .* `hostInstance` is not known/],
    [
      "instance A's share",
      { hostInstance: { port: 8000, gpuMemoryUtilization: UNKNOWN_NUMBER } },
      /instance A \(host, port 8000\) .* its gpuMemoryUtilization is not known/,
    ],
    [
      "a share that instance A lacks",
      { hostInstance: { port: 8000 } },
      /its gpuMemoryUtilization is not known/,
    ],
    ["one of its servers", { servers: [UNKNOWN_TEXT] }, /Server 1 .* its arguments are not known/],
    [
      "a server that is none",
      { servers: ["vllm serve"] },
      /Server 1 .* its arguments are not known/,
    ],
    [
      "a server's image",
      { servers: [{ name: "b", image: UNKNOWN_TEXT, command: [] }] },
      /b .* it may be an inference server: its image is not known/,
    ],
    [
      "its total, where a server takes more than its share",
      {
        totalGiB: UNKNOWN_NUMBER,
        servers: [{ name: "b", image: IMAGE, command: ["m", "--kv-cache-memory-bytes=9G"] }],
      },
      /b .* the machine's total is not known/,
    ],
  ])("refuses what is not known: %s", (_, changes, why) => {
    expect(said(RULE, [machine(0.45, "0.45", changes)]).join()).toMatch(why);
  });

  it.each([0, -1, "Infinity", UNKNOWN_NUMBER])("names no GiB of a total of %s", (totalGiB) => {
    expect(said(RULE, [machine(0.45, "0.5", { totalGiB, memory: UNKNOWN_TEXT })]).join()).toMatch(
      /^refused: The servers of dgx claim 0\.95 of its memory, and 0\.90 is the limit\. Set --gpu-memory-utilization of b to 0\.45 or less\./,
    );
  });

  it("numbers a server that has no name", () => {
    const servers = [{ image: IMAGE, command: ["m", "--gpu-memory-utilization=0.95"] }];
    expect(said(RULE, [machine("none", "0.45", { servers })]).join()).toContain(
      "refused: The servers of dgx claim 0.95 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of server 1 to 0.90 or less.",
    );
  });

  it("reads the variables of a server's own script", () => {
    const servers = [
      {
        name: "b",
        image: IMAGE,
        entrypoints: ["sh", "-c", 'vllm serve m --gpu-memory-utilization "$SHARE"'],
        command: [],
        environment: { SHARE: "0.6" },
      },
    ];
    expect(said(RULE, [machine(0.45, "0.45", { servers })]).join()).toMatch(
      /claim 1\.05 .* b 0\.60/,
    );
  });
});

describe("containers without our components", () => {
  it.each([
    ["two words", ["m", "--gpu-memory-utilization", "0.95"]],
    ["equals sign", ["m", "--gpu-memory-utilization=0.95"]],
    ["underscores", ["m", "--gpu_memory_utilization", "0.95"]],
    ["abbreviated", ["m", "--gpu-mem=0.95"]],
    ["alias", ["m", "--device-memory-utilization", "0.95"]],
    ["repeated", ["m", "--gpu-memory-utilization", "0.5", "--gpu-memory-utilization", "0.95"]],
    ["entrypoint written out", ["vllm", "serve", "m", "--gpu-memory-utilization", "0.95"]],
    ["script", ["sh", "-c", "vllm serve m --gpu-memory-utilization 0.95"]],
  ])("refuses 0.95: %s", (_, command) => {
    expect(said(RULE, [serving(...command)])).toEqual([
      "refused: The servers of this machine claim 0.95 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of b to 0.90 or less. The plan still warns of the sum of the shares. Claimed: b 0.95.",
    ]);
  });

  it("sums two containers, and names what each may take", () => {
    const two = [
      server({ command: ["m", "--gpu-memory-utilization", "0.5"] }, "b"),
      server({ command: ["m", "--gpu-memory-utilization", "0.5"] }, "c"),
    ];
    expect(said(RULE, two).join()).toMatch(
      /^refused: The servers of this machine claim 1\.00 of its memory, and 0\.90 is the limit\. Either set --gpu-memory-utilization of b to 0\.40 or less\./,
    );
  });

  it("counts each server that one script starts", () => {
    const script =
      "vllm serve a --gpu-memory-utilization 0.5 & vllm serve b --gpu-memory-utilization 0.5";
    expect(said(RULE, [serving("sh", "-c", script)]).join()).toMatch(/b 0\.50 \+ b 0\.50/);
  });

  it("adds a declared instance A", () => {
    expect(
      said(RULE, [serving("m", "--gpu-memory-utilization", "0.45"), hostInstance(0.72)]).join(),
    ).toMatch(
      /^refused: The servers of this machine claim 1\.17 of its memory, and 0\.90 is the limit\. Set --gpu-memory-utilization of b to 0\.18 or less\./,
    );
  });

  it("warns once when nothing says whether there is an A", () => {
    expect(said(RULE, [server()])).toEqual([
      "warned: No instance A is declared beside b, so none is counted. If there is one, declare local-serving:index:HostInstance with its machine, port and gpuMemoryUtilization.",
    ]);
    expect(said(RULE, [server(), hostInstance(0.45)])).toEqual([]);
  });

  it.each([
    [
      "--config",
      ["m", "--config", "x.yaml"],
      /`--config` takes options from a file that can't be read here/,
    ],
    ["ambiguous", ["m", "--max-num", "1"], /`--max-num` may mean/],
    ["no number", ["m", "--gpu-memory-utilization", "half"], /is `half`, which is not a number/],
    [
      "negative",
      ["m", "--gpu-memory-utilization", "-0.5"],
      /is -0\.5, but a share must be above 0 and at most 1/,
    ],
    ["above one", ["m", "--gpu-memory-utilization=1.2"], /is 1\.2, but a share must be/],
    ["no value", ["m", "--gpu-memory-utilization"], /`--gpu-memory-utilization` has no value/],
    [
      "unknown value",
      ["m", "--gpu-memory-utilization", UNKNOWN_TEXT],
      /value of `--gpu-memory-utilization` is not known/,
    ],
    ["unknown argument", ["m", UNKNOWN_TEXT], /argument 2 is not known before the update/],
  ])("refuses what can't be read: %s", (_, command, why) => {
    const messages = said(RULE, [serving(...command)]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^refused: The memory share of b can't be judged: /);
    expect(messages[0]).toMatch(why);
    expect(messages[0]).toMatch(/Until this is fixed, .* the limit of 0\.90\.$/);
  });

  it("refuses an image of the server whose entrypoint can't be read", () => {
    expect(said(RULE, [server({ entrypoints: ["/start.sh"], command: ["x"] })]).join()).toMatch(
      /no `vllm serve` can be read from its entrypoint/,
    );
    expect(said(RULE, [server({ command: UNKNOWN_LIST })]).join()).toMatch(
      /argument 1 is not known/,
    );
  });
});

it("reads the arguments of a wrapper script, in any image", () => {
  const wrapped = {
    image: "own/server:1",
    entrypoints: ["/start.sh"],
    command: ["--gpu-memory-utilization=0.95"],
  };
  expect(said(RULE, [server(wrapped)]).join()).toMatch(/claim 0\.95 .*to 0\.90 or less/);
  expect(said(RULE, [server({ ...wrapped, entrypoints: UNKNOWN_LIST })]).join()).toMatch(
    /argument 1 is not known/,
  );
});

describe("what may be an inference server", () => {
  it.each([
    ["unknown image with GPUs", { image: UNKNOWN_TEXT, command: undefined }],
    ["unknown command with GPUs", { image: "ubuntu:24.04", command: UNKNOWN_LIST }],
    ["an image id with GPUs", { image: `sha256:${"ab".repeat(32)}`, command: ["m"].slice(1) }],
    [
      "unknown image with a variable of vLLM",
      { image: UNKNOWN_TEXT, command: undefined, gpus: undefined, ipcMode: undefined },
    ],
  ])("is refused: %s", (_, changes) => {
    expect(said(RULE, [server(changes)]).join()).toMatch(
      /it may be an inference server: .*as plain text/,
    );
  });

  it.each([
    [
      "nginx with everything unknown but its image",
      { image: "nginx:1.27", command: UNKNOWN_LIST, envs: UNKNOWN_LIST, ports: UNKNOWN_LIST },
    ],
    ["nginx from another resource's output", { image: UNKNOWN_TEXT }],
    [
      "nginx from an output, with its command",
      { image: UNKNOWN_TEXT, command: ["nginx", "-g", "daemon off;"], gpus: "all" },
    ],
    [
      "a client of a server",
      { image: "curlimages/curl:8", command: ["sh", "-c", "curl http://vllm:8000/v1/models"] },
    ],
    ["a program on the GPU that is known", { image: "ollama/ollama:0.14.0", gpus: "all" }],
  ])("leaves alone: %s", (_, props) => {
    expect(said(RULE, [container("nginx", props)])).toEqual([]);
  });
});

describe("several machines", () => {
  const half = ["m", "--served-model-name", "m", "--gpu-memory-utilization", "0.5"];
  const two = (more: [object, object] = [{}, {}]) => [
    hostInstance("0.3", "one"),
    hostInstance("0.3", "two"),
    server({ command: half }, "b", more[0]),
    server({ command: half }, "c", more[1]),
  ];
  it("keeps containers of different machines apart", () => {
    const said_ = said(RULE, [
      ...two(),
      serverRecord({ machine: "one", container: "b" }),
      serverRecord({ machine: "two", container: "c" }),
    ]);
    expect(said_).toEqual([]);
  });
  it("takes a provider's word for the machine", () => {
    expect(said(RULE, two([{ provider: "one" }, { provider: "two" }]))).toEqual([]);
  });
  it("takes the machine component above a container", () => {
    const component = (name: string) =>
      machine(0.3, "0.5", { machine: name, servers: [{ name: "b", image: IMAGE, command: half }] });
    const resources = ["one", "two"].flatMap((name) => [
      { ...component(name), name, urn: `urn:${name}` },
      { ...server({ command: half }, "b", { parent: `urn:${name}` }), urn: `urn:${name}-b` },
    ]);
    expect(said(RULE, resources)).toEqual([]);
  });
  it("counts a container everywhere when nothing says where it is", () => {
    expect(said(RULE, two())).toHaveLength(2);
  });
});

it("says a refusal once where the machine component and the containers agree", () => {
  const b = server({
    command: ["m", "--served-model-name", "m", "--gpu-memory-utilization", "0.45"],
  });
  expect(said(RULE, [machine(0.72, "0.45"), b])).toHaveLength(1);
});

it("says it of the stack where a container beside the component makes the sum too large", () => {
  const b = server({ command: ["m", "--gpu-memory-utilization", "0.45"] });
  const c = server({ command: ["m", "--gpu-memory-utilization", "0.45"] }, "c");
  expect(said(RULE, [machine(0.45, "0.45"), b, c]).join()).toMatch(
    /^refused: .*claim 1\.35 .*b 0\.45 \+ c 0\.45/,
  );
});

describe("a machine's declaration and its containers", () => {
  const b = (...command: string[]) => server({ command: ["m", ...command] }, "b");
  const c = (...command: string[]) => server({ command: ["m", ...command] }, "c");
  const two = ["0.15", "0.3"].map((share, index) => ({
    name: "bc"[index],
    image: IMAGE,
    command: ["m", "--gpu-memory-utilization", share],
  }));
  const share = "--gpu-memory-utilization";

  it("judge a container that can't be read, though the others make up the declared sum", () => {
    const resources = [
      machine(0.45, undefined, { servers: two }),
      b(share, "0.45"),
      c("--config", "x"),
    ];
    expect(said(RULE, resources).join()).toMatch(
      /^refused: The memory share of c can't be judged: `--config` takes options from a file that can't be read here\./,
    );
  });

  it("judge each where they differ in number, though not in sum", () => {
    const resources = [machine(0.45, "0.5"), b(share, "0.3"), c(share, "0.2")];
    expect(said(RULE, resources)).toHaveLength(2);
  });

  it("say nothing of an A that is not declared: the component says there is none", () => {
    expect(said(RULE, [machine("none", undefined, { servers: two }), b(share, "0.3")])).toEqual([]);
  });

  it("name the server, not the container before it", () => {
    const resources = [container("web", { image: "nginx:1.27" }), b(share, "0.95")];
    expect(verdictsOf(RULE, resources)).toMatchObject([{ resource: "b" }]);
  });
});

it("keeps its level", () => {
  const levels = { [RULE]: "disabled", all: "advisory" } as const;
  expect(verdictsOf(RULE, [machine(0.72, "0.45")], levels)).toMatchObject([
    { level: "mandatory", verdict: "refused" },
  ]);
});

describe("programs that load vLLM and serve nobody", () => {
  const gpus = { image: "own/x:1", gpus: "all" };
  const swift = (share: string) =>
    container("swift", {
      ...gpus,
      command: ["swift", "rollout", "--vllm_gpu_memory_utilization", share],
    });

  it("count beside a server, and are told what to lower", () => {
    expect(said(RULE, [serving("m", "--gpu-memory-utilization", "0.6"), swift("0.5")])).toEqual([
      "refused: The servers of this machine claim 1.10 of its memory, and 0.90 is the limit. Either set --gpu-memory-utilization of b to 0.40 or less. The plan still warns of the sum of the shares. Or set --vllm_gpu_memory_utilization of swift to 0.30 or less. The plan still warns of the sum of the shares. Claimed: b 0.60 + swift 0.50.",
    ]);
  });

  it("are judged alone", () => {
    const [warning, ...more] = said(RULE, [swift("0.9")]);
    expect(warning).toMatch(
      /^warned: No instance A is declared beside swift, so none is counted\./,
    );
    expect(more).toEqual([]);
    expect(said(RULE, [swift("0.95")])).toEqual([
      "refused: The servers of this machine claim 0.95 of its memory, and 0.90 is the limit. Set --vllm_gpu_memory_utilization of swift to 0.90 or less. The plan still warns of the sum of the shares. Claimed: swift 0.95.",
    ]);
  });

  it("are refused with a share that can't be read", () => {
    const bench = (...words: string[]) =>
      container("x", { ...gpus, command: ["vllm", "bench", "latency", ...words] });
    expect(said(RULE, [swift("all")]).join()).toContain("`all`, which is not a number");
    expect(said(RULE, [bench("--config", "/x")])).toEqual([
      "refused: The memory share of x can't be judged: `--config` takes options from a file that can't be read here. Until this is fixed, the sum can't be compared with the limit of 0.90.",
    ]);
    expect(said(RULE, [bench()]).join()).toContain(
      "x 0.92 (vLLM's default, as --gpu-memory-utilization is missing)",
    );
  });
});
