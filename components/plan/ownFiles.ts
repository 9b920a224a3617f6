import type { ModelFiles } from "../../machines/modelFiles";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { systemFolder } from "../settings/mountable";

/** What is wrong with an operator's own model; without a path it is about the folder itself. */
export interface OwnFault {
  readonly path?: readonly (string | number)[];
  readonly message: string;
  readonly code?: string;
}

/** A folder with its files, and what it is for. */
interface OwnFolder {
  /** The setting or adapter, as a message names it. */
  readonly what: string;
  readonly files: ModelFiles;
  readonly isAdapter: boolean;
}

const PICKLE = /\.(?:bin|pt|pth|pkl|ckpt)$/;
const WEIGHTS = {
  adapter: /^adapter_model\./,
  model: /^(?:pytorch_model|model|consolidated)\b.*\./,
} as const;

/** What is wrong with the files of a folder, whatever they say. */
export function filesFaults(
  { files: read, isAdapter, what }: OwnFolder,
  { allowPickle }: Pick<InferenceServerSettings, "allowPickle">,
): OwnFault[] {
  if (read.problem !== undefined) return [];
  const { files, linksOutside, leadsTo } = read;
  const system = leadsTo === undefined ? undefined : systemFolder(leadsTo);
  return [
    ...(system === undefined ? [] : [{ message: `It is a link. ${system}` }]),
    ...kindFaults(files, isAdapter, what),
    ...linksOutside.map(({ link, target }) => ({
      message: `\`${link}\` in it is a link to ${target}, outside the folder: the server would not find it there, and what a link leads to may be a secret. Put the file itself there (\`cp -L\`).`,
    })),
    ...weightsFaults(files, isAdapter, allowPickle),
  ];
}

function kindFaults(files: readonly string[], isAdapter: boolean, what: string): OwnFault[] {
  const hasConfig = files.includes("config.json");
  const hasAdapter = files.includes("adapter_config.json");
  if (isAdapter && !hasAdapter)
    return [
      {
        message: hasConfig
          ? `${what} is a whole model (config.json), no adapter: serve it as \`model.id\` of a server of its own.`
          : `There is no adapter_config.json in it: name the folder that PEFT's \`save_pretrained\` wrote, such as \`checkpoint-900\`.`,
      },
    ];
  if (!isAdapter && !hasConfig)
    return [
      {
        message: hasAdapter
          ? "It is an adapter (adapter_config.json), no whole model: write its base as `model.id` and this folder below `adapters`."
          : "There is no config.json in it: name the folder that `save_pretrained` of the whole model wrote.",
      },
    ];
  return [];
}

function weightsFaults(
  files: readonly string[],
  isAdapter: boolean,
  allowPickle: boolean,
): OwnFault[] {
  const form = isAdapter ? WEIGHTS.adapter : WEIGHTS.model;
  const weights = files.filter((file) => form.test(file));
  if (weights.some((file) => file.endsWith(".safetensors"))) return [];
  const pickles = weights.filter((file) => PICKLE.test(file));
  const [first] = pickles;
  const wanted = isAdapter ? "adapter_model.safetensors" : "*.safetensors";
  if (first === undefined)
    return files.some((file) => file.endsWith(".safetensors")) && !isAdapter
      ? []
      : [{ message: `There are no weights in it: ${wanted} is missing.` }];
  return allowPickle
    ? []
    : [
        {
          message: `Its weights are a Python pickle (${first}), a form that can carry code; only torch's restricted loader keeps that from running in the server. Save them as safetensors (\`save_pretrained(..., safe_serialization=True)\`), or write \`allowPickle: true\` if you made it yourself.`,
        },
      ];
}
