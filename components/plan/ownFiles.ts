import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { holdsKeys, type InferenceServerSettings, systemFolder } from "../settings";

/** What is wrong with an operator's own model; without a path it is about the folder itself. */
export interface OwnFault {
  readonly path?: readonly (string | number)[];
  readonly message: string;
  readonly code?: string;
}

/** A folder with its files, and what it is for. */
export interface OwnFolder {
  /** The setting or adapter, as a message names it. */
  readonly what: string;
  readonly files: ModelFiles;
  readonly isAdapter: boolean;
}

/** As many of a kind are told one by one. */
const MOST_TOLD = 3;

/** A fault for each of the first, and one for the rest; `words` gives a message and what they are. */
function few<T>(
  items: readonly T[],
  words: (item: T) => readonly [message: string, kind: string],
): OwnFault[] {
  const told = items.slice(0, MOST_TOLD).map((item) => ({ message: words(item)[0] }));
  const rest = items.length - told.length;
  const [last] = items.slice(-1);
  return rest === 0 || last === undefined
    ? told
    : [...told, { message: `There are ${rest} more ${words(last)[1]}.` }];
}

const ADAPTER_CONFIG = "adapter_config.json";
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
  const { files, linksOutside, unread = [], adapterConfig } = read;
  // What else is wrong with a folder of the system tells nothing.
  if (leadsToSystem(read) !== undefined) return placesOf(read);
  const hasUnreadConfig =
    isAdapter && files.includes(ADAPTER_CONFIG) && adapterConfig === undefined;
  return [
    ...kindFaults(files, isAdapter, what),
    ...placesOf(read),
    ...(hasUnreadConfig && unread.includes(ADAPTER_CONFIG)
      ? [{ message: "Its adapter_config.json can't be read: correct its permissions." }]
      : []),
    ...(hasUnreadConfig && unread.length === 0 && linksOutside.length === 0
      ? [{ message: "Its adapter_config.json is larger than 1 MiB or isn't text: copy it again." }]
      : []),
    ...weightsFaults(files, isAdapter, allowPickle),
  ];
}

/** Why no server may have a folder, whatever it is for, a sentence each. */
export const placeFaults = (files: ModelFiles): string[] =>
  placesOf(files).map(({ message }) => message);

const leadsToSystem = ({ leadsTo }: ModelFiles): string | undefined =>
  leadsTo === undefined ? undefined : (systemFolder(leadsTo) ?? holdsKeys(leadsTo));

function placesOf(read: ModelFiles): OwnFault[] {
  const { linksOutside, special = [] } = read;
  const system = leadsToSystem(read);
  if (system !== undefined) return [{ message: `It is a link. ${system}` }];
  return [
    ...few(linksOutside, ({ link, target }) => [
      `\`${link}\` in it is a link to ${target}, outside the folder: the server would not find its target, which may also be a secret. Put the file itself there (\`cp -L\`).`,
      "links out of the folder",
    ]),
    ...few(special, (name) => [
      `\`${name}\` in it is a socket, a pipe or a device: the server could talk to whatever is behind it, or wait for it forever. Remove it from the folder.`,
      "sockets, pipes or devices",
    ]),
  ];
}

function kindFaults(files: readonly string[], isAdapter: boolean, what: string): OwnFault[] {
  const hasConfig = files.includes("config.json");
  const hasAdapter = files.includes(ADAPTER_CONFIG);
  if (isAdapter && !hasAdapter)
    return [
      {
        message: hasConfig
          ? `${what} is a whole model (config.json), not an adapter: serve it as \`model.id\` of a server of its own.`
          : `There is no adapter_config.json in it: name the folder that PEFT's \`save_pretrained\` wrote, such as \`checkpoint-900\`.`,
      },
    ];
  if (!isAdapter && !hasConfig)
    return [
      {
        message: hasAdapter
          ? "It is an adapter (adapter_config.json), not a whole model: write its base model as `model.id` and this folder below `adapters`."
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
          message: `Its weights are a Python pickle (${first}), which can carry code; only torch's restricted loader keeps it from running in the server. Save them as safetensors (\`save_pretrained(..., safe_serialization=True)\`), or write \`allowPickle: true\` if you made them yourself.`,
        },
      ];
}
