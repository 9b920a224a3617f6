import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import type { Upstream } from "../../components/planned/reach";
import { connections } from "../../components/services/chat-ui/connections";
import { stack } from "../fixtures/machine";
import { CHAT_UI, HOME, planned } from "../fixtures/services";

const containerOf = (
  chatUi: Record<string, unknown> = {},
  machine: Record<string, unknown> = {},
) => {
  const container = planned({ chatUi: { ...CHAT_UI, ...chatUi }, ...machine }).chatUi?.container;
  if (container === undefined) throw new Error("a chat UI was declared");
  return container;
};
const upstream = (overlay: Partial<Upstream>): Upstream => ({
  key: "b",
  kind: "inference-server",
  serves: "chat",
  names: ["model"],
  maxModelLen: 1024,
  fromContainer: "http://vllm-model-8001:8001",
  address: "127.0.0.1",
  port: 8001,
  container: "vllm-model-8001",
  ...overlay,
});
const ollama = upstream({
  key: "simple-server",
  kind: "simple-server",
  fromContainer: "http://host.docker.internal:11434",
});

describe("the chat UI's container", () => {
  it("is published on 8080 and keeps its data in a volume, without a GPU", () => {
    expect(containerOf()).toMatchObject({
      role: "chat-ui",
      name: "open-webui-8080",
      command: [],
      entrypoint: null,
      ports: [{ ip: "127.0.0.1", host: 8080, container: 8080 }],
      mounts: [
        {
          type: "volume",
          source: "local-serving-chat-ui-data",
          target: "/app/backend/data",
          readOnly: false,
        },
      ],
      gpus: null,
      ipc: "private",
      secretEnv: [],
    });
    expect(containerOf({ port: 9090, listen: "0.0.0.0" }).ports).toEqual([
      { ip: "0.0.0.0", host: 9090, container: 8080 },
    ]);
  });

  it("takes its administrator from files, so that Docker shows neither address nor password", () => {
    const administrator = { emailVariable: "CHAT_EMAIL", passwordVariable: "CHAT_PASSWORD" };
    const machine = planned({ chatUi: { ...CHAT_UI, administrator } });
    const secrets = "/home/me/.local/share/local-serving/dgx/secrets";
    expect(machine.secretFiles).toEqual([
      {
        ...{ role: "chat-ui-email", resource: "dgx-chat-ui-email", partOf: "dgx-chat-ui" },
        purpose: "E-mail address of the chat UI's administrator.",
        ...{ path: `${secrets}/chat-ui-email`, mode: "0600", variable: "CHAT_EMAIL" },
      },
      {
        ...{ role: "chat-ui-password", resource: "dgx-chat-ui-password", partOf: "dgx-chat-ui" },
        purpose: "Password of the chat UI's administrator.",
        ...{ path: `${secrets}/chat-ui-password`, mode: "0600", variable: "CHAT_PASSWORD" },
      },
    ]);
    expect(machine.chatUi?.container).toMatchObject({
      entrypoint: [
        "/bin/sh",
        "-c",
        'WEBUI_ADMIN_EMAIL=$(cat /run/secrets/chat-ui-email) && export WEBUI_ADMIN_EMAIL && WEBUI_ADMIN_PASSWORD=$(cat /run/secrets/chat-ui-password) && export WEBUI_ADMIN_PASSWORD && exec "$@"',
        "open-webui",
      ],
      command: ["bash", "start.sh"],
      secretEnv: ["CHAT_EMAIL", "CHAT_PASSWORD"],
    });
    expect(machine.chatUi?.container.mounts.slice(1)).toEqual(
      ["chat-ui-email", "chat-ui-password"].map((role) => ({
        ...{
          type: "bind",
          source: `${secrets}/${role}`,
          target: `/run/secrets/${role}`,
          readOnly: true,
        },
      })),
    );
    expect(machine.chatUi?.container.env).toMatchObject({ ENABLE_SIGNUP: "False" });
  });

  it("takes its configuration from the environment at every start, and keeps sign-up closed", () => {
    expect(containerOf().env).toEqual({
      ENABLE_OLLAMA_API: "False",
      ENABLE_OPENAI_API: "True",
      ENABLE_PERSISTENT_CONFIG: "False",
      ENABLE_SIGNUP: "False",
      OFFLINE_MODE: "True",
      OPENAI_API_BASE_URLS: "http://vllm-model-8001:8001/v1",
      OPENAI_API_KEYS: "local-serving-placeholder",
      WEBUI_SECRET_KEY_FILE: "/app/backend/data/.webui_secret_key",
    });
  });

  it("keeps its secret key with its data, and the key itself nowhere in the plan", () => {
    const { env, mounts } = containerOf();
    expect(env.WEBUI_SECRET_KEY_FILE?.startsWith(`${mounts[0]?.target}/`)).toBe(true);
    expect(env).not.toHaveProperty("WEBUI_SECRET_KEY");
  });

  it("connects to instance A where it is told to", () => {
    const env = containerOf({ connections: ["b", "instance-a"] }).env;
    expect(env.OPENAI_API_BASE_URLS).toBe(
      "http://vllm-model-8001:8001/v1;http://host.docker.internal:8000/v1",
    );
    expect(env.OPENAI_API_KEYS).toBe("local-serving-placeholder;local-serving-placeholder");
  });
});

