import { existsSync, readFileSync } from "node:fs";
import type { EngineEvent, PolicyEvent, StepEventMetadata } from "@pulumi/pulumi/automation/events";
import type { Finished } from "../layers/run";

export interface Step {
  /**
   * `same`, `create`, `update`, `replace`, `create-replacement`, `delete-replaced`, `delete`, ...
   */
  readonly op: string;
  readonly type: string;
  /** Name of the resource, the last part of its URN. */
  readonly name: string;
  readonly diffs: readonly string[];
  /** Property paths that differ, each with its kind (`update`, `add-replace`, ...). */
  readonly detailedDiff: Readonly<Record<string, string>>;
}

/** What a run of the engine did, with everything that it said. */
export interface Update extends Finished {
  /** Every step but those that only look, or leave their resource as it was. */
  readonly steps: readonly Step[];
  /** Resources by what became of them; `same` counts too. */
  readonly changes: Readonly<Record<string, number>>;
  readonly policies: readonly PolicyEvent[];
  /** Warnings and errors of the program, the providers and the engine, without colours. */
  readonly diagnostics: readonly { readonly severity: string; readonly message: string }[];
}

/**
 * Steps that change nothing; what a refresh finds changed shows as a difference of the step after
 * it.
 */
const QUIET = ["same", "read", "refresh"];

export function readUpdate(finished: Finished, eventLog: string): Update {
  const events = existsSync(eventLog) ? parseEvents(readFileSync(eventLog, "utf8")) : [];
  return {
    ...finished,
    steps: events
      .flatMap(({ resourcePreEvent }) => resourcePreEvent?.metadata ?? [])
      .filter(({ op }) => !QUIET.includes(op))
      .map(readStep),
    changes:
      events.findLast((event) => event.summaryEvent !== undefined)?.summaryEvent?.resourceChanges ??
      {},
    policies: events.flatMap(({ policyEvent }) => policyEvent ?? []),
    diagnostics: events
      .flatMap(({ diagnosticEvent }) => diagnosticEvent ?? [])
      .filter(
        ({ severity, ephemeral }) => ephemeral !== true && ["warning", "error"].includes(severity),
      )
      .map(({ severity, message }) => ({ severity, message: withoutColours(message).trim() })),
  };
}

function readStep(metadata: StepEventMetadata): Step {
  const { op, type, urn, diffs, detailedDiff } = metadata;
  return {
    op,
    type,
    name: urn.split("::").at(-1) ?? urn,
    diffs: diffs ?? [],
    detailedDiff: Object.fromEntries(
      Object.entries(detailedDiff ?? {}).map(([path, { diffKind }]) => [path, diffKind]),
    ),
  };
}

/** An engine that was killed may leave a last line that is cut off. */
function parseEvents(text: string): EngineEvent[] {
  return text.split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [JSON.parse(line) as EngineEvent];
    } catch {
      return [];
    }
  });
}

/** The engine marks colours in events as `<{%reset%}>`. */
function withoutColours(message: string): string {
  return message.replaceAll(/<\{%.*?%\}>/g, "");
}
