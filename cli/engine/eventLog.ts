import { existsSync, readFileSync, statSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { jsonIn, objectOr, textOr } from "@local-serving/base/faults/json";
import { TYPE } from "../../components/planned";
import { explained } from "../../components/preflight/fetch";

/** What the engine told of an update, one event a line; nothing where there is no log. */
const eventsIn = (log: string) =>
  (existsSync(log) ? readFileSync(log, "utf8") : "")
    .split("\n")
    .map((line) => objectOr(jsonIn(line)));

/** The steps that an update began; or with `planned` those of its preview. */
const stepsIn = (log: string, { planned = false } = {}) =>
  eventsIn(log).flatMap(({ resourcePreEvent }) => {
    const { metadata, planning = false } = objectOr(resourcePreEvent);
    const { op, type, urn } = objectOr(metadata);
    return metadata === undefined || planning !== planned
      ? []
      : [{ op: textOr(op), type: textOr(type), urn: textOr(urn) }];
  });

/** Long enough for what else is under way to say something. */
const QUIET_MS = 60_000;

/**
 * Whether an update waits for what never comes, by the engine's event log: where the old container
 * of a replacement could not be removed, an engine that goes on waits for the new one for ever
 * (seen with Pulumi 3.246.0; pulumi/pulumi#16373).
 */
export function waitsForEver(log: string): () => boolean {
  let [size, since, judged] = [0, Date.now(), false];
  return () => {
    const now = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
    if (now !== size) [size, since, judged] = [now, Date.now(), false];
    // A quiet log is read once: a long pull says nothing for an hour.
    if (judged || size === 0 || Date.now() - since < QUIET_MS) return false;
    judged = true;
    return eventsIn(log).some(({ resOpFailedEvent }) => {
      return objectOr(objectOr(resOpFailedEvent).metadata).op === "delete-replaced";
    });
  };
}

/** The engine's words for a first signal, Ctrl-C or TERM: a second one ends it at once. */
const CANCELLING = /received; cancelling\b/;

/** Whether the engine was told to end already: a signal may reach all of a group. */
export const isCancelled = (log: string): boolean =>
  eventsIn(log).some(({ stdoutEvent }) => CANCELLING.test(textOr(objectOr(stdoutEvent).message)));

/** The provider's words for an image that it could not pull. */
const FAILED_PULL = /pull(?:ing)? (?:image )?"?([^\s"]+?)"?: (.*)/s;

/**
 * What to run next for each image that an update could not pull, and whether it stopped anything
 * before.
 */
export function failedPulls(log: string): string[] {
  const said = eventsIn(log).flatMap(({ diagnosticEvent }) => {
    const { severity, message } = objectOr(diagnosticEvent);
    const [, name, words] = FAILED_PULL.exec(stripVTControlCharacters(textOr(message))) ?? [];
    if (severity !== "error" || name === undefined || words === undefined) return [];
    return [
      explained(
        { kind: "image", name },
        words,
        "`serving up` again (`serving fetch` loads everything first)",
      ),
    ];
  });
  if (said.length === 0) return [];
  return [...new Set(said), ...(removesContainers(log) ? [] : [NONE_STOPPED])];
}

const NONE_STOPPED = "No container was stopped or replaced.";

/** Whether an update began to remove a container, by its event log. */
const removesContainers = (log: string): boolean =>
  stepsIn(log).some(({ op, type }) => type === TYPE.container && op.startsWith("delete"));

/** Steps that leave their resource as it is. */
const QUIET = ["same", "read", "refresh"];

/** Whether a step changes anything on a machine: the stack itself and providers are nothing there. */
const isChange = ({ op, type }: { readonly op: string; readonly type: string }): boolean =>
  type !== "" && !type.startsWith("pulumi:") && !QUIET.includes(op);

/** Whether an update began to change anything, by its event log; its preview doesn't count. */
export const touchedAnything = (log: string): boolean => stepsIn(log).some(isChange);

/** Whether a preview would change anything, by its event log. */
export const plansAnything = (log: string): boolean =>
  stepsIn(log, { planned: true }).some(isChange);

/** A resource that an update made or changed. */
export interface Made {
  readonly type: string;
  /** Its name in the stack. */
  readonly resource: string;
  /** Whether it is a new one, or one in the place of an old one. */
  readonly isNew: boolean;
}

/** What an update made or changed, by its event log; its preview doesn't count. */
export const madeIn = (log: string): Made[] =>
  stepsIn(log).flatMap(({ op, type, urn }) => {
    const isNew = op === "create" || op === "create-replacement";
    return isNew || op === "update"
      ? [{ type, resource: urn.split("::").at(-1) ?? "", isNew }]
      : [];
  });

/** Whether a policy refused an update before it changed anything, by its event log. */
export const isRefused = (log: string): boolean =>
  eventsIn(log).some(({ policyEvent }) => objectOr(policyEvent).enforcementLevel === "mandatory") &&
  !touchedAnything(log);
