import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { describeEngineWithDocker } from "./available";
import { SHARE, TOTAL_GIB } from "./stackConfig";
import type { Update } from "./update";
import { Workspace } from "./workspace";

const KEY = "s3cret-NoOutputMayHoldThis";
const PASSWORD = "s3cret-NorThisOne";
const ADMINISTRATOR = { emailVariable: "CHAT_EMAIL", passwordVariable: "CHAT_PASSWORD" };
const THEIRS = "# my own profile of that name\n";

/**
 * Stands for LiteLLM and Open WebUI, of which no image is reached here: it stays up, and that is
 * all.
 */
const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";

describeEngineWithDocker("bridge, chat UI and clients on a real machine", () => {
  let workspace: Workspace;
  let bridgeImage: PinnedImage;
  let chatImage: PinnedImage;
  let ports: { a: number; bridge: number; chat: number };
  let network: string;

  const configOf = (machine: Record<string, unknown> = {}) => ({
    "local-serving:machines": {
      dgx: {
        totalGiB: TOTAL_GIB,
        network,
        operatingSystemGiB: 1,
        instanceA: {
          port: ports.a,
          gpuMemoryUtilization: SHARE,
          servedModelName: "old",
          maxModelLen: 131072,
        },
        bridge: { image: bridgeImage.reference, port: ports.bridge, servers: ["instance-a"] },
        chatUi: {
          image: chatImage.reference,
          port: ports.chat,
          connections: ["instance-a"],
          administrator: ADMINISTRATOR,
        },
        clients: { claudeCode: { server: "instance-a" }, codex: { server: "instance-a" } },
        ...machine,
      },
    },
  });
  const bridgeWith = (more: Record<string, unknown>) => ({
    bridge: { image: bridgeImage.reference, port: ports.bridge, servers: ["instance-a"], ...more },
  });
  const bridge = () => `litellm-${ports.bridge}`;
  const atHome = (path: string) => join(workspace.home, path);
  const profile = () => atHome(".codex/local-serving.config.toml");
  /**
   * What changed, without the machine's facts and the copy of the plan, which every change writes
   * down.
   */
  const steps = (update: Update) =>
    update.steps
      .map(({ op, type, name }) => `${op} ${type.split(":").at(-1)} ${name}`)
      .filter((step) => !/ Machine | dgx-applied-plan$/.test(step))
      .sort();
  const inspect = async (format: string): Promise<unknown> =>
    JSON.parse(await mustRun("docker", ["inspect", "--format", `{{json ${format}}}`, bridge()]));
  const previewOf = async (machine: Record<string, unknown>) => {
    workspace.configure(configOf(machine));
    const preview = await workspace.preview("--diff");
    workspace.configure(configOf());
    return preview;
  };

  beforeAll(async () => {
    const waiting = { programs: { litellm: WAIT }, entrypoint: ["litellm"] };
    ports = { a: await freePort(), bridge: await freePort(), chat: await freePort() };
    network = `net-v${ports.bridge}`;
    bridgeImage = await pinnedImage({ ...waiting, repository: "berriai/litellm", tag: "v1.103.0" });
    chatImage = await pinnedImage({
      ...{ programs: { bash: WAIT }, entrypoint: ["bash"], command: ["start.sh"] },
      ...{ repository: "open-webui/open-webui", tag: "v0.11.3" },
    });
    workspace = await Workspace.open({
      config: configOf(),
      env: { BRIDGE_KEY: KEY, CHAT_EMAIL: "me@example.org", CHAT_PASSWORD: PASSWORD },
    });
    mkdirSync(dirname(profile()), { recursive: true });
    writeFileSync(profile(), THEIRS, { mode: 0o640 });
  });
  afterAll(async () => {
    await workspace.close();
    await mustRun("docker", ["volume", "rm", "--force", `${network}-chat-ui-data`]);
  });

  it("are created by the first `up`, policies and all", async () => {
    const up = await workspace.up("--policy-pack", join(workspace.project, "policies"));
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    for (const file of [".local/bin/local-claude", ".local/bin/local-codex"])
      expect(statSync(atHome(file)).mode & 0o777, file).toBe(0o755);
    expect(readFileSync(profile(), "utf8")).toContain('wire_api = "responses"');
    const settings = readFileSync(
      atHome(".local/share/local-serving/clients/claude-code.settings.json"),
      "utf8",
    );
    expect(settings).toContain(`"ANTHROPIC_BASE_URL": "http://127.0.0.1:${ports.bridge}"`);
  });

  it("give the chat UI its administrator, whom neither Docker nor the engine shows", async () => {
    const chat = `open-webui-${ports.chat}`;
    expect(await mustRun("docker", ["exec", chat, "cat", "/run/secrets/chat-ui-password"])).toBe(
      PASSWORD,
    );
    const shown = [
      await mustRun("docker", ["inspect", chat]),
      JSON.stringify(await workspace.outputs()),
    ];
    for (const text of [
      ...shown,
      readFileSync(atHome(".local/share/local-serving/dgx/applied-plan.json"), "utf8"),
    ])
      expect(text).not.toContain(PASSWORD);
    const file = atHome(".local/share/local-serving/dgx/secrets/chat-ui-password");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("give the bridge its file, which it can't change", async () => {
    const seen = await mustRun("docker", ["exec", bridge(), "cat", "/etc/litellm/config.yaml"]);
    expect(`${seen}\n`).toBe(
      readFileSync(atHome(".local/share/local-serving/dgx/bridge/config.yaml"), "utf8"),
    );
    expect(seen).toContain("model: hosted_vllm/old");
    const write = mustRun("docker", [
      "exec",
      bridge(),
      "sh",
      "-c",
      "echo x >> /etc/litellm/config.yaml",
    ]);
    await expect(write).rejects.toThrow("Read-only");
  });

  it("tell in the outputs where they are and how each client is started", async () => {
    expect(await workspace.outputs()).toMatchObject({
      clients: {
        dgx: {
          "claude-code": atHome(".local/bin/local-claude"),
          codex: atHome(".local/bin/local-codex"),
        },
      },
      endpoints: {
        dgx: {
          bridge: `http://127.0.0.1:${ports.bridge}`,
          "chat-ui": `http://127.0.0.1:${ports.chat}`,
        },
      },
    });
  });

  it("have nothing to change afterwards, the machine read again", async () => {
    expect(steps(await workspace.up())).toEqual([]);
    const refreshed = await workspace.preview("--refresh", "--diff", "--expect-no-changes");
    expect(refreshed, refreshed.stdout).toMatchObject({ code: 0, steps: [] });
  });

  const REPLACES = (container: string) =>
    ["create-replacement", "delete-replaced", "replace"].map(
      (op) => `${op} Container ${container}`,
    );

  it.each<[string, () => Record<string, unknown>, string[], RegExp]>([
    [
      "a client off",
      () => ({ clients: { claudeCode: { server: "instance-a" } } }),
      [
        ...["Client dgx-codex", "Command dgx-codex-config", "Command dgx-launcher-codex"],
        ...["HostFile dgx-codex-config", "HostFile dgx-launcher-codex"],
      ].map((each) => `delete ${each}`),
      /local-serving\.config\.toml/,
    ],
    [
      "native instead of through the bridge",
      () => ({
        clients: {
          claudeCode: { server: "instance-a", via: "native" },
          codex: { server: "instance-a" },
        },
      }),
      [
        ...[
          "Client dgx-claude-code",
          "Command dgx-claude-code-settings",
          "Command dgx-launcher-claude-code",
        ],
      ].map((each) => `update ${each}`),
      /- .*"ANTHROPIC_BASE_URL": "http:\/\/127\.0\.0\.1:\d+",\n.*\+ .*"ANTHROPIC_BASE_URL"/,
    ],
    [
      "messages passed through",
      () => bridgeWith({ messagesPath: "passThrough" }),
      [...REPLACES("dgx-bridge"), "update Command dgx-bridge-config"],
      /\+ .*supported_endpoints/,
    ],
    [
      "a real key of the bridge",
      () => bridgeWith({ keyVariable: "BRIDGE_KEY" }),
      [
        ...REPLACES("dgx-bridge"),
        ...["create Command dgx-bridge-key", "create HostFile dgx-bridge-key"],
        ...["bridge-config", "claude-code-settings", "launcher-claude-code"].map(
          (name) => `update Command dgx-${name}`,
        ),
      ],
      /secrets\/bridge-key/,
    ],
    [
      "no connection of the chat UI",
      () => ({
        chatUi: {
          image: chatImage.reference,
          port: ports.chat,
          connections: [],
          administrator: ADMINISTRATOR,
        },
      }),
      [...REPLACES("dgx-chat-ui"), "update ChatUi dgx-chat-ui"],
      /ENABLE_OPENAI_API=True" => "ENABLE_OPENAI_API=False"/,
    ],
  ])(
    "change for %s exactly what it says, in words to be read",
    async (_, machine, expected, sentence) => {
      const preview = await previewOf(machine());
      expect(preview, preview.stderr).toMatchObject({ code: 0 });
      expect(steps(preview)).toEqual(expected.sort());
      expect(preview.stdout).toMatch(sentence);
    },
  );

  it("take a real key as a file of mode 0600 that the bridge reads, and show it nowhere", async () => {
    workspace.configure(configOf(bridgeWith({ listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" })));
    const up = await workspace.up();
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    const file = atHome(".local/share/local-serving/dgx/secrets/bridge-key");
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([KEY, 0o600]);
    // What the program inside was started with, as the kernel has it.
    const environment = await mustRun("docker", ["exec", bridge(), "cat", "/proc/1/environ"]);
    expect(environment).toContain(`LITELLM_MASTER_KEY=${KEY}`);
    const everything = [
      ...[up.stdout, up.stderr, await workspace.state(), JSON.stringify(await inspect("."))],
      ...[".local/bin/local-claude", ".local/share/local-serving/dgx/applied-plan.json"].map(
        (path) => readFileSync(atHome(path), "utf8"),
      ),
    ];
    for (const text of everything) expect(text).not.toContain(KEY);
    expect(await inspect(".HostConfig.PortBindings")).toEqual({
      [`${ports.bridge}/tcp`]: [{ HostIp: "0.0.0.0", HostPort: String(ports.bridge) }],
    });
  });

  it("are gone after `down`, with the user's own file back as it was and the chats kept", async () => {
    const down = await workspace.destroy();
    expect(down, down.stderr).toMatchObject({ code: 0 });
    expect([readFileSync(profile(), "utf8"), statSync(profile()).mode & 0o777]).toEqual([
      THEIRS,
      0o640,
    ]);
    for (const path of [".local/bin", ".local/share/local-serving"])
      expect(existsSync(atHome(path)), path).toBe(false);
    const names = await mustRun("docker", ["ps", "--all", "--format", "{{.Names}}"]);
    expect(names).not.toContain(String(ports.bridge));
    expect(await mustRun("docker", ["volume", "ls", "--format", "{{.Name}}"])).toContain(
      `${network}-chat-ui-data`,
    );
  });
});
