import type { TestProject } from "vitest/node";
import { alreadyThere, fromNpm, fromPyPI, type Program } from "../programs";
import type { PROGRAMS } from "../setup";

/** Releases after those that the stack file pins, for what they do and older ones don't. */
const NEWEST: Partial<Record<keyof typeof PROGRAMS, () => Promise<Program>>> = {
  claude: () =>
    fromNpm("@anthropic-ai/claude-code", "2.1.330", [
      `@anthropic-ai/claude-code-${process.platform}-${process.arch}`,
      "claude",
    ]),
  // A mirror of PyPI may lack the release of a package that it pins.
  litellm: async () =>
    process.env.LITELLM_PROGRAM === undefined
      ? fromPyPI("litellm[proxy]==1.109.1", "litellm")
      : alreadyThere("litellm", "LITELLM_PROGRAM"),
};

/** Installs these and no other program. */
export default async function setup(project: TestProject): Promise<void> {
  const missing: Program = { missing: "no newer release is tested" };
  const of = async (name: keyof typeof PROGRAMS) => (await NEWEST[name]?.()) ?? missing;
  project.provide("programs", {
    vllm: await of("vllm"),
    litellm: await of("litellm"),
    openWebUi: await of("openWebUi"),
    ollama: await of("ollama"),
    claude: await of("claude"),
    codex: await of("codex"),
    opencode: await of("opencode"),
    pi: await of("pi"),
    qwenCode: await of("qwenCode"),
    node: await of("node"),
  });
}
