import { looksLikeAKey } from "@local-serving/base/faults/secrets";
import * as z from "zod";
import { optional, strictObject } from "zod";
import {
  containerPath,
  count,
  hostPath,
  notAHubId,
  servedName,
  textMatching,
} from "../planned/fields";

/** A commit of the hub, which is the only revision that stays what it is. */
export const commit = () =>
  textMatching(/^[0-9a-f]{40}$/, "Expected a commit of the hub: 40 hex digits");

/**
 * Name that clients ask an adapter by. vLLM reads `NAME=PATH` and takes a comma for JSON; the name
 * is also a folder inside the container.
 */
const adapterName = () =>
  textMatching(
    /^[A-Za-z0-9][\w.-]*$/,
    "Expected a name of ASCII letters, digits, dots, dashes and underscores: coding clients can't address one with a slash, and vLLM splits it at `=` and `,`",
  );

const adapter = strictObject({
  name: adapterName()
    .describe("Name that clients ask for, in addition to the server's own names.")
    .meta({ examples: ["support-tone"] }),
  path: optional(hostPath())
    .describe(
      "Folder on the machine that holds `adapter_config.json` and `adapter_model.safetensors`, as PEFT's `save_pretrained` writes them. It is mounted read-only. Either this or `id`.",
    )
    .meta({ examples: ["~/runs/support-tone/checkpoint-900"] }),
  id: optional(
    textMatching(/^[\w.-]+\/[\w.-]+$/, {
      // What may be a key is quoted nowhere.
      error: ({ input }) =>
        (looksLikeAKey(String(input)) ? undefined : notAHubId(String(input))) ??
        "Expected a hub id, `organisation/name`",
    }),
  ).describe(
    "Hub id of the adapter, instead of `path`. The server reads its snapshot in the model cache, so download it first with `serving fetch`. Needs `revision`.",
  ),
  revision: optional(commit()).describe(
    "Commit of the adapter's repository on the hub. vLLM itself can't pin an adapter and would load whatever `main` holds; with this setting, every start serves the same files.",
  ),
  rank: optional(count(1, 512)).describe(
    "Rank of the adapter, `r` of its `adapter_config.json`. Default: read from that file. Needed on a machine reached over ssh, where the file can't be read.",
  ),
  trainedOn: optional(servedName()).describe(
    "Base model that the adapter's `adapter_config.json` names (`base_model_name_or_path`), if that isn't `model.id` but another copy of the same model, such as the unquantized one. Without this setting, another base is refused.",
  ),
}).describe("A LoRA adapter that this server serves beside its model.");

export type AdapterSettings = z.output<typeof adapter>;

const mount = strictObject({
  from: hostPath()
    .describe("Folder on the machine.")
    .meta({ examples: ["/data/tokenizers"] }),
  to: containerPath()
    .describe("Where it appears inside the container.")
    .meta({
      examples: ["/models/tokenizers"],
    }),
}).describe("A folder of the machine that the server may read but not write.");

/** Settings of an inference server about models that its operator made. */
export const ownModelSettings = {
  adapters: z
    .array(adapter)
    .default([])
    .describe(
      "LoRA adapters of the model, each served under a name of its own: `--enable-lora` and `--lora-modules`.",
    ),
  maxLoraRank: count()
    .optional()
    .describe(
      "`--max-lora-rank`: highest rank that a slot for an adapter has room for. Each slot takes memory for this rank, whatever rank its adapter has. Default: the smallest that vLLM accepts and that covers all `adapters`.",
    ),
  maxLoras: count()
    .optional()
    .describe(
      "`--max-loras`: slots for adapters on the GPU: how many adapters can be in use at once; requests for others wait. Default: one for each adapter.",
    ),
  maxCpuLoras: count()
    .optional()
    .describe(
      "`--max-cpu-loras`: adapters that are kept in host memory (the same memory as the GPU's here), so that a slot is filled without reading files. Default: vLLM's own, the same as `maxLoras`.",
    ),
  loraTargetModules: optional(z.array(textMatching(/^[\w.]+$/, "Expected a module's name")).min(1))
    .describe(
      "`--lora-target-modules`: layers that slots are made for, by the end of their names. Default: every linear layer, which for a mixture of experts is many times what most adapters use.",
    )
    .meta({ examples: [["q_proj", "k_proj", "v_proj", "o_proj"]] }),
  allowPickle: z
    .boolean()
    .default(false)
    .describe(
      "Allows a folder of yours whose only weights are Python pickles (`.bin`, `.pt`). Pickles can carry code, and only torch's restricted loader keeps it from running. Better convert them to safetensors.",
    ),
  mounts: z
    .array(mount)
    .default([])
    .describe(
      "Further folders of the machine that the server may read, always read-only. A folder that is `model.id` or an adapter's `path` needs none.",
    ),
};
