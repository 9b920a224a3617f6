import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { describe, expect, it } from "vitest";
import { loadStackFile, parseEngineConfig } from "../../components/settings/load";
import { faultsFrom } from "../fixtures/faults";
import { DIGEST, serverInput } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";

const folder = temporaryFolder("settings-");

function load(text: string) {
  const file = join(folder, "Pulumi.test.yaml");
  writeFileSync(file, text);
  return loadStackFile(file);
}

const faultsOf = (text: string) => faultsFrom(() => load(text));

const machine = (lines: string) =>
  `config:\n  local-serving:machines:\n    dgx:\n${lines.replaceAll(/^/gm, "      ")}\n`;
const SERVER = `inferenceServers:
  b:
    model: {id: org/model}
    servedModelName: model
    image: vllm/vllm-openai:v0.30.0@${DIGEST}
    gpuMemoryUtilization: 0.45
    maxModelLen: 1024
`;

describe("the default stack file", () => {
  const settings = loadStackFile("Pulumi.dgx.yaml");
  const { dgx } = settings.machines;

  it("declares instance A beside instance B with the specification's values", () => {
    expect(dgx?.totalGiB).toBe(121.63);
    expect(dgx?.instanceA).toEqual({
      listen: "0.0.0.0",
      port: 8000,

      readyWithinMinutes: 30,
      gpuMemoryUtilization: 0.45,
      maxModelLen: 131072,
      weightsGB: 44,
    });
    expect(dgx?.inferenceServers.b).toMatchObject({
      model: { id: "nvidia/Qwen3.6-35B-A3B-NVFP4", kind: "chat" },
      port: 8001,
      maxModelLen: 262144,
      maxNumSeqs: 4,
      maxNumBatchedTokens: 8192,
      gpuMemoryUtilization: 0.45,
      kvCacheDtype: "fp8",
      tensorParallelSize: 1,
      trustRemoteCode: true,
      chunkedPrefill: true,
      prefixCaching: true,
      tools: { autoChoice: true, parser: "auto" },
      moeBackend: "marlin",
      compileJobs: 2,
      image:
        "vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
      versions: { vllm: "0.30.0", transformers: "5.10.4", evidence: "published" },
    });
  });

  it("is the same read from the file and as the engine hands it over", () => {
    const machines = JSON.stringify({
      dgx: { totalGiB: 8, instanceA: "none", inferenceServers: { b: serverInput() } },
    });
    expect(parseEngineConfig({ "local-serving:machines": machines, "docker:host": "x" })).toEqual(
      load(`config:\n  docker:host: x\n  local-serving:machines: ${machines}\n`),
    );
  });
});

