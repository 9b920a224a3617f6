import { readFileSync } from "node:fs";
import { objectOr } from "@local-serving/base/faults/json";
import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

const guide = readFileSync("docs/guide/your-own-models.md", "utf8");
const blocks = [...guide.matchAll(/```yaml\n([^`]+)```/g)].map(([, text = ""]) =>
  objectOr(parse(text)),
);
const servers = blocks.flatMap(({ inferenceServers }) => {
  const { b } = objectOr(inferenceServers);
  return b === undefined ? [] : [objectOr(b)];
});

const adapter: ModelFiles = {
  files: ["adapter_config.json", "adapter_model.safetensors"],
  linksOutside: [],
  adapterConfig: JSON.stringify({
    r: 16,
    lora_alpha: 32,
    target_modules: ["q_proj"],
    base_model_name_or_path: "Qwen/Qwen3.6-35B-A3B",
  }),
  weightsBytes: 1,
};
const merged: ModelFiles = {
  files: ["config.json", "model.safetensors"],
  linksOutside: [],
  weightsBytes: 1,
};

it("shows an adapter, a merged and a quantized model that are planned, and an adapter's client", () => {
  const clients = objectOr(blocks.find((block) => "clients" in block)?.clients);
  const folders = {
    "~/runs/support/checkpoint-900": adapter,
    "~/runs/support/merged": merged,
    "~/runs/support/merged-nvfp4": merged,
  };
  const planned = servers.map((server, index) => {
    const machine = index === 0 ? { clients } : {};
    const { machines } = plan(stack(machine, server), {
      home: "/home/me",
      folders: { dgx: folders },
    });
    const [only] = machines;
    const { command = [] } = only?.containers[0] ?? {};
    return [command[0], command.includes("support=/adapters/support"), only?.clients[0]?.tiers];
  });
  expect(planned).toEqual([
    ["nvidia/Qwen3.6-35B-A3B-NVFP4", true, { model: "support" }],
    ["/models/merged", false, undefined],
    ["/models/merged-nvfp4", false, undefined],
  ]);
});
