import { join } from "node:path";
import { WrongUse } from "../../commandLine/exit";
import type { MachineChange } from "../../components/change";
import { declaredResources } from "../../components/machine";
import type { Plan } from "../../components/plan";
import { TYPE } from "../../components/planned";
import { isPep440 } from "../../components/supply";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
import { containerName, ofType } from "../../policies/lib/container";
import { judgeImage } from "../pin/judgeImage";
import type { ImageReading } from "../pin/readImage";
import { type ImageEntry, pinEdits } from "../pin/writePin";
import { compare } from "../plan/against";
import type { SettingChange } from "../plan/settingChanges";
import { type PlannedStack, readStack } from "../stack/readStack";
import { projectOrProgram } from "../stack/stackFile";
import { applyEdits } from "../stackEdit/applyEdits";
import { type EngineChanges, engineChanges } from "./engineChanges";
import { isServer, vllmsOf } from "./inside";

/** What is upgraded: an entry, the container that runs its image, and the releases that the tags of both images count. */
export interface Upgraded {
  readonly entry: ImageEntry;
  readonly container: string;
  readonly before: string;
  readonly after: string;
}

/** A finding that comes or goes with the image; `id` stays where only figures change. */
interface ChangedFinding {
  readonly id: string;
  readonly text: string;
}

/** What differs from the stack file as it is, as `serving plan --against` has it. */
interface StackChange {
  readonly against: string;
  readonly settings: readonly SettingChange[] | null;
  readonly machines: readonly MachineChange[];
  readonly findings: {
    readonly new: readonly ChangedFinding[];
    readonly gone: readonly ChangedFinding[];
  };
  readonly back: string | null;
}

/** What a stack file with another image would do. */
export interface Review {
  /** What a server's new vLLM makes of its arguments; `null` for a service, and where nobody knows it. */
  readonly engine: EngineChanges | null;
  /** Against the stack file as it is: settings, KV plan, memory, findings. */
  readonly change: StackChange;
  /** Against what is applied: what is replaced, and for how long; `null` where nothing is. */
  readonly applied: readonly MachineChange[] | null;
  /** What is said of the image itself, as `serving pin` says it. */
  readonly verdict: "pass" | "warned" | "refused";
  readonly reasons: readonly string[];
  /** Why `serving up` would refuse the new stack file, and doesn't refuse it as it is. */
  readonly refused: readonly string[];
}

/** Plans and judges the stack file with the image of a reading in place of the entry's. */
export async function reviewOf(
  stack: PlannedStack,
  upgraded: Upgraded,
  reading: ImageReading,
): Promise<Review> {
  const { file, text, plan } = stack;
  const { entry } = upgraded;
  const edited = readStack(file, applyEdits(text, pinEdits(entry, reading)));
  const asked = { file, settings: edited.settings, planned: edited.plan };
  const levels = readLevels(join(projectOrProgram(), LEVELS_FILE));
  const { result: change } = await compare(file, asked, levels);
  const applied = await compare("applied", asked, levels).then(
    ({ result }) => result.machines,
    (error: unknown) => {
      if (error instanceof WrongUse) return null;
      throw error;
    },
  );
  return {
    engine: isServer(entry) ? engineChangesOf([plan, edited.plan], upgraded, reading) : null,
    change,
    applied,
    ...judgeImage(reading, entry),
    refused: change.findings.new.flatMap(({ id, text }) => (id.endsWith(" refused") ? text : [])),
  };
}

function engineChangesOf(
  plans: readonly Plan[],
  upgraded: Upgraded,
  reading: ImageReading,
): EngineChanges | null {
  const [old, now] = plans.map((plan) => declared(plan, upgraded));
  const { before, after } = vllmsOf(upgraded.entry, reading);
  return old === undefined || now === undefined || !isPep440(before) || !isPep440(after)
    ? null
    : engineChanges({ container: old, version: before }, { container: now, version: after });
}

const declared = (plan: Plan, { entry, container }: Upgraded) =>
  ofType(declaredResources(plan), TYPE.container).find(
    (each) => each.provider === entry.machine && containerName(each) === container,
  );