describe("an Ollama", () => {
  const host = (listen: string) => ({ simpleServer: { mode: "host", listen } });

  it("on the host is connected by default where a container can reach it", () => {
    expect(containerOf({}, host("0.0.0.0")).env).toMatchObject({
      ENABLE_OLLAMA_API: "True",
      OLLAMA_BASE_URLS: "http://host.docker.internal:11434",
      OPENAI_API_BASE_URLS: "http://vllm-model-8001:8001/v1",
    });
    expect(containerOf({}, host("127.0.0.1")).env.ENABLE_OLLAMA_API).toBe("False");
  });

  it("inside the container gets the GPU and a volume of its own, which is kept", () => {
    const machine = planned({ simpleServer: { mode: "integrated" } });
    expect(machine.chatUi).toMatchObject({ modelsVolume: "local-serving-chat-ui-models" });
    const container = machine.chatUi?.container;
    expect(container?.gpus).toBe("all");
    expect(container?.mounts.map(({ source, target }) => `${source} ${target}`)).toEqual([
      "local-serving-chat-ui-data /app/backend/data",
      "local-serving-chat-ui-models /root/.ollama",
    ]);
    expect(container?.env).toMatchObject({
      ENABLE_OLLAMA_API: "True",
      OLLAMA_BASE_URLS: "http://127.0.0.1:11434",
      OLLAMA_MAX_LOADED_MODELS: "1",
      OLLAMA_CONTEXT_LENGTH: "32768",
      OLLAMA_NO_CLOUD: "1",
    });
  });
});

describe("connections", () => {
  it("have a base URL ending in /v1 and a key for each inference server", () => {
    const both = connections([upstream({}), upstream({ fromContainer: "http://other:8002" })]);
    expect(both.OPENAI_API_BASE_URLS?.split(";")).toEqual([
      "http://vllm-model-8001:8001/v1",
      "http://other:8002/v1",
    ]);
    expect(both.OPENAI_API_KEYS?.split(";")).toHaveLength(2);
  });

  it("name the simple server by its root", () => {
    expect(connections([ollama])).toEqual({
      ENABLE_OLLAMA_API: "True",
      ENABLE_OPENAI_API: "False",
      OLLAMA_BASE_URLS: "http://host.docker.internal:11434",
    });
  });

  it("switch off what is not connected, so that no default reaches elsewhere", () => {
    expect(connections([])).toEqual({ ENABLE_OLLAMA_API: "False", ENABLE_OPENAI_API: "False" });
  });
});

describe("who writes titles and tags", () => {
  const tasks = (chatUi: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(containerOf(chatUi).env).filter(([name]) =>
        /TASK_MODEL|GENERATION/.test(name),
      ),
    );
  const said = (chatUi: Record<string, unknown>) =>
    plan(stack({ chatUi: { ...CHAT_UI, ...chatUi } }, {}), { home: HOME }).warnings.filter(
      ({ code }) => code === "task-model",
    );

  it("is left to the chat UI unless the stack file says it, so nothing changes for a stack in use", () => {
    expect(tasks({})).toEqual({});
  });

  it("is the model that the stack file names, for chats with any other", () => {
    const [name = ""] = Object.values(planned({ chatUi: CHAT_UI }).inferenceServers).map(
      ({ servedModelName }) => servedModelName,
    );
    expect(tasks({ taskModel: name })).toEqual({ TASK_MODEL: name, TASK_MODEL_EXTERNAL: name });
    expect(said({ taskModel: name })).toEqual([]);
  });

  it("is nobody, where the stack file says so", () => {
    expect(tasks({ taskModel: "none" })).toEqual({
      ENABLE_FOLLOW_UP_GENERATION: "False",
      ENABLE_TAGS_GENERATION: "False",
      ENABLE_TITLE_GENERATION: "False",
    });
    expect(said({ taskModel: "none" })).toEqual([]);
  });

  it("is warned of, where no server answers to that name", () => {
    expect(said({ taskModel: "small" }).map(({ message }) => message)).toEqual([
      expect.stringContaining("The chat UI has no model `small`."),
    ]);
  });
});
