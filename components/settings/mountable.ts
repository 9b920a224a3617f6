import { isIn } from "@local-serving/machines/home";
import { keysAt, whereKeysAre } from "@local-serving/machines/keyPlaces";

/** Folders of the system, which hold more than a model wherever one looks into them. */
const SYSTEM = [
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/proc",
  "/run",
  "/sbin",
  "/snap",
  "/sys",
  "/usr",
  "/var/backups",
  "/var/lib/containerd",
  "/var/lib/docker",
  "/var/lib/kubelet",
  "/var/lib/rancher",
  "/var/lib/tailscale",
  "/var/log",
  "/var/run",
  "/var/spool",
];

/** Folders that hold others: they alone would bring in the rest of the machine. */
const PARENTS = [
  "/",
  "/home",
  "/media",
  "/mnt",
  "/opt",
  "/root",
  "/srv",
  "/tmp",
  "/var",
  "/var/lib",
];

/**
 * Why no server may have this folder of its machine, as far as its path tells; `undefined` where it
 * may.
 */
export function systemFolder(path: string, home?: string): string | undefined {
  if (/(?:^|\/)docker\.sock$/.test(path))
    return "The Docker socket gives whoever has it the whole machine: name the folder of a model.";
  const parent = PARENTS.find((each) => path.replace(/(.)\/+$/, "$1") === each);
  if (parent !== undefined)
    return `\`${parent}\` holds more than models: name the folder of the model alone.`;
  const system = SYSTEM.find((each) => isIn(path, each));
  if (system !== undefined)
    return `\`${path}\` lies in \`${system}\`, a folder of the system: move the model elsewhere, such as to \`/data/models\`.`;
  return placeOfKeys(path, home);
}

/** Why a server may not have what is a place of keys; `undefined` where none is known. */
export function placeOfKeys(path: string, home?: string): string | undefined {
  const keys = keysAt(path, home);
  if (keys === undefined || keys.is === "below") return undefined;
  if (keys.is === "home")
    return `\`${path}\` is a whole home, with its keys: name the folder of the model alone.`;
  return `\`${path}\` is ${whereKeysAre(keys)}: move the model elsewhere, such as to \`~/models\`.`;
}

/** Why a server may not have a folder that holds a place of keys. */
export function holdsKeys(path: string, home?: string): string | undefined {
  const keys = keysAt(path, home);
  if (keys?.is !== "below") return undefined;
  return `\`${path}\` holds \`${keys.place}\`, ${whereKeysAre(keys)}: name the folder of the model alone.`;
}
