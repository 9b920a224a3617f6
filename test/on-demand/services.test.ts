import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { dockerRun } from "../../cli/plan/dockerRun";
import { containerArgs } from "../../components/host/containerArgs";
import {
  KEY_VARIABLE,
  ON_DEMAND,
  onRequest,
  plannedOnDemand,
  RESIDENT,
} from "../fixtures/onDemand";
import { BRIDGE, fileOf } from "../fixtures/services";

const { machine } = plannedOnDemand();
const KEY_FILE = "/home/me/.local/share/local-serving/dgx/secrets/on-demand-key";
const INSIDE = "/run/secrets/on-demand-key";
const MOUNT = { type: "bind", source: KEY_FILE, target: INSIDE, readOnly: true };

describe("the bridge", () => {
  const container = machine.bridge?.container;
  const config = parse(fileOf(machine, "bridge-config").text);
  const entry = (name: string) =>
    config.model_list.find((each: { model_name: string }) => each.model_name === name);

  it("asks llama-swap with its key, and waits for a start", () => {
    expect(entry("coder")).toEqual({
      model_name: "coder",
      litellm_params: {
        model: "hosted_vllm/coder",
        api_base: "http://172.31.241.1:8010/v1",
        api_key: "os.environ/LOCAL_SERVING_ON_DEMAND_KEY",
        timeout: 7200,
        stream_timeout: 7200,
      },
      model_info: { disable_background_health_check: true },
    });
    expect(config.general_settings).toEqual({
      master_key: "local-serving-placeholder",
      health_check_skip_disabled_background_models: true,
    });
  });

  it("asks a server that always runs as before", () => {
    expect(entry("small")).toEqual({
      model_name: "small",
      litellm_params: {
        model: "hosted_vllm/small",
        api_base: "http://vllm-small-8001:8001/v1",
        api_key: "local-serving-placeholder",
      },
    });
  });

  it("reads the key from its file, on the network of its own and on llama-swap's", () => {
    expect(container?.entrypoint).toEqual([
      "/bin/sh",
      "-c",
      `LOCAL_SERVING_ON_DEMAND_KEY=$(cat ${INSIDE}) && export LOCAL_SERVING_ON_DEMAND_KEY && exec litellm "$@"`,
      "litellm",
    ]);
    expect(container?.mounts.at(-1)).toEqual(MOUNT);
    expect(container?.secretEnv).toEqual([KEY_VARIABLE]);
    expect(container && containerArgs(container).networksAdvanced).toEqual([
      { name: "local-serving", aliases: ["litellm-8787"] },
      { name: "local-serving-on-demand", aliases: ["litellm-8787"] },
    ]);
    expect(container && dockerRun(container).split("\n").at(-1)).toBe(
      "docker network connect --alias litellm-8787 local-serving-on-demand litellm-8787",
    );
  });

  it("reads both keys, its own first", () => {
    const keyed = plannedOnDemand({ bridge: { ...BRIDGE, keyVariable: "MINE" } }).machine;
    expect(keyed.bridge?.container.entrypoint?.[2]).toBe(
      `LITELLM_MASTER_KEY=$(cat /run/secrets/bridge-key) && export LITELLM_MASTER_KEY && LOCAL_SERVING_ON_DEMAND_KEY=$(cat ${INSIDE}) && export LOCAL_SERVING_ON_DEMAND_KEY && exec litellm "$@"`,
    );
  });

  it("has nothing of it before servers that always run", () => {
    const other = plannedOnDemand({ bridge: { ...BRIDGE, servers: ["b"] } }).machine;
    expect(other.bridge?.container).not.toHaveProperty("moreNetworks");
    expect(other.bridge?.container.mounts).toHaveLength(1);
    expect(fileOf(other, "bridge-config").text).not.toMatch(/health_check|os\.environ/);
  });
});

