import type { TestProject } from "vitest/node";
import { ownDaemonMissing, removeOwnDaemons } from "./docker/ownDaemon";
import { alreadyThere, fromGo, fromNpm, fromPyPI, type Program } from "./programs";

/**
 * The programs that these tests run, each in the version that the stack file pins or that Node 20
 * takes.
 */
export const PROGRAMS = {
  vllm: () => fromPyPI("vllm==0.30.0", "python"),
  // The image has the last one, too.
  litellm: () => fromPyPI("litellm[proxy]==1.103.0", "litellm", "prometheus_client==0.20.0"),
  openWebUi: () => fromPyPI("open-webui==0.11.3", "open-webui"),
  ollama: async () => {
    const there = alreadyThere("ollama", "OLLAMA_PROGRAM");
    return "missing" in there
      ? fromGo("github.com/ollama/ollama", "0.34.4", "github.com/ollama/ollama/version.Version")
      : there;
  },
  claude: () =>
    fromNpm("@anthropic-ai/claude-code", "2.1.197", [
      `@anthropic-ai/claude-code-${process.platform}-${process.arch}`,
      "claude",
    ]),
  codex: () => fromNpm("@openai/codex", "0.169.0", [".bin", "codex"]),
  opencode: () => fromNpm("opencode-ai", "1.18.33", [".bin", "opencode"]),
  pi: () => fromNpm("@earendil-works/pi-coding-agent", "0.87.1", [".bin", "pi"]),
  qwenCode: () => fromNpm("@qwen-code/qwen-code", "0.24.4", [".bin", "qwen"]),
  // The last two need Node 22.
  node: () =>
    fromNpm(`node-${process.platform}-${process.arch}`, "22.23.3", [
      `node-${process.platform}-${process.arch}`,
      "bin",
      "node",
    ]),
} as const;

declare module "vitest" {
  interface ProvidedContext {
    programs: Record<keyof typeof PROGRAMS, Program>;
    /** A Docker daemon that a test may end and start again. */
    ownDaemon: { readonly missing?: string };
  }
}

/**
 * Installs what is not there yet, one after the other; what can't be installed is skipped with the
 * reason.
 */
export default async function setup(project: TestProject): Promise<void> {
  // Before the run's directory is removed.
  process.prependOnceListener("exit", removeOwnDaemons);
  const daemon = await ownDaemonMissing();
  project.provide("ownDaemon", daemon === undefined ? {} : { missing: daemon });
  project.provide("programs", {
    vllm: await PROGRAMS.vllm(),
    litellm: await PROGRAMS.litellm(),
    openWebUi: await PROGRAMS.openWebUi(),
    ollama: await PROGRAMS.ollama(),
    claude: await PROGRAMS.claude(),
    codex: await PROGRAMS.codex(),
    opencode: await PROGRAMS.opencode(),
    pi: await PROGRAMS.pi(),
    qwenCode: await PROGRAMS.qwenCode(),
    node: await PROGRAMS.node(),
  });
}
