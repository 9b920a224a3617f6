import { UnreadableInput } from "@local-serving/base/faults/fault";
import { type JsonObject, objectOr } from "@local-serving/base/faults/json";
import { parseJson } from "@local-serving/base/faults/jsonDocument";
import { readBy } from "@local-serving/base/faults/schemaFaults";
import { type Files, filesOf } from "@local-serving/machines/files";
import { appliedPlanPath, type MachinePlan } from "../plan";
import { PLAN_VERSION } from "../planned";
import { fromVersion0 } from "./fromVersion0";

/** The plan that was applied to a machine, or why none is known. */
export type AppliedPlan =
  | { readonly plan: MachinePlan }
  | {
      readonly missing: string;
      /** Set if a plan was applied that this program can't read. */
      readonly isThere?: true;
    };

/** The plans that were applied to the machines of a stack, in their order. */
export const readAppliedPlans = (machines: readonly MachinePlan[]): Promise<AppliedPlan[]> =>
  Promise.all(machines.map((machine) => readAppliedPlan(machine, filesOf(machine))));

/** The machines, as stack files call them, whose plan `up` left in a state directory. */
export async function appliedMachines(on: Files, stateDirectory: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await on.names(stateDirectory))
    if (await on.isPlain(appliedPlanPath(name, stateDirectory))) found.push(name);
  return found;
}

/** Reads the plan that `up` left on a machine, here or over ssh. */
export async function readAppliedPlan(
  { files }: Pick<MachinePlan, "files">,
  on: Files,
): Promise<AppliedPlan> {
  const path = files.find(({ role }) => role === "applied-plan")?.path ?? "";
  const found = await on.text(path);
  if (found !== undefined) return appliedPlanIn(found, path);
  const why = (await on.state(path)) === "missing" ? "is not there" : "can't be read";
  return {
    missing: `${path} ${why}: nothing was applied, or it was applied by another user or with another \`stateDirectory\``,
  };
}

/** Functions that turn an applied plan into the next version, by the version they start from. */
const MIGRATIONS: readonly ((document: JsonObject) => JsonObject)[] = [fromVersion0];

/** More characters than any plan has: one of two machines with one of each thing has 200,000. */
const LARGEST = 16_000_000;

const ANEW = "`serving up` writes it again";

/**
 * The plan in such a file, whatever version wrote it. Its parts are checked; keys that this version
 * doesn't know are left out.
 */
export async function appliedPlanIn(text: string, path: string): Promise<AppliedPlan> {
  const unread = (why: string) => ({ missing: `${path} ${why}`, isThere: true }) as const;
  if (text.length > LARGEST) return unread(`is larger than any plan: ${ANEW}`);
  const document = jsonOf(text, path);
  if (document instanceof UnreadableInput)
    return { missing: `${document.message}; ${ANEW}`, isThere: true };
  const { version = 0 } = document;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 0)
    return unread(`has a \`version\` that isn't a whole number: ${ANEW}`);
  if (version > PLAN_VERSION)
    return unread(
      `was written by a newer local-serving (plan version ${version}); this one reads up to version ${PLAN_VERSION}: update local-serving, or run \`serving up\`, which goes back to this version and writes the plan again`,
    );
  const current = MIGRATIONS.slice(version).reduce((older, migrate) => migrate(older), document);
  // Few commands read a plan, and its schema takes longer to make than all else that they do at
  // their start.
  const { appliedDocument } = await import("../planned/schema/document");
  const { data, faults } = readBy(appliedDocument, current);
  if (data !== undefined) return { plan: data.machine };
  const [first] = faults;
  return unread(`holds no plan that can be read. ${first?.path}: ${first?.message} ${ANEW}`);
}

/** The object in a JSON text; anything else is an object without content. */
function jsonOf(text: string, path: string): JsonObject | UnreadableInput {
  try {
    return objectOr(parseJson(path, text).value);
  } catch (error) {
    if (error instanceof UnreadableInput) return error;
    throw error;
  }
}
