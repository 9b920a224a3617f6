import { describe, expect, it } from "vitest";
import { BRIDGE, fileOf, planned } from "../fixtures/services";

const containerOf = (bridge: Record<string, unknown> = {}) => {
  const container = planned({ bridge: { ...BRIDGE, ...bridge } }).bridge?.container;
  if (container === undefined) throw new Error("a bridge was declared");
  return container;
};

describe("the bridge's container", () => {
  const container = containerOf();

  it("listens on 8787, published on loopback, and has no GPU", () => {
    expect(container).toMatchObject({
      role: "bridge",
      name: "litellm-8787",
      command: [
        ...["--config", "/etc/litellm/config.yaml", "--host", "0.0.0.0", "--port", "8787"],
        ...["--num_workers", "1"],
      ],
      entrypoint: null,
      ports: [{ ip: "127.0.0.1", host: 8787, container: 8787 }],
      gpus: null,
      ipc: "private",
      restart: "unless-stopped",
      network: "local-serving",
      hosts: ["host.docker.internal:host-gateway"],
      secretEnv: [],
    });
  });

  it("reads its configuration from a file of ours that it can't change", () => {
    expect(container.mounts).toEqual([
      {
        type: "bind",
        source: "/home/me/.local/share/local-serving/dgx/bridge/config.yaml",
        target: "/etc/litellm/config.yaml",
        readOnly: true,
      },
    ]);
    expect(fileOf(planned(), "bridge-config")).toMatchObject({
      path: "/home/me/.local/share/local-serving/dgx/bridge/config.yaml",
      mode: "0644",
    });
  });

  it("looks up nothing on the network", () => {
    expect(container.env).toEqual({ LITELLM_LOCAL_MODEL_COST_MAP: "True" });
  });

  it("is asked for its health with what the image has, and without a key", () => {
    const [how, program, , code] = container.healthcheck.test;
    expect([how, program]).toEqual(["CMD", "python3"]);
    expect(code).toContain("http://127.0.0.1:8787/health/liveliness");
  });

  it("is another container exactly when its configuration is another text", () => {
    const label = (bridge: Record<string, unknown>) =>
      containerOf(bridge).labels["local-serving.config"];
    expect(label({})).toMatch(/^[0-9a-f]{12}$/);
    expect(label({ memoryGiB: 1 })).toBe(label({}));
    expect(label({ messagesPath: "passThrough" })).not.toBe(label({}));
  });
});

describe("a bridge on the network", () => {
  const machine = planned({ bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" } });
  const container = machine.bridge?.container;

  it("takes its key from a file of mode 0600, named by its variable", () => {
    expect(machine.secretFiles).toEqual([
      {
        role: "bridge-key",
        resource: "dgx-bridge-key",
        partOf: "dgx-bridge",
        purpose: "Key of the bridge.",
        path: "/home/me/.local/share/local-serving/dgx/secrets/bridge-key",
        mode: "0600",
        variable: "BRIDGE_KEY",
        isKey: true,
      },
    ]);
    expect(container?.secretEnv).toEqual(["BRIDGE_KEY"]);
    expect(container?.mounts).toContainEqual({
      type: "bind",
      source: "/home/me/.local/share/local-serving/dgx/secrets/bridge-key",
      target: "/run/secrets/bridge-key",
      readOnly: true,
    });
  });

  it("has the key in no argument and no variable that Docker shows", () => {
    expect(container?.entrypoint).toEqual([
      "/bin/sh",
      "-c",
      'LITELLM_MASTER_KEY=$(cat /run/secrets/bridge-key) && export LITELLM_MASTER_KEY && exec litellm "$@"',
      "litellm",
    ]);
    expect(container?.env).toEqual({ LITELLM_LOCAL_MODEL_COST_MAP: "True" });
  });
});