describe("faults of a stack file", () => {
  it("are all reported at once, each with path, place and what would be right", () => {
    const faults = faultsOf(
      machine(`totalGib: 100\ninstanceA: {gpuMemoryUtilization: 1.5, listen: everywhere}`),
    );
    expect(faults.map((fault) => [fault.path, fault.code, fault.line])).toEqual([
      ["machines.dgx.instanceA.listen", "wrong_form", 5],
      ["machines.dgx.instanceA.gpuMemoryUtilization", "out_of_range", 5],
      ["machines.dgx.totalGib", "unknown_key", 4],
    ]);
    expect(faults.at(-1)?.message).toBe("Unknown key `totalGib`. Did you mean `totalGiB`?");
    expect(faults[0]?.message).toContain("Expected an IPv4 address such as 127.0.0.1 or 0.0.0.0");
  });

  it("says what to write in place of a merge key", () => {
    const servers = `inferenceServers:\n  b: &b { maxModelLen: 1024 }\n  c: { <<: *b, port: 8002 }`;
    expect(
      faultsOf(machine(`totalGiB: 8\ninstanceA: none\n${servers}`)).map(({ message }) => message),
    ).toContainEqual(expect.stringMatching(/^`<<` merges nothing here: write the keys out/));
  });

  it("says that a key of ours begins with the project's name", () => {
    expect(faultsOf("config:\n  machines:\n    dgx: { totalGiB: 8 }\n")).toMatchObject([
      {
        path: "machines",
        line: 2,
        column: 3,
        message: expect.stringMatching(/^Write `local-serving:machines`/),
      },
    ]);
  });

  it("name an unknown setting of ours beside `machines`", () => {
    expect(
      faultsOf("config:\n  local-serving:machine: {}\n").map((fault) => fault.message),
    ).toContain("Unknown key `machine`. Did you mean `machines`?");
  });

  it("name a key beside `config`", () => {
    const [fault] = faultsOf(`${machine("totalGiB: 8\ninstanceA: none")}machines: {}\n`);
    expect(fault).toMatchObject({ path: "machines", code: "unknown_key", line: 6 });
  });

  it("want instance A declared or said to be absent", () => {
    const [fault] = faultsOf(machine("totalGiB: 8"));
    expect(fault).toMatchObject({ path: "machines.dgx.instanceA", code: "missing_key" });
  });

  it("refuse a stack without a machine, a text without `config` and a file that is not YAML", () => {
    expect(faultsOf("config:\n  local-serving:machines: {}\n")[0]?.message).toContain(
      "At least one machine is needed",
    );
    expect(faultsOf("a: 1\n")[0]?.path).toBe("config");
    expect(() => load("a: [1")).toThrow(UnreadableInput);
    expect(() => load("a: 1\na: 2\n")).toThrow(
      /Pulumi.test.yaml:2:1: not valid YAML: the key `a` is given twice in one map/,
    );
    expect(() => loadStackFile(join(folder, "absent.yaml"))).toThrow("absent.yaml: no such file");
  });

  it.each([
    ["--max-model-len=5", "`--max-model-len` has a setting of its own: use `maxModelLen`."],
    ["--max_model_len", "`--max-model-len` has a setting of its own: use `maxModelLen`."],
    [
      "--gpu-mem",
      "`--gpu-memory-utilization` has a setting of its own: use `gpuMemoryUtilization`.",
    ],
    [
      "--no-enable-prefix-caching",
      "`--enable-prefix-caching` has a setting of its own: use `prefixCaching`.",
    ],
    ["-tp", "`-tp` has a setting of its own: use `tensorParallelSize`."],
    [
      "--config",
      "`--config` can't be passed: the plan and the policies can't read a file of further flags.",
    ],
    [
      "--api-key",
      "`--api-key` can't be passed: it guards only part of vLLM's routes (/invocations, /classify, /pooling and others stay open), and the key would be in the argv. For the local network publish the bridge with `keyVariable`, and leave this server on 127.0.0.1.",
    ],
  ])("refuse the extra argument %s", (argument, message) => {
    const [fault] = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\n${SERVER}    extraArgs: ["${argument}"]`),
    );
    expect(fault).toMatchObject({
      path: "machines.dgx.inferenceServers.b.extraArgs.0",
      code: "repeated_flag",
      message,
    });
  });

  const PLAIN_PATH =
    "Expected a plain path: no `..`, `.` or empty part, no comma, no line break or other control character, and nothing below /dev, /proc or /sys.";
  const ENGINE =
    "Expected a host or path in ASCII characters after `://`, a port from 1 to 65535, and nothing after ssh://user@host:port.";
  const ASCII = "Expected a name without blanks, of ASCII letters, digits and signs.";
  it.each([
    ...[
      "/a/../b",
      "~/../root",
      "/a/./b",
      "/a//b",
      "/a,b",
      "/a\\nb",
      "/a\\0b",
      "/a\\eb",
      "/dev/full",
    ].map((path) => [`modelCache: "${path}"`, "modelCache", PLAIN_PATH]),
    ['venvs: ["/a,b"]', "venvs.0", PLAIN_PATH],
    ["clients: {launcherFolder: /a/../b}", "clients.launcherFolder", PLAIN_PATH],
    [
      "simpleServer: {mode: host, modelsDirectory: /proc/1}",
      "simpleServer.modelsDirectory",
      PLAIN_PATH,
    ],
    ...[
      "ssh://host:99999",
      "ssh://host:0",
      "ssh://:2375",
      "ssh://me@d\u00fcx",
      "unix://run/x",
      "ssh://a\\nb",
      "ssh://me@dgx/run/docker.sock",
      "ssh://me:pw@dgx",
      "ssh://me@%31%32%37.0.0.1",
      "ssh://me@a;b",
      "ssh://a=b@dgx",
    ].map((address) => [`dockerHost: "${address}"`, "dockerHost", ENGINE]),
    [
      'instanceA: {gpuMemoryUtilization: 0.1, servedModelName: "modèle"}',
      "instanceA.servedModelName",
      ASCII,
    ],
    ['clients: {codex: {model: "a\\eb"}}', "clients.codex.model", ASCII],
  ])("refuse %s", (line = "", path = "", message = "") => {
    const instanceA = line.startsWith("instanceA") ? "" : "instanceA: none\n";
    const [fault, ...others] = faultsOf(machine(`totalGiB: 8\n${instanceA}${SERVER}${line}`));
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ path: `machines.dgx.${path}`, line: instanceA === "" ? 12 : 13 });
    expect(fault?.message).toMatch(
      new RegExp(`^${message.replace(/[.*+?^$(){}|[\]\\]/g, "\\$&")}`),
    );
  });

  it("refuse a Docker engine without files, and say what to write", () => {
    expect(
      faultsOf(machine(`totalGiB: 8\ninstanceA: none\n${SERVER}dockerHost: tcp://dgx.local:2375`)),
    ).toEqual([
      expect.objectContaining({
        path: "machines.dgx.dockerHost",
        line: 13,
        message: expect.stringMatching(
          /^Every machine gets files, which Docker over TCP can.t write: write `ssh:\/\/user@dgx\.local`, which also reaches Docker\./,
        ),
      }),
    ]);
  });

  it.each([
    [
      "constructor",
      "This name can't be used. This word is reserved by JavaScript: expected another name.",
    ],
    ["__proto__", "The name `__proto__` is reserved by JavaScript: write another one."],
    [
      "toString",
      "This name can't be used. Expected a short name: lower-case ASCII letters, digits and dashes, first a letter.",
    ],
    [
      "dgx-\u00e9",
      "This name can't be used. Expected a short name: lower-case ASCII letters, digits and dashes, first a letter.",
    ],
  ])("refuse a machine and a server of the name %s", (name, message) => {
    const one = faultsOf(machine("totalGiB: 8\ninstanceA: none").replace("dgx", `"${name}"`));
    expect(one).toContainEqual(expect.objectContaining({ path: `machines.${name}`, line: 3 }));
    expect(one.map((fault) => fault.message).join()).toContain(message);
    const server = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\n${SERVER.replace("  b:", `  "${name}":`)}`),
    );
    expect(server).toMatchObject([{ path: `machines.dgx.inferenceServers.${name}`, line: 7 }]);
    expect(server[0]?.message).toContain(message);
    const engine = {
      "local-serving:machines": JSON.stringify({ dgx: { totalGiB: 8 } }).replace("dgx", name),
    };
    expect(() => parseEngineConfig(engine)).toThrow(message);
    expect(() => parseEngineConfig({ "local-serving:__proto__": "{}" })).toThrow("`__proto__`");
  });

  it("leave other extra arguments alone", () => {
    expect(
      faultsOf(
        machine(
          `totalGiB: 8\ninstanceA: none\n${SERVER}    extraArgs: [--seed, "7", --async-scheduling]`,
        ),
      ),
    ).toEqual([]);
  });

  it.each([
    ["maxModelLen: 256k", "Expected a whole number, got text. Write 262144."],
    ["model: { id: m, weightsGB: 22GB }", "Expected a number, got text. Write 22."],
    ["kvCacheMemoryBytes: 8 GiB", "Expected a whole number, got text. Write 8589934592."],
    ["model: { id: m, weightsGB: 22 GiB }", "Expected a number, got text. Write 23.622."],
    ["model: { id: m, weightsGB: 22528 MB }", "Expected a number, got text. Write 22.528."],
    ["model: { id: m, weightsGB: 22000000000 B }", "Expected a number, got text. Write 22."],
    ["model: { id: m, residentGiB: 2048 MiB }", "Expected a number, got text. Write 2."],
    [
      'model: { id: m, weightsGB: "22e9" }',
      "Expected a number, got text. Write it without quotes.",
    ],
    [
      "model: { id: m, weightsGB: 22e9 }",
      "Expected GB: no model for such machines has more than 4096. If this is in bytes, write 22.",
    ],
    [
      "model: { id: m, weightsGB: 22000 }",
      "Expected GB: no model for such machines has more than 4096. If this is in MB, write 22.",
    ],
    [
      "model: { id: m, residentGiB: 21474836480 }",
      "Expected GiB: no machine of this kind has more than 4096. If this is in bytes, write 20.",
    ],
    [
      "model: { id: m, residentGiB: 127535104 }",
      "Expected GiB: no machine of this kind has more than 4096. If this is in kB, write 121.63.",
    ],
    [
      "kvCacheMemoryBytes: 20",
      "Expected bytes, and this is less than a megabyte. If it is in GiB, write 21474836480.",
    ],
    [
      "kvCacheMemoryBytes: 8192",
      "Expected bytes, and this is less than a megabyte. If it is in MiB, write 8589934592.",
    ],
    ["kvCacheMemoryBytes: 0", "Expected at least 1048576, got 0."],
    [
      "listen: 192.168.1.0/24",
      "Expected one address, and `192.168.1.0/24` is a whole network: write the machine's own address in it.",
    ],
    ["listen: 192.168.1.20/24", "Expected one address: write `192.168.1.20`, without `/24`."],
    ["listen: 10.0.0.5/32", "Expected one address: write `10.0.0.5`, without `/32`."],
    ["listen: 999.1.1.1/24", "Expected an IPv4 address such as 127.0.0.1 or 0.0.0.0."],
    ["gpuMemoryUtilization: 45", "A utilization must be above 0 and at most 1: write 0.45."],
    ["gpuMemoryUtilization: 450", "A utilization must be above 0 and at most 1."],
  ])("say what to write for %s", (written, message) => {
    const [key = ""] = written.split(":");
    const server = SERVER.split("\n")
      .filter((line) => !line.trim().startsWith(`${key}:`))
      .join("\n");
    const faults = faultsOf(machine(`totalGiB: 8\ninstanceA: none\n${server}    ${written}\n`));
    expect(faults.map((fault) => fault.message.startsWith(message) || fault.message)).toEqual([
      true,
    ]);
  });

  it.each([
    ["bridge: {image: x}\nchatUi: {image: x}\n", "bridge, chatUi", "bridge", "0.0.0.0"],
    // Ollama and vLLM check nobody, so they are never named for the network.
    ["simpleServer: {mode: host}\n", "", "bridge", "0.0.0.0"],
    [
      "simpleServer: {mode: host}\n",
      "simpleServer, inferenceServers.b",
      "simpleServer",
      "172.17.0.1",
    ],
    ["bridge: {image: x, keyVariable: K}\n", "", "bridge", "0.0.0.0"],
    ["chatUi: {image: x}\n", "", "chatUi", "192.168.1.20"],
    ["", "", "bridge", "everything"],
    ["", "", "inferenceServers.b", "127.0.0.1"],
  ])("say where a machine's `listen` goes now: %j", (blocks, services, first, address) => {
    const known = services === "" ? "" : ` (${services})`;
    const isKeyed = first !== "bridge" || blocks.includes("keyVariable");
    const key = isKeyed ? "" : ", with a key (`bridge.keyVariable`)";
    const write = `${first}.listen: ${address === "everything" ? "0.0.0.0" : address}\`${key}`;
    const found = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\nlisten: ${address}\nx: 1\n${blocks}${SERVER}`),
    ).filter(({ code }) => code === "unknown_key");
    expect(
      found.map(({ path, line, message }) => [path, line, message.split(" Known keys")[0]]),
    ).toEqual([
      [
        "machines.dgx.listen",
        6,
        `A machine has no \`listen\`: each service has its own. Write it below the service that other computers should reach${known}, as \`${write}.`,
      ],
      ["machines.dgx.x", 7, "Unknown key `x`."],
    ]);
  });

  it("take `listen` below the service, as that says", () => {
    expect(faultsOf(machine(`totalGiB: 8\ninstanceA: none\n${SERVER}    listen: 0.0.0.0`))).toEqual(
      [],
    );
  });

  it("refuse a number with a leading zero, which Pulumi's own reader takes for another", () => {
    expect(() => load("config:\n  a: 0262144\n")).toThrow(
      "Pulumi.test.yaml:2:6: `0262144` begins with a zero, so some YAML readers read another number: write `262144`, or put it in quotes if it is text",
    );
    expect(faultsOf('config:\n  a: "007"\n  b: 0\n  c: 0.5\n')[0]?.path).not.toBe("");
  });

  it("refuse more tensor-parallel workers than the machine has GPUs", () => {
    const of = (gpus: string) =>
      faultsOf(machine(`totalGiB: 8\n${gpus}instanceA: none\n${SERVER}    tensorParallelSize: 2`));
    expect(of("").map(({ path, message }) => [path, message])).toEqual([
      [
        "machines.dgx.inferenceServers.b.tensorParallelSize",
        "`tensorParallelSize: 2` needs as many GPUs, but dgx has 1 (`gpus`): write `tensorParallelSize: 1`, or name the machines that share the model (`nodes`).",
      ],
    ]);
    expect(of("gpus: 2\n")).toEqual([]);
  });

  it("take the name of a token's variable, and refuse a KV cache as large as the budget", () => {
    const faults = faultsOf(
      machine(
        `totalGiB: 8\ninstanceA: none\n${SERVER}    huggingFaceTokenVariable: HF_TOKEN\n    kvCacheMemoryBytes: 3865470567`,
      ),
    );
    expect(faults.map((fault) => [fault.path, fault.code])).toEqual([
      ["machines.dgx.inferenceServers.b.kvCacheMemoryBytes", "impossible_value"],
    ]);
    expect(faults[0]?.message).toContain("whole budget of 3.60 GiB");
  });

  it("never repeat a value, which may be a secret in the wrong place", () => {
    const text = JSON.stringify(
      faultsOf(
        machine(
          `totalGiB: 8\ninstanceA: none\n${SERVER}    huggingFaceTokenVariable: hf_abcDEF123`,
        ),
      ),
    );
    expect(text).toContain("NAME of an environment variable");
    expect(text).not.toContain("hf_abcDEF123");
  });
});
