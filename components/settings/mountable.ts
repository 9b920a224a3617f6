import { isIn } from "../../machines/home";

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
  "/var/lib/containerd",
  "/var/lib/docker",
  "/var/log",
  "/var/run",
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

/** Folders of secrets in a home. */
const SECRETS =
  /^(?:~|\/root|\/home\/[^/]+)\/\.(?:ssh|gnupg|aws|config|docker|kube|pulumi)(?:\/|$)/;

/** A whole home, as people and `home` of a machine write it. */
const HOME = /^(?:~\/?|\/home\/[^/]+\/?)$/;

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
  if (HOME.test(path) || path === home)
    return `\`${path}\` is a whole home, with its keys: name the folder of the model alone.`;
  if (SECRETS.test(path))
    return `\`${path}\` is where programs keep keys: move the model elsewhere, such as to \`~/models\`.`;
  return undefined;
}
