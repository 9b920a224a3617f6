import { goneText, type MachineChange, startOf } from "../../components/change";
import type { MachinePlan } from "../../components/plan";
import { counted } from "../../faults/quoting";
import { memoryVerdict } from "./changeReport";

/** A finding that only the new plan has. */
interface Added {
  readonly kind: "refused" | "warning" | "note";
}

/** What restarts, and whether memory fits. */
export const summary = (changes: readonly MachineChange[]): string[] =>
  changes.flatMap(({ machine, losses, memory: { after } }) => {
    const gone = losses.filter((loss) => goneText(loss) !== undefined);
    const said = gone.map((loss) => `${loss.key} is gone ${goneText(loss)}`).join("; ");
    return [
      `${machine}: ${said || "nothing that runs is stopped"}.`,
      ...(after === null ? [] : [`${machine}: ${memoryVerdict(after)}.`]),
    ];
  });

/** Servers whose KV cache may lack the room for one request. */
export function startLines(changes: readonly MachineChange[]): string[] {
  return changes.flatMap(({ machine, kv }) =>
    Object.entries(kv).flatMap(([key, { after }]) =>
      startOf(after) === "may start"
        ? [`${machine}: ${key} may not start: its KV cache may lack the room.`]
        : [],
    ),
  );
}

/** Whether it was sure that a server starts, and no longer is. */
export const isLessSure = (changes: readonly MachineChange[]): boolean =>
  changes.some(({ kv }) =>
    Object.values(kv).some(
      ({ before, after }) =>
        startOf(before) === "starts" && after !== null && startOf(after) !== "starts",
    ),
  );

/** What other computers reach only with the new plan, and where. */
export function reachedLines(
  before: readonly MachinePlan[],
  after: readonly MachinePlan[],
): string[] {
  const lines = after.flatMap(({ name, endpoints }) => {
    const old = before.find((each) => each.name === name)?.endpoints ?? [];
    return endpoints.flatMap(({ key, network }) =>
      network === undefined || old.some((each) => each.key === key && each.network !== undefined)
        ? []
        : [`${name}: ${key} is newly reachable from the network: ${network}.`],
    );
  });
  return lines.length > 0 ? lines : ["Nothing is newly reachable from the network."];
}

const newOnes = (many: number, what: string): string[] =>
  many === 0 ? [] : [counted(many, `new ${what}`)];

/** How many findings are new; those that refuse are named by the verdict. */
export function countLine(added: readonly Added[]): string {
  const of = (kind: Added["kind"]) => added.filter((each) => each.kind === kind).length;
  const said = [...newOnes(of("warning"), "warning"), ...newOnes(of("note"), "note")];
  return said.length === 0 ? "No new warning." : `${said.join(" and ")}, below in Findings.`;
}

/** Whether an inference server is replaced: one that worked may not work any more. */
export const replacesServer = (changes: readonly MachineChange[]): boolean =>
  changes.some(({ containers, kv }) =>
    containers.some(({ key, kind }) => key in kv && kind === "replaced"),
  );

/** The commands that apply a change: what is missing is fetched while everything still runs. */
export function appliedBy(changes: readonly MachineChange[]): string | undefined {
  const touched = changes.flatMap(({ containers, files, ollama }) => [
    ...containers.filter(({ kind }) => kind !== "unchanged"),
    ...files,
    ...(ollama === null ? [] : [ollama]),
  ]);
  if (touched.length === 0) return undefined;
  const containers = changes.flatMap((each) => each.containers);
  const fetches = containers.some(({ pulls, downloads }) => pulls !== null || downloads.length > 0);
  const starts = changes.some(({ containers, kv }) =>
    containers.some(({ key, kind }) => key in kv && (kind === "created" || kind === "replaced")),
  );
  return [
    ...(fetches ? ["serving fetch"] : []),
    "serving up",
    ...(starts ? ["serving status --wait"] : []),
    "serving verify",
  ].join(" && ");
}
