import type { MachinePlan, Plan, PlannedContainer, PlannedFile } from "../../../components/plan/types";
import { machineOf } from "./environment";

/** A container of another role on a machine; all that is not about its role is the server's. */
function container(
  machine: MachinePlan,
  overlay: Partial<PlannedContainer> & { port: number },
): PlannedContainer {
  const [server] = machine.containers;
  if (server === undefined) throw new Error("a plan has a server");
  const { port, ...rest } = overlay;
  return {
    ...server,
    command: [],
    env: {},
    ports: [{ ip: "127.0.0.1", host: port, container: port }],
    ...rest,
  };
}

export function withParts(
  plan: Plan,
  parts: { containers?: readonly PlannedContainer[]; files?: readonly PlannedFile[] },
): Plan {
  const machine = machineOf(plan);
  return {
    ...plan,
    machines: [
      {
        ...machine,
        containers: [...machine.containers, ...(parts.containers ?? [])],
        files: [...machine.files, ...(parts.files ?? [])],
      },
    ],
  };
}

export const file = (role: string, path: string, text: string, mode = "0644"): PlannedFile => ({
  role,
  path,
  text,
  mode,
});

/** The bridge with its configuration, and the settings of a messages-style client that goes through it. */
export function withBridge(
  plan: Plan,
  port: number,
  options: { keyVariable?: string; key?: string; tiers?: string[] } = {},
) {
  const { keyVariable, key = "placeholder", tiers = ["model"] } = options;
  const bridge = container(machineOf(plan), {
    role: "bridge",
    name: `litellm-${port}`,
    port,
    secretEnv: keyVariable === undefined ? [] : [keyVariable],
  });
  const master = keyVariable === undefined ? key : "os.environ/LITELLM_MASTER_KEY";
  return withParts(plan, {
    containers: [bridge],
    files: [
      file("bridge-config", "/c/bridge.yaml", `general_settings:\n  master_key: ${master}\n`),
      claudeCode(`http://127.0.0.1:${port}`, tiers),
    ],
  });
}

/** Settings of the messages-style client that point at this origin. */
export function claudeCode(origin: string, [main = "", ...rest]: readonly string[]): PlannedFile {
  const env: Record<string, string> = {
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_MODEL: main,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: rest[0] ?? main,
    ANTHROPIC_SMALL_FAST_MODEL: rest[1] ?? main,
  };
  return file("claude-code-settings", "/c/settings.json", JSON.stringify({ env }));
}

export function withChatUi(plan: Plan, port: number, env: Record<string, string>): Plan {
  return withParts(plan, {
    containers: [container(machineOf(plan), { role: "chat-ui", name: `open-webui-${port}`, port, env })],
  });
}
