import { INSTANCE_A } from "../../components/fields";
import type { MachinePlan } from "../../components/plan";
import { SERVICES } from "../../components/services";
import type { StackSettings } from "../../components/settings";
import { entryName, type ImageEntry, imageEntries } from "../pin/writePin";
import { type Named, named, ON_DEMAND } from "../stack/named";
import { ranksOf } from "../stack/ranksOf";

/** An entry with an image, and the container that runs it. */
export interface ImageTarget {
  readonly entry: ImageEntry;
  readonly container: string;
  /** Whose image it is, where a name means something inside. */
  readonly note?: string;
}

/** What a name stands for; without an image, a sentence that says what upgrades it. */
type Target = ImageTarget | { readonly entry?: never; readonly message: string };

/** Finds the entry of a name, as the other commands take names. Throws `WrongUse` as `named` does. */
export function targetOf(
  settings: StackSettings,
  machines: readonly MachinePlan[],
  name: string,
): Target {
  const found = named(machines, name);
  if (found.key === INSTANCE_A)
    return {
      message: `Instance A is only counted here: whoever runs it upgrades it the way it was installed. \`serving verify ${name}\` checks it afterwards.`,
    };
  if (found.key === ON_DEMAND)
    return {
      message: `llama-swap is no image: write another release into onDemand.program.version of ${found.machine.name}, and \`serving pin\` fills in its sum.`,
    };
  const { machine, key, container } = headOf(found, machines);
  const entry = imageEntries(settings).find(
    (each) => each.machine === machine.name && keyOf(each) === key,
  );
  if (entry === undefined || container === undefined)
    return {
      message: `Ollama runs on ${machine.name} in no container of ours: upgrade it there the way it was installed. \`serving verify ${name}\` checks it afterwards.`,
    };
  return found.own === false
    ? { entry, container, note: `${found.key} runs inside ${key}: its image is that of ${key}.` }
    : { entry, container };
}

/** The machine and the key of what has the image: a worker runs that of its head. */
function headOf(found: Named, machines: readonly MachinePlan[]) {
  const { machine, key, server, container } = found;
  if (server === undefined) {
    // Ollama inside the chat UI has the chat UI's container.
    const key = SERVICES.find(({ name }) => name === container?.role)?.name ?? found.key;
    return { machine, key, container: container?.name };
  }
  const [head] = ranksOf({ machine, server }, machines);
  return head === undefined
    ? { machine, key, container: server.container.name }
    : { machine: head.machine, key: head.server.key, container: head.server.container.name };
}

/** What `serving upgrade` calls an entry: the key of a server, or the name of a service. */
const keyOf = ({ path }: ImageEntry): string =>
  SERVICES.find(({ key }) => key === path[0])?.name ?? path.at(-1) ?? "";

/** The shortest name of an entry that no other one has. */
export function nameOf(entry: ImageEntry, all: readonly ImageEntry[]): string {
  const key = keyOf(entry);
  const isOnly = all.every((each) => entryName(each) === entryName(entry) || keyOf(each) !== key);
  return isOnly ? key : `${entry.machine}.${key}`;
}
