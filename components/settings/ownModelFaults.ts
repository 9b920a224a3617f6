import { isIn } from "@local-serving/machines/home";
import { hostPath, notAHubId } from "../planned/fields";
import type { InferenceServerSettings } from "./inferenceServer";
import { folderOfModel, INSIDE, modelInside } from "./insideContainer";
import type { MachineSettings } from "./machine";
import { holdsKeys, placeOfKeys, systemFolder } from "./mountable";
import type { AdapterSettings } from "./ownModels";
import type { MachineFault } from "./referenceFaults";

/** Faults in what servers say of adapters and folders of their operator's. */
export const ownModelFaults = (machine: MachineSettings): MachineFault[] => [
  ...cacheFaults(machine),
  ...Object.entries(machine.inferenceServers).flatMap(([key, server]) =>
    [
      ...server.adapters.flatMap((adapter, index) => adapterFaults(server, adapter, index)),
      ...slotFaults(server),
      ...folderFaults(machine, server),
      ...draftFaults(server),
      ...inImageFaults(server),
      ...mountFaults(machine, server),
    ].map((fault) => ({ ...fault, path: ["inferenceServers", key, ...fault.path] })),
  ),
];

/** Servers may even write to the model cache. */
function cacheFaults({ modelCache, home }: MachineSettings): MachineFault[] {
  const why = placeOfKeys(modelCache, home) ?? holdsKeys(modelCache, home);
  return why === undefined ? [] : [impossible(["modelCache"], why)];
}

/** What is inside the image is a path there, and no model of the hub. */
const inImageFaults = ({ model: { id, inImage } }: InferenceServerSettings): MachineFault[] =>
  inImage && !id.startsWith("/")
    ? [
        impossible(
          ["model", "inImage"],
          "`model.id` isn't a path inside the image: write one that starts with `/`, or delete this line.",
        ),
      ]
    : [];

const impossible = (path: PropertyKey[], message: string): MachineFault => ({
  path,
  code: "impossible_value",
  message,
});

function adapterFaults(
  server: InferenceServerSettings,
  { name, path, id, revision }: AdapterSettings,
  index: number,
): MachineFault[] {
  const at = ["adapters", index];
  const faults: MachineFault[] = [];
  const missing = (key: string, message: string) =>
    faults.push({ path: [...at, key], code: "missing_key", message });
  if (path === undefined && id === undefined)
    missing("path", "Say where the adapter is: `path`, a folder of the machine, or its hub `id`.");
  if (path !== undefined && id !== undefined)
    faults.push(
      impossible([...at, "id"], "An adapter has either a `path` or an `id`: delete one of them."),
    );
  if (id !== undefined && path === undefined && revision === undefined)
    missing(
      "revision",
      `vLLM would load whatever the main branch of ${id} holds: write the commit, \`revision: <40 hex digits>\`, as its page on the hub shows it.`,
    );
  if (path !== undefined && revision !== undefined)
    faults.push(impossible([...at, "revision"], "A folder has no revision: delete this line."));
  const names = [server.servedModelName, ...(server.aliases ?? [])];
  if (names.includes(name))
    faults.push(
      impossible(
        [...at, "name"],
        `\`${name}\` is a name of the server's own model: clients could not tell them apart. Choose another.`,
      ),
    );
  const first = server.adapters.findIndex((each) => each.name === name);
  if (first < index)
    faults.push(
      impossible(
        [...at, "name"],
        `\`adapters.${first}\` also has the name \`${name}\`: choose another.`,
      ),
    );
  return faults;
}

/** Slots for adapters that nothing would fill, or that vLLM refuses. */
function slotFaults({ adapters, ...server }: InferenceServerSettings): MachineFault[] {
  const { maxLoras = adapters.length, maxCpuLoras } = server;
  const given = (["maxLoraRank", "maxLoras", "maxCpuLoras", "loraTargetModules"] as const).filter(
    (key) => server[key] !== undefined,
  );
  if (adapters.length === 0)
    return given.map((key) =>
      impossible([key], "There are no `adapters`: delete this line, or declare some."),
    );
  const faults: MachineFault[] = [];
  const count = adapters.length === 1 ? "one adapter" : `${adapters.length} adapters`;
  if (maxLoras > adapters.length)
    faults.push(
      impossible(
        ["maxLoras"],
        `Only ${count} can be in use, and any further slot wastes memory: write ${adapters.length}, or delete this line.`,
      ),
    );
  if (maxCpuLoras !== undefined && maxCpuLoras > adapters.length)
    faults.push(
      impossible(
        ["maxCpuLoras"],
        `No more than ${count} can be kept: write ${adapters.length}, or delete this line.`,
      ),
    );
  if (maxCpuLoras !== undefined && maxCpuLoras < maxLoras)
    faults.push(
      impossible(
        ["maxCpuLoras"],
        `vLLM refuses fewer than \`maxLoras\` (${maxLoras}): write ${maxLoras} or more, or delete this line.`,
      ),
    );
  return faults;
}

/** A path that starts nowhere: `./merged`, `runs/support/merged`. */
const IS_RELATIVE = /^(?:\.{1,2}\/|~(?!\/)|[^/~][^/]*\/[^/]*\/)/;

