import { beforeAll, describe, expect, it } from "vitest";
import { START_GATE } from "../../components/inference-server/startGate";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { Machine } from "../../components/program/machine/machine";
import { loadStackFile } from "../../components/settings/load";
import { stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";
import { type Recorded, record } from "./record";

const planned = plan(loadStackFile("Pulumi.dgx.yaml"), { home: "/home/me" });
let recorded: Recorded[] = [];
beforeAll(async () => {
  recorded = await record(() => {
    for (const machine of planned.machines)
      new Machine({ machine, dockerHost: machine.dockerHost });
  });
});
const inputsOf = (type: string, name?: string) =>
  recorded
    .filter((each) => each.type === type && (name === undefined || each.name === name))
    .map((each) => each.inputs);

describe("the program for the default stack", () => {
  it("registers these resources and no others", () => {
    expect(recorded.map((each) => `${each.type} ${each.name}`).sort()).toEqual([
      "command:local:Command dgx-applied-plan",
      "command:local:Command dgx-b-model-cache",
      "command:local:Command dgx-bridge-config",
      "command:local:Command dgx-chat-ui-data-copy",
      "command:local:Command dgx-claude-code-settings",
      "command:local:Command dgx-client-env",
      "command:local:Command dgx-codex-config",
      "command:local:Command dgx-launcher-claude-code",
      "command:local:Command dgx-launcher-client-env",
      "command:local:Command dgx-launcher-codex",
      "command:local:Command dgx-start-gate",
      "docker:index/container:Container dgx-b",
      "docker:index/container:Container dgx-bridge",
      "docker:index/container:Container dgx-chat-ui",
      "docker:index/network:Network dgx-network",
      "docker:index/remoteImage:RemoteImage dgx-b-image",
      "docker:index/remoteImage:RemoteImage dgx-bridge-image",
      "docker:index/remoteImage:RemoteImage dgx-chat-ui-image",
      "docker:index/volume:Volume dgx-b-jit",
      "docker:index/volume:Volume dgx-chat-ui-data",
      "docker:index/volume:Volume dgx-gate",
      "local-serving:index:Bridge dgx-bridge",
      "local-serving:index:ChatUi dgx-chat-ui",
      "local-serving:index:Client dgx-claude-code",
      "local-serving:index:Client dgx-client-env",
      "local-serving:index:Client dgx-codex",
      "local-serving:index:ContainerService dgx-b",
      "local-serving:index:ContainerService dgx-bridge",
      "local-serving:index:ContainerService dgx-chat-ui",
      "local-serving:index:HostFile dgx-applied-plan",
      "local-serving:index:HostFile dgx-bridge-config",
      "local-serving:index:HostFile dgx-claude-code-settings",
      "local-serving:index:HostFile dgx-client-env",
      "local-serving:index:HostFile dgx-codex-config",
      "local-serving:index:HostFile dgx-launcher-claude-code",
      "local-serving:index:HostFile dgx-launcher-client-env",
      "local-serving:index:HostFile dgx-launcher-codex",
      "local-serving:index:HostFile dgx-start-gate",
      "local-serving:index:HostInstance dgx-instance-a",
      "local-serving:index:ImageRecord dgx-b-image-record",
      "local-serving:index:InferenceServer dgx-b",
      "local-serving:index:Machine dgx",
      "local-serving:index:SimpleServer dgx-simple-server",
      "pulumi:providers:docker dgx-docker",
    ]);
  });

  it("hands `docker.Container` the very arguments that the policies of `serving plan` judge", () => {
    const type = "docker:index/container:Container";
    const byName = (each: { name: string }, other: { name: string }) =>
      each.name.localeCompare(other.name);
    const judged = declaredResources(planned).filter((each) => each.type === type);
    expect(judged).toHaveLength(3);
    expect(
      recorded
        .filter((each) => each.type === type)
        .sort(byName)
        .map((each) => each.inputs),
    ).toEqual(judged.sort(byName).map((each) => each.props));
  });

  it("gives its components the inputs that the policies of `serving plan` judge", () => {
    for (const each of declaredResources(planned)) {
      const found = recorded.find((other) => other.type === each.type && other.name === each.name);
      expect(found?.inputs, `${each.type} ${each.name}`).toEqual(each.props);
    }
  });

  it("makes the container as the specification has it", () => {
    expect(inputsOf("docker:index/container:Container", "dgx-b")).toEqual([
      expect.objectContaining({
        name: "vllm-qwen3.6-35b-a3b-8001",
        image:
          "vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
        entrypoints: ["/bin/sh", "-c", START_GATE, "vllm-qwen3.6-35b-a3b-8001"],
        gpus: "all",
        ipcMode: "host",
        restart: "unless-stopped",
        networkMode: "bridge",
        networksAdvanced: [{ name: "local-serving", aliases: ["vllm-qwen3.6-35b-a3b-8001"] }],
        ports: [{ ip: "127.0.0.1", internal: 8001, external: 8001, protocol: "tcp" }],
        hosts: [{ host: "host.docker.internal", ip: "host-gateway" }],
        logDriver: "json-file",
        logOpts: { "max-size": "50m", "max-file": "5" },
        destroyGraceSeconds: 60,
        healthcheck: expect.objectContaining({
          startPeriod: "45m0s",
          interval: "15s",
          timeout: "5s",
          retries: 8,
        }),
      }),
    ]);
  });

  it("keeps the image when it goes, and pulls the literal that runs", () => {
    expect(inputsOf("docker:index/remoteImage:RemoteImage", "dgx-b-image")).toEqual([
      {
        name: "vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
        keepLocally: true,
      },
    ]);
  });

  it("makes the model cache and never removes it", () => {
    const cache = recorded.filter((each) => each.name === "dgx-b-model-cache");
    expect(cache.map((each) => each.inputs)).toEqual([
      {
        create: 'mkdir -p -- "$MODEL_CACHE"',
        environment: { MODEL_CACHE: "/home/me/.cache/huggingface" },
        addPreviousOutputInEnv: false,
      },
    ]);
  });

  it("leaves instance A as data without a child or a command", () => {
    expect(inputsOf("local-serving:index:HostInstance")).toEqual([
      {
        machine: "dgx",
        port: 8000,
        gpuMemoryUtilization: 0.45,
      },
    ]);
    expect(recorded.filter((each) => each.name.startsWith("dgx-instance-a"))).toHaveLength(1);
  });

  it("gives the key of a bridge on the network as a secret, and another container when it changes", async () => {
    const KEY = "LOCAL_SERVING_BRIDGE_KEY";
    const keyed = plan(
      stack({ bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: KEY }, clients: {} }),
      {
        home: "/home/me",
      },
    );
    const program = () => {
      for (const machine of keyed.machines)
        new Machine({ machine, dockerHost: machine.dockerHost });
    };
    process.env[KEY] = "s3cret-value";
    const registered = await record(program);
    delete process.env[KEY];
    expect(registered.map((each) => each.name)).toContain("dgx-bridge-key");
    const [container] = registered.filter(
      (each) => each.type.endsWith(":Container") && each.name === "dgx-bridge",
    );
    expect(JSON.stringify(container?.inputs)).not.toContain("s3cret-value");
  });

  it("leaves the chat UI to its image's own command: an empty one would replace it at every update", () => {
    const [inputs] = inputsOf("docker:index/container:Container", "dgx-chat-ui");
    expect(inputs).not.toHaveProperty("command");
  });

  it("keeps the chat UI's data when the stack goes", () => {
    expect(inputsOf("docker:index/volume:Volume", "dgx-chat-ui-data")).toEqual([
      { name: "local-serving-chat-ui-data", driver: "local" },
    ]);
  });
});
