import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Upstream } from "../../components/planned/reach";
import { bridgeConfig, bridgeModels } from "../../components/services/bridge/bridgeConfig";
import { bridgeSettings } from "../../components/services/bridge/settings";
import { BRIDGE, fileOf, planned } from "../fixtures/services";

interface Entry {
  model_name: string;
  litellm_params: Record<string, string>;
  model_info?: Record<string, unknown>;
}
type Config = { model_list: Entry[] } & Record<string, Record<string, unknown>>;
const configOf = (machine: Record<string, unknown> = {}) => {
  const text = fileOf(planned(machine), "bridge-config").text;
  return parse(text) as Config;
};
const SERVER = {
  model: { id: "org/other" },
  servedModelName: "other",
  image: "vllm/vllm-openai:v0.30.0",
  port: 8002,
  gpuMemoryUtilization: 0.1,
  maxModelLen: 65536,
};

describe("the bridge's configuration", () => {
  it("is this text", async () => {
    await expect(fileOf(planned(), "bridge-config").text).toMatchFileSnapshot(
      "../golden/bridge-config.yaml",
    );
  });

  it("sends every name to the served model by `hosted_vllm/`, at /v1, with a placeholder key", () => {
    const { model_list } = configOf();
    for (const { litellm_params } of model_list) {
      expect(litellm_params).toEqual({
        model: "hosted_vllm/model",
        api_base: "http://vllm-model-8001:8001/v1",
        api_key: "local-serving-placeholder",
      });
    }
  });

  it("answers to the served name, its aliases and the names of every tier", () => {
    expect(configOf().model_list.map((entry) => entry.model_name)).toEqual([
      "model",
      "org/model",
      "claude-fable-5",
      "claude-fable-5-2",
      "claude-haiku-4-5-20251001",
      "claude-haiku-5-5",
      "claude-opus-4-8",
      "claude-opus-5-5",
      "claude-*",
    ]);
  });

  it("never uses the generic prefix", () => {
    expect(JSON.stringify(configOf())).not.toContain('"openai/');
  });

  it("drops what the server does not know, and neither retries nor cools down", () => {
    const config = configOf();
    expect(config.litellm_settings).toEqual({ drop_params: true, request_timeout: 3600 });
    expect(config.router_settings).toEqual({
      disable_cooldowns: true,
      num_retries: 0,
      timeout: 3600,
    });
  });

  it("always has a key: a placeholder on loopback, a named variable elsewhere", () => {
    expect(configOf().general_settings).toEqual({ master_key: "local-serving-placeholder" });
    const onNetwork = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
    expect(configOf({ bridge: onNetwork }).general_settings).toEqual({
      master_key: "os.environ/LITELLM_MASTER_KEY",
    });
  });

  it("translates /v1/messages unless it is to be passed through", () => {
    expect(configOf().model_list.every((entry) => entry.model_info === undefined)).toBe(true);
    const passed = configOf({ bridge: { ...BRIDGE, messagesPath: "passThrough" } });
    for (const entry of passed.model_list)
      expect(entry.model_info?.supported_endpoints).toContain("/v1/messages");
  });

  it("gives the tiers to the first of several servers", () => {
    const servers = configOf({
      inferenceServers: {
        other: SERVER,
        third: { ...SERVER, port: 8003, servedModelName: "third" },
      },
      bridge: { ...BRIDGE, servers: ["third", "other"] },
      clients: {},
    }).model_list;
    expect(servers.filter((entry) => entry.model_name.startsWith("claude-")).length).toBe(7);
    for (const entry of servers) {
      const expected = ["other", "org/other"].includes(entry.model_name) ? 8002 : 8003;
      // Both serve the alias `org/other`: LiteLLM shares it out between them.
      if (entry.model_name === "org/other") continue;
      expect(entry.litellm_params.api_base, entry.model_name).toContain(`:${expected}/v1`);
    }
  });

  it("routes between servers of one name, and cools none down for good", () => {
    const servers = ["http://vllm:8001", "http://dgx2.local:8001"].map(
      (fromContainer): Upstream => ({
        ...{
          key: "b",
          kind: "inference-server",
          serves: "chat",
          names: ["model", "org/model"],
          maxModelLen: 1024,
        },
        ...{ fromContainer, address: "0.0.0.0", port: 8001, container: undefined },
      }),
    );
    const alone: Upstream = {
      ...(servers[0] as Upstream),
      key: "c",
      names: ["alone"],
      fromContainer: "http://c:1",
    };
    const models = bridgeModels([...servers, alone]);
    const config = parse(bridgeConfig("m", bridgeSettings.parse(BRIDGE), models, false)) as Config;
    expect(config.router_settings).toEqual({
      routing_strategy: "simple-shuffle",
      optional_pre_call_checks: ["session_affinity"],
      deployment_affinity_ttl_seconds: 28_800,
      num_retries: 1,
      timeout: 3600,
    });
    expect(config.general_settings).toEqual({
      master_key: "local-serving-placeholder",
      background_health_checks: true,
      health_check_interval: 60,
      background_health_check_model_groups: ["model", "org/model"],
      enable_health_check_routing: true,
      health_check_ignore_transient_errors: true,
    });
    const at = (name: string) =>
      config.model_list
        .filter((each) => each.model_name === name)
        .map((each) => each.litellm_params.api_base);
    for (const name of ["model", "org/model", "claude-opus-5-5", "claude-*"])
      expect(at(name), name).toEqual(["http://vllm:8001/v1", "http://dgx2.local:8001/v1"]);
    expect(at("alone")).toEqual(["http://c:1/v1"]);
    for (const each of config.model_list)
      expect(each.model_info).toEqual({ allowed_fails: 0, cooldown_time: 15 });
  });

  it("reaches instance A on the host", () => {
    const [first] = configOf({
      instanceA: { gpuMemoryUtilization: 0.4, servedModelName: "old" },
      bridge: { ...BRIDGE, servers: ["instance-a"] },
      clients: {},
    }).model_list;
    expect(first).toEqual({
      model_name: "old",
      litellm_params: {
        model: "hosted_vllm/old",
        api_base: "http://host.docker.internal:8000/v1",
        api_key: "local-serving-placeholder",
      },
    });
  });

  it("carries any name through YAML unchanged", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\S{1,40}$/), (name) => {
        const server: Upstream = {
          key: "b",
          kind: "inference-server",
          serves: "chat",
          names: [name],
          maxModelLen: 1024,
          fromContainer: "http://x:1",
          address: "127.0.0.1",
          port: 1,
          container: "x",
        };
        const read = parse(
          bridgeConfig("m", bridgeSettings.parse(BRIDGE), bridgeModels([server]), false),
        ) as {
          model_list: Entry[];
        };
        expect(read.model_list[0]?.model_name).toBe(name);
        expect(read.model_list[0]?.litellm_params.model).toBe(`hosted_vllm/${name}`);
      }),
    );
  });
});