describe("the chat UI", () => {
  const container = machine.chatUi?.container;

  it("is connected once for all that llama-swap starts", () => {
    expect(container?.env).toMatchObject({
      OPENAI_API_BASE_URLS: "http://vllm-small-8001:8001/v1;http://172.31.241.1:8010/v1",
      TASK_MODEL_EXTERNAL: "small",
    });
    expect(container?.env).not.toHaveProperty("OPENAI_API_KEYS");
    expect(container?.env).not.toHaveProperty("OPENAI_API_CONFIGS");
    expect(container?.entrypoint).toEqual([
      "/bin/sh",
      "-c",
      `OPENAI_API_KEYS="local-serving-placeholder;$(cat ${INSIDE})" && export OPENAI_API_KEYS && exec "$@"`,
      "open-webui",
    ]);
    expect(container?.command).toEqual(["bash", "start.sh"]);
    expect(container?.mounts.at(-1)).toEqual(MOUNT);
    expect(container?.moreNetworks).toEqual(["local-serving-on-demand"]);
  });

  it("searches documents with one, and doesn't offer it", () => {
    const { env, entrypoint } =
      plannedOnDemand({
        inferenceServers: {
          b: RESIDENT,
          c: onRequest("coder", 8002),
          e: onRequest("embed", 8004, { model: { id: "org/embed", kind: "embedding" } }),
        },
      }).machine.chatUi?.container ?? {};
    expect(env).toMatchObject({
      OPENAI_API_CONFIGS: '{"1":{"model_ids":["coder","org/coder"]}}',
      RAG_OPENAI_API_BASE_URL: "http://172.31.241.1:8010/v1",
    });
    expect(entrypoint?.[2]).toContain(`RAG_OPENAI_API_KEY="$(cat ${INSIDE})"`);
  });
});

describe("warnings", () => {
  const said = (more: Record<string, unknown> = {}) =>
    plannedOnDemand(more).warnings.map(([code]) => code);
  const onlyOnRequest = { inferenceServers: { c: onRequest("coder", 8002) } };

  it.each([
    ["192.168.178.0/24", "192.168.178.0/24"],
    ["192.168.1.16/28", "192.168.1.0/24"],
    ["10.0.0.0/26", "10.0.0.0/24"],
  ])("say of a subnet that many routers give to the local network: %s", (subnet, usual) => {
    const told = plannedOnDemand({ onDemand: { ...ON_DEMAND, subnet } }).warnings.filter(
      ([code]) => code === "subnet-of-a-lan",
    );
    expect(told).toEqual([
      [
        "subnet-of-a-lan",
        `\`onDemand.subnet\` may be your local network's: ${subnet}. Many routers give ${usual} to the local network, and if yours does, Docker takes its addresses over. Write another private one, such as 10.213.7.0/28.`,
      ],
    ]);
  });

  it.each([undefined, "172.31.241.0/28", "10.213.7.0/28", "192.168.77.0/24", "10.0.2.0/24"])(
    "say nothing of another subnet: %s",
    (subnet) => {
      const onDemand = subnet === undefined ? ON_DEMAND : { ...ON_DEMAND, subnet };
      expect(plannedOnDemand({ onDemand }).warnings.map(([code]) => code)).not.toContain(
        "subnet-of-a-lan",
      );
    },
  );

  it("say who writes titles, where no model always runs, and not once one does", () => {
    expect(said(onlyOnRequest)).toContain("task-model");
    expect(said()).not.toContain("task-model");
    expect(plannedOnDemand(onlyOnRequest).warnings).toContainEqual([
      "task-model",
      "The title of a chat may start another server. open-webui-8080 has no chat model that always runs, so each chat's own model also writes its title and tags: this may start c and stop another server. Connect a small chat model that always runs, or write `chatUi.taskModel: none` for no titles, tags and follow-ups.",
    ]);
  });

  it("say what no setting changes where servers stop for each other, and only there", () => {
    expect(said()).toContain("on-demand-turns");
    expect(said(onlyOnRequest)).not.toContain("on-demand-turns");
  });

  it("name clients that give up before a start may be over", () => {
    const pi = (startWithinMinutes: number) => ({
      clients: { pi: { server: "c" } },
      onDemand: { program: { version: "v250" }, keyVariable: KEY_VARIABLE, startWithinMinutes },
    });
    expect(plannedOnDemand(pi(60)).warnings).toContainEqual([
      "client-gives-up",
      "pi gives up after 300 s, and c may take 60 min to start. Raise its HTTP idle timeout (`/settings`, or `httpIdleTimeoutMs` in its settings.json), or start the server first (`serving start c`).",
    ]);
    expect(said(pi(5))).not.toContain("client-gives-up");
    expect(said({ clients: { pi: { server: "b" } } })).not.toContain("client-gives-up");
  });
});
