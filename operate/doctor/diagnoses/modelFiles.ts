import type { Row } from "../diagnosis";
import { startSign } from "../sign";

export const modelFiles: readonly Row[] = [
  {
    id: "architecture-unsupported",
    when: startSign("are not supported for now", /Model architectures (\[[^\]]*\]) are not supported for now/),
    say: ({ hit, server }) => ({
      cause: `This vLLM has no class for the model's architecture, ${hit.groups[0]}.`,
      advice: `Pin a release that has it (the line lists what this one has), or serve another model than ${server.settings?.model.id ?? "this one"} (\`serving models\` lists those of this image).`,
      command: "serving pin vllm/vllm-openai:v0.30.0",
    }),
  },
  {
    id: "draft-unusable",
    when: startSign(
      ["Unsupported speculative method", "Invalid repository ID or local directory specified"],
      /Unsupported speculative method: '(\S+)'|Invalid repository ID or local directory specified: '(\S+)'/,
    ),
    unless: ({ hit, server }) => hit.groups[1] === server.settings?.model.id,
    say: ({ hit: { groups }, server }) => ({
      cause: groups[0]
        ? `This model has no drafts of the method ${groups[0]}.`
        : `There is no model ${groups[1]}, neither in the cache nor in a folder.`,
      edits: [server.set(["speculative"], undefined)],
      advice: "Speculative decoding only saves time: without it the server starts.",
    }),
  },
];
