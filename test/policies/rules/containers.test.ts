import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { stack } from "../../fixtures/machine";
import { HOME } from "../../fixtures/services";
import {
  container,
  declared,
  hostInstance,
  IMAGE,
  said,
  server,
  serving,
  UNKNOWN_LIST,
  UNKNOWN_NUMBER,
  UNKNOWN_TEXT,
  verdictsOf,
} from "../declared";

describe("inference-container", () => {
  const RULE = "inference-container";
  it.each([
    ["no GPUs", { gpus: undefined }, 'b lacks all GPUs. Set `gpus: "all"`; it has nothing.'],
    ["one GPU", { gpus: "device=0" }, 'b lacks all GPUs. Set `gpus: "all"`; it has `device=0`.'],
    [
      "unknown GPUs",
      { gpus: UNKNOWN_TEXT },
      'b lacks all GPUs. Set `gpus: "all"`; it has a value that is not known yet.',
    ],
    [
      "private IPC",
      { ipcMode: "private" },
      'b lacks the host\'s IPC namespace. Set `ipcMode: "host"`; it has `private`.',
    ],
    [
      "no restart policy",
      { restart: undefined },
      'Set `restart: "unless-stopped"`; it has nothing.',
    ],
    ["another restart policy", { restart: "always" }, "it has `always`."],
    [
      "an unknown restart policy",
      { restart: UNKNOWN_TEXT },
      "it has a value that is not known yet.",
    ],
  ])("refuses %s", (_, changes, why) => {
    const messages = said(RULE, [server(changes)]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toContain(why);
  });

  it("accepts device requests for all GPUs", () => {
    expect(
      said(RULE, [server({ gpus: undefined, deviceRequests: [{ driver: "nvidia", count: -1 }] })]),
    ).toEqual([]);
    const cdi = [{ driver: "cdi", deviceIds: ["nvidia.com/gpu=all"] }];
    expect(said(RULE, [server({ gpus: undefined, deviceRequests: cdi })])).toEqual([]);
    for (const request of [{ count: 1 }, { deviceIds: ["nvidia.com/gpu=0"] }]) {
      expect(said(RULE, [server({ gpus: undefined, deviceRequests: [request] })]).join()).toContain(
        'refused: b lacks all GPUs. Set `gpus: "all"`; it has `some GPUs by device request`.',
      );
    }
  });

  it("passes the clean server and other containers", () => {
    const record = declared("example:index:Server", "b", { image: IMAGE, command: ["m"] });
    expect(said(RULE, [server(), container("web", { image: "nginx:1.27" }), record])).toEqual([]);
  });

  it("says what is lacking, and takes unknown device requests for no answer", () => {
    expect(said(RULE, [server({ restart: "always" })])).toEqual([
      'refused: b lacks a restart policy that survives a reboot. Set `restart: "unless-stopped"`; it has `always`.',
    ]);
    expect(
      said(RULE, [server({ gpus: undefined, deviceRequests: UNKNOWN_LIST })]).join(),
    ).toContain(
      'refused: b lacks all GPUs. Set `gpus: "all"`; it has a value that is not known yet.',
    );
  });

  it("lets only a rank have memory of its own, and wants the rest of it too", () => {
    const own = { ipcMode: "private", shmSize: 1024 };
    expect(said(RULE, [server(own)]).join()).toContain("lacks the host's IPC namespace");
    const two = "vllm serve m --nnodes 2 --master-addr 10.0.0.1 & vllm serve n";
    expect(said(RULE, [server({ ...own, command: ["sh", "-c", two] })])).toEqual([]);
    const rank = ["m", "--nnodes", "2", "--master-addr", "10.0.0.1"];
    expect(said(RULE, [server({ ...own, command: rank, gpus: undefined })]).join()).toContain(
      "lacks all GPUs",
    );
  });

  it("takes another level", () => {
    expect(verdictsOf(RULE, [server({ gpus: undefined })], { [RULE]: "advisory" })).toMatchObject([
      { verdict: "warned" },
    ]);
  });
});

describe("host-ports", () => {
  const RULE = "host-ports";
  const web = (ports: unknown, name = "web", more = {}) =>
    container(name, { image: "nginx:1.27", ports, ...more });
  const on = (external: unknown, ip?: unknown, protocol?: string) => [
    { internal: 80, external, ip, protocol },
  ];

  it("passes different ports, different addresses and different protocols", () => {
    expect(said(RULE, [web(on(8080)), web(on(8081), "web2")])).toEqual([]);
    expect(said(RULE, [web(on(8080, "127.0.0.1")), web(on(8080, "10.0.0.1"), "web2")])).toEqual([]);
    expect(said(RULE, [web(on(53)), web(on(53, undefined, "udp"), "web2")])).toEqual([]);
    expect(said(RULE, [web(on(undefined)), web(on(undefined), "web2")])).toEqual([]);
  });

  it.each([
    ["the same address", "127.0.0.1", "127.0.0.1"],
    ["every address and one", undefined, "127.0.0.1"],
    ["one and every address", "127.0.0.1", "0.0.0.0"],
    ["every address of IPv6", "::", "127.0.0.1"],
  ])("refuses a port used twice: %s", (_, first, second) => {
    const messages = said(RULE, [web(on(8080, first)), web(on(8080, second), "web2")]);
    expect(messages).toEqual([
      `refused: web2 and web both take host port 8080/tcp. Give one of them another port, such as 8001. They listen on ${second} and ${first ?? "0.0.0.0"}.`,
    ]);
  });

  it("refuses an address that may be the same", () => {
    expect(
      said(RULE, [web(on(8080, UNKNOWN_TEXT)), web(on(8080, "127.0.0.1"), "web2")]),
    ).toHaveLength(1);
  });

  it.each([
    [
      "its port",
      "host",
      11434,
      ["web takes host port 11434, where Ollama listens. Publish another port, such as 8001."],
    ],
    ["another port", "host", 11435, []],
    ["its port, which it has in a container", "integrated", 11434, []],
  ])("keeps the simple server's port on the host for it: %s", (_, mode, port, messages) => {
    const simpleServer = { mode, listen: "127.0.0.1", port: 11434 };
    const machine = declared(TYPE.machine, "dgx", { hostInstance: "none", simpleServer });
    expect(said(RULE, [machine, web(on(port))])).toEqual(
      messages.map((message) => `refused: ${message}`),
    );
  });

  it("names no port as free where the simple server listens", () => {
    const simpleServer = { mode: "host", listen: "127.0.0.1", port: 8001 };
    const machine = declared(TYPE.machine, "dgx", { hostInstance: "none", simpleServer });
    expect(said(RULE, [machine, web(on(9000)), web(on(9000), "web2")]).join()).toMatch(
      /^refused: web2 and web both take host port 9000\/tcp\. Give one of them another port, such as 8002\./,
    );
  });

  it("keeps machines apart", () => {
    const machines = [hostInstance(0.4, "one"), hostInstance(0.4, "two")];
    const apart = [web(on(8080), "web", {}), web(on(8080), "web2", {})].map((each, index) => ({
      ...each,
      provider: index === 0 ? "one" : "two",
    }));
    expect(said(RULE, [...machines, ...apart])).toEqual([]);
  });

  it("refuses port 8000 to any container", () => {
    expect(said(RULE, [web(on(8000))])).toEqual([
      "refused: web takes host port 8000, which is instance A's. Publish another port, such as 8001.",
    ]);
    expect(said(RULE, [web(on(8002), "web2"), web(on(8000))]).join()).toContain("such as 8001.");
  });

  it("leaves port 8000 to a server on a machine that has no instance A", () => {
    const findings = (instanceA: unknown) =>
      judge(declaredResources(plan(stack({ instanceA }, { port: 8000 }), { home: HOME })))
        .filter(({ name, verdict }) => name === RULE && verdict !== "pass")
        .map(({ message }) => message);
    expect(findings("none")).toEqual([]);
    expect(findings({ gpuMemoryUtilization: 0.3, port: 9000 }).join()).toMatch(
      /takes host port 8000/,
    );
  });

  it("names no port of an instance A as free", () => {
    const twice = [web(on(8080)), web(on(8080), "web2"), hostInstance(0.4, "dgx", 8001)];
    expect(said(RULE, twice).join()).toContain("such as 8002.");
  });

  it("refuses the port that instance A is declared on", () => {
    expect(said(RULE, [web(on(9000)), hostInstance(0.4, "dgx", 9000)]).join()).toMatch(
      /web takes host port 9000, which/,
    );
    const machine = (hostInstance: unknown) =>
      declared(TYPE.machine, "dgx", { machine: "dgx", hostInstance });
    expect(said(RULE, [web(on(9000)), machine({ port: 9000 })]).join()).toMatch(
      /web takes host port 9000, which/,
    );
    expect(said(RULE, [web(on(9000)), machine(null)])).toEqual([]);
    expect(
      said(RULE, [web(on(8000)), machine("none"), hostInstance(0.4, "dgx", 9000)]),
    ).toHaveLength(1);
    expect(said(RULE, [web(on(UNKNOWN_NUMBER)), hostInstance(0.4, "dgx", UNKNOWN_NUMBER)])).toEqual(
      [],
    );
  });

  it("reads the server's own port in the host's network", () => {
    const host = (...command: unknown[]) =>
      server({ networkMode: "host", ports: undefined, command });
    expect(said(RULE, [host("m")]).join()).toMatch(/takes host port 8000/);
    expect(said(RULE, [host("m", "--port", "8001"), web(on(8001, "127.0.0.1"))])).toEqual([
      "refused: web and b both take host port 8001/tcp. Give one of them another port, such as 8002. They listen on 127.0.0.1 and 0.0.0.0.",
    ]);
    expect(said(RULE, [host("m", "--port", "8001")])).toEqual([]);
  });

  it("wants the ports of a server to be known, and of nothing else", () => {
    expect(said(RULE, [server({ ports: UNKNOWN_LIST })]).join()).toMatch(
      /^refused: A port of b is not known before the update\. Give `ports` as a plain number: it may be instance A's port 8000\./,
    );
    expect(said(RULE, [server({ ports: on(UNKNOWN_NUMBER) })]).join()).toMatch(
      /Give `ports\[0\]\.external` as a plain number/,
    );
    expect(said(RULE, [web(UNKNOWN_LIST), web(on(UNKNOWN_NUMBER), "web2")])).toEqual([]);
  });

  it.each(["[::]", "*"])("takes %s for every address", (ip) => {
    expect(said(RULE, [web(on(8080, ip)), web(on(8080, "127.0.0.1"), "web2")])).toHaveLength(1);
  });

  it("names an address that is not known, and refuses a server's port that may be any", () => {
    expect(
      said(RULE, [web(on(8080, UNKNOWN_TEXT)), web(on(8080, "::1"), "web2")]).join(),
    ).toContain(
      "refused: web2 and web both take host port 8080/tcp. Give one of them another port, such as 8001.",
    );
    const command = ["sh", "-c", "vllm serve m --port $PORT"];
    expect(said(RULE, [server({ networkMode: "host", command })]).join()).toMatch(
      /^refused: A port of b is not known before the update\./,
    );
  });

  it("counts of a worker only where ranks meet, of a head its API too, and names a free pair of ports", () => {
    const rank = (name: string, ...more: string[]) => {
      const command = [
        "m",
        "--nnodes",
        "2",
        "--master-addr",
        "10.0.0.1",
        "--master-port",
        "29502",
        ...more,
      ];
      return server({ networkMode: "host", ports: undefined, command }, name);
    };
    const head = rank("b", "--port", "8001");
    expect(said(RULE, [head, web(on(8001))])).toHaveLength(1);
    expect(said(RULE, [rank("b", "--headless", "--port", "8001"), web(on(8001))])).toEqual([]);
    expect(said(RULE, [head, rank("c", "--headless")]).join()).toContain("such as 29504.");
    expect(
      said(RULE, [
        rank("b", "--master-port=29600"),
        rank("c", "--headless", "--master-port=29600"),
      ]).join(),
    ).toContain("such as 29501.");
  });
});

describe("secret-values", () => {
  const RULE = "secret-values";
  const SECRET = "hf_s3cr3tvalue";
  it("refuses a value, and never shows it", () => {
    const messages = said(RULE, [server({ envs: [`HF_TOKEN=${SECRET}`, "PATH=/bin"] })]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(
      /^refused: b has a secret \(not shown\) in its variable HF_TOKEN\. Anyone who can read the state or `docker inspect` can read it\./,
    );
    expect(messages[0]).toContain("HF_TOKEN_PATH");
    expect(messages.join()).not.toContain(SECRET);
  });

  it("refuses it in any container, with an equals sign in it too", () => {
    expect(
      said(RULE, [container("web", { image: "nginx", envs: ["DB_PASSWORD=a=b=c"] })]),
    ).toHaveLength(1);
  });

  it.each([
    "HF_TOKEN=",
    "OPENAI_API_KEY=<API_KEY>",
    "LITELLM_MASTER_KEY=placeholder",
    "HF_TOKEN_PATH=/run/token",
    "HF_TOKEN",
  ])("passes %s", (entry) => expect(said(RULE, [server({ envs: [entry] })])).toEqual([]));

  it.each([
    ["two words", ["m", "--api-key", SECRET]],
    ["equals sign", ["m", `--api_key=${SECRET}`]],
    ["second of two", ["m", "--api-key", "placeholder", SECRET]],
    ["a hub token", ["m", "--hf-token", SECRET]],
  ])("refuses a secret among the arguments: %s", (_, command) => {
    const messages = said(RULE, [serving(...command)]);
    expect(messages.join()).toMatch(
      /^refused: b has a secret \(not shown\) behind --(api-key|hf-token)\./,
    );
    expect(messages.join()).not.toContain(SECRET);
  });

  it("wants the variables of a server to be known, and of nothing else", () => {
    expect(said(RULE, [server({ envs: UNKNOWN_LIST })]).join()).toMatch(
      /^refused: A variable of b is not known before the update\. Give `envs` of an inference server as plain text: it may hold a secret\./,
    );
    expect(said(RULE, [server({ envs: ["A=1", UNKNOWN_TEXT] })]).join()).toMatch(
      /Give `envs\[1\]` of an inference server/,
    );
    expect(said(RULE, [container("web", { image: "nginx", envs: [UNKNOWN_TEXT] })])).toEqual([]);
    expect(said(RULE, [container("web", { image: "nginx", envs: UNKNOWN_LIST })])).toEqual([]);
  });

  it("refuses a secret inside a variable of another name, and in any container's arguments", () => {
    expect(said(RULE, [server({ envs: ["SETTINGS=api_key=s3cr3tvalue"] })])).toHaveLength(1);
    expect(
      said(RULE, [container("web", { image: "nginx", command: ["--password", "s3cr3tvalue"] })]),
    ).toEqual([
      expect.stringMatching(/^refused: web has a secret \(not shown\) in `command\.1`\. /),
    ]);
  });

  it("lets a placeholder pass among the arguments, and nothing that is not known", () => {
    expect(said(RULE, [serving("m", "--api-key", "placeholder")])).toEqual([]);
    expect(said(RULE, [serving("sh", "-c", 'vllm serve m --api-key "$KEY"')]).join()).toContain(
      "behind --api-key.",
    );
  });

  it("takes another level", () => {
    expect(
      verdictsOf(RULE, [server({ envs: [`A_KEY=${SECRET}`] })], { [RULE]: "advisory" }),
    ).toMatchObject([{ verdict: "warned" }]);
  });
});

describe("lan-exposure", () => {
  const RULE = "lan-exposure";
  const at = (ip: unknown) => server({ ports: [{ internal: 8001, external: 8001, ip }] });
  it.each(["0.0.0.0", undefined, "192.168.1.5", "::"])("warns of %s", (ip) => {
    const messages = said(RULE, [at(ip)]);
    expect(messages).toEqual([
      `warned: b publishes port 8001 on ${ip ?? "0.0.0.0"}, and no key is checked. Publish it on 127.0.0.1, and publish the bridge with a key for the network (\`bridge.listen\`, \`bridge.keyVariable\`). Everyone on the local network can use it. vLLM's own \`--api-key\` guards only part of its routes. If the bridge of another machine asks it, it has to listen there: let a firewall admit that machine alone.`,
    ]);
  });
  const LITELLM = "ghcr.io/berriai/litellm:v1";
  const WEBUI = "ghcr.io/open-webui/open-webui:v1";
  it.each<[string, Record<string, unknown>, string | undefined]>([
    ["a bridge without a key", { image: LITELLM }, "no key is checked. Give it one"],
    [
      "a bridge that reads its key from a file",
      {
        image: LITELLM,
        entrypoints: ["/bin/sh", "-c", "LITELLM_MASTER_KEY=$(cat /run/secrets/key) && exec x"],
      },
      undefined,
    ],
    [
      "a bridge with a key in its command",
      { image: LITELLM, command: ["LITELLM_MASTER_KEY=x", "y"] },
      undefined,
    ],
    [
      "a bridge with other arguments",
      { image: LITELLM, command: ["--port", UNKNOWN_TEXT] },
      "no key is checked. Give",
    ],
    ["a chat UI with other words", { image: WEBUI, envs: ["WEBUI_AUTH=falsely"] }, undefined],
    ["a chat UI with another word", { image: WEBUI, envs: ["WEBUI_AUTH=unfalse"] }, undefined],
    [
      "vLLM in an image of another name",
      { image: "own/x:1", command: ["vllm", "serve", "m"] },
      "vLLM's own `--api-key`",
    ],
    ["a bridge with a key", { image: LITELLM, envs: ["LITELLM_MASTER_KEY=x"] }, undefined],
    ["a chat UI, which has accounts", { image: WEBUI }, undefined],
    [
      "a chat UI without accounts",
      { image: WEBUI, envs: ["WEBUI_AUTH=False"] },
      "no account is asked for",
    ],
    ["Ollama", { image: "ollama/ollama:0.34.4" }, "no key is checked. Publish it on 127.0.0.1."],
  ])("of %s on the network", (_, inputs, said_) => {
    const messages = said(RULE, [
      container("c", { ...inputs, ports: [{ internal: 1, external: 1 }] }),
    ]);
    expect(messages).toEqual(said_ === undefined ? [] : [expect.stringContaining(said_)]);
  });
  it.each(["127.0.0.1", "127.0.0.53", "::1"])("passes %s", (ip) =>
    expect(said(RULE, [at(ip)])).toEqual([]),
  );
  it("warns of the host's network", () => {
    expect(said(RULE, [server({ networkMode: "host" })]).join()).toMatch(
      /^warned: b is in the host's network/,
    );
  });
  it("leaves unrelated and unknown alone", () => {
    expect(said(RULE, [container("web", { image: "nginx", ports: [{ external: 80 }] })])).toEqual(
      [],
    );
    expect(said(RULE, [at(UNKNOWN_TEXT)])).toEqual([]);
  });
  it("refuses when the configuration makes it mandatory", () => {
    expect(verdictsOf(RULE, [at("0.0.0.0")], { [RULE]: "mandatory" })).toMatchObject([
      { verdict: "refused" },
    ]);
    const host = server({ networkMode: "host" });
    expect(verdictsOf(RULE, [host], { [RULE]: "mandatory" })).toMatchObject([
      { verdict: "refused" },
    ]);
    expect(verdictsOf(RULE, [host])).toMatchObject([{ verdict: "warned", level: "advisory" }]);
  });

  it("warns of a port that Docker chooses", () => {
    expect(said(RULE, [server({ ports: [{ internal: 8000 }] })]).join()).toContain(
      "warned: b publishes port of Docker's choice on 0.0.0.0, and no key is checked.",
    );
  });

  const RANK = "--nnodes 2 --master-addr 10.0.0.1";
  it.each([
    ["a bridge without a key", { image: LITELLM }, 1],
    [
      "a worker, which has no API",
      { image: IMAGE, command: ["sh", "-c", `vllm serve m ${RANK} --headless`] },
      0,
    ],
    [
      "a rank that listens on the link alone",
      { image: IMAGE, command: `m ${RANK} --host 10.0.0.1`.split(" ") },
      0,
    ],
    [
      "a rank that can't be read",
      { image: IMAGE, command: `m ${RANK} --host 10.0.0.1 --config x`.split(" ") },
      1,
    ],
    [
      "a rank with a server",
      { image: IMAGE, command: ["sh", "-c", `vllm serve m ${RANK} --headless & vllm serve n`] },
      1,
    ],
  ])("of %s in the host's network", (_, props, times) => {
    expect(said(RULE, [container("c", { ...props, networkMode: "host" })])).toHaveLength(times);
  });
});