const idFault = (id: string): string | undefined =>
  notAHubId(id) ??
  (IS_RELATIVE.test(id)
    ? `\`${id}\` isn't a hub id (\`organisation/name\`). For a folder of the machine, write the whole path, which starts with \`/\` or \`~/\`.`
    : undefined);

/**
 * Methods that vLLM refuses without a draft model ("num_speculative_tokens was provided but without
 * speculative model", vllm/config/speculative.py). `mtp` and its old names take heads of the model
 * itself, `dspark` may, and `ngram` and `suffix` read the text.
 */
const DRAFT_MODEL = new Set([
  "eagle",
  "eagle3",
  "dflash",
  "draft_model",
  "medusa",
  "mlp_speculator",
]);

/** Faults in a drafts' model: it is missing, or neither on the hub nor in the container. */
function draftFaults({ speculative, model }: InferenceServerSettings): MachineFault[] {
  if (speculative === undefined) return [];
  const at = ["speculative", "model"];
  if (speculative.model === undefined) {
    const { method } = speculative;
    const why = `\`method: ${method}\` drafts with a model of its own: write the hub id of one that was made for ${model.id} as \`model\`. Or delete \`speculative\`.`;
    return DRAFT_MODEL.has(method) ? [{ path: at, code: "missing_key", message: why }] : [];
  }
  const why = notAHubId(speculative.model);
  return why === undefined ? [] : [impossible(at, why)];
}

/** Faults in a model that is a folder of the machine. */
function folderFaults(machine: MachineSettings, server: InferenceServerSettings): MachineFault[] {
  const folder = folderOfModel(server);
  const at = (key: string) => ["model", key];
  if (folder === undefined) {
    const why = idFault(server.model.id);
    return why === undefined ? [] : [impossible(at("id"), why)];
  }
  const form = hostPath().safeParse(folder);
  const why = form.success
    ? notMountable(machine, folder)
    : form.error.issues.map(({ message }) => message)[0];
  return [
    ...(why === undefined ? [] : [impossible(at("id"), why)]),
    ...(server.model.revision === undefined
      ? []
      : [impossible(at("revision"), "A folder has no revision: delete this line.")]),
  ];
}

function mountFaults(machine: MachineSettings, server: InferenceServerSettings): MachineFault[] {
  const { mounts, adapters } = server;
  const ours = [
    ...Object.values(INSIDE),
    "/run",
    "/var",
    ...(folderOfModel(server) === undefined ? [] : [modelInside(server)]),
  ];
  return [
    ...adapters.flatMap(({ path }, index) => {
      const why = path === undefined ? undefined : notMountable(machine, path);
      return why === undefined ? [] : [impossible(["adapters", index, "path"], why)];
    }),
    ...mounts.flatMap(({ from, to }, index) => {
      const why = notMountable(machine, from);
      const hidden = IMAGE_FOLDERS.find((folder) => isIn(to, folder));
      const taken = ours.find((folder) => folder !== INSIDE.models && isIn(to, folder));
      const first = mounts.findIndex((each) => isIn(to, each.to) || isIn(each.to, to));
      const target = (message: string) => impossible(["mounts", index, "to"], message);
      const faults = why === undefined ? [] : [impossible(["mounts", index, "from"], why)];
      if (hidden !== undefined)
        faults.push(
          target(`This would hide the image's own \`${hidden}\`: write \`${INSIDE.models}/NAME\`.`),
        );
      else if (taken !== undefined || to === INSIDE.models)
        faults.push(
          target(
            `\`${taken ?? to}\` inside the container is in use: write \`${INSIDE.models}/NAME\` with another name.`,
          ),
        );
      if (first < index)
        faults.push(
          target(
            `This path and \`mounts.${first}\` (\`${mounts[first]?.to}\`) overlap: choose another path.`,
          ),
        );
      return faults;
    }),
  ];
}

/** Top folders of vLLM's image, and those that every Linux has. */
const IMAGE_FOLDERS = [
  "/bin",
  "/boot",
  "/etc",
  "/home",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/opt",
  "/root",
  "/run",
  "/sbin",
  "/tmp",
  "/usr",
  "/var",
  "/vllm-workspace",
];

/** A path as one below `~/`, where it is below a home however that is written. */
const belowHome = (path: string, home = "/root"): string =>
  isIn(path, home)
    ? `~${path.slice(home.length)}`
    : path.replace(/^(?:\/root|\/home\/[^/]+)\//, "~/");

/** Why a folder of the machine can't be mounted into a server; `undefined` where it can. */
function notMountable(machine: MachineSettings, path: string): string | undefined {
  const system = systemFolder(path, machine.home);
  if (system !== undefined) return system;
  const own = (each: string) => belowHome(each, machine.home);
  const ours = (
    [
      ["stateDirectory", "our own state, with files of secrets", machine.stateDirectory],
      [
        "modelCache",
        "downloaded models, which servers can already read and write",
        machine.modelCache,
      ],
    ] as const
  ).find(([, , folder]) => isIn(own(path), own(folder)) || isIn(own(folder), own(path)));
  if (ours === undefined) return holdsKeys(path, machine.home);
  const [setting, what, folder] = ours;
  return `\`${path}\` and \`${setting}\` (${folder}) overlap, and \`${setting}\` holds ${what}: name the folder of the model alone.`;
}
