import { isDeepStrictEqual } from "node:util";
import { dotted } from "@local-serving/base/faults/fault";
import { isRecord } from "@local-serving/base/faults/json";
import { stringify } from "yaml";
import { placeOf, type StackSettings } from "../../components/settings";

/**
 * A setting that differs between two stack files, defaults included; `undefined` where one has
 * none.
 */
export interface SettingChange {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
  /** Line of the new file; of the old one where the setting is gone. */
  readonly line?: number;
}

export function settingChanges(before: StackSettings, after: StackSettings): SettingChange[] {
  const changes = (old: unknown, now: unknown, path: readonly string[]): SettingChange[] => {
    if (isDeepStrictEqual(old, now)) return [];
    if (isRecord(old) && isRecord(now))
      return [...new Set([...Object.keys(now), ...Object.keys(old)])].flatMap((key) =>
        changes(old[key], now[key], [...path, key]),
      );
    const { line }: { readonly line?: number } = placeOf(now === undefined ? before : after, path);
    return [
      { path: dotted(path), before: old, after: now, ...(line === undefined ? {} : { line }) },
    ];
  };
  return changes(before, after, []);
}

/** `3 -> 4`, `4 is added`, `3 is removed`; `null` stands for none, and an empty value isn't named. */
export function fromTo(before: string | null, after: string | null): string {
  if (after === null) return before ? `${before} is removed` : "is removed";
  if (before === null) return after ? `${after} is added` : "is added";
  return `${before} -> ${after}`;
}

function valueText(value: unknown): string | null {
  if (value === undefined) return null;
  return isRecord(value)
    ? "a block"
    : stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}

export function settingText({ path, before, after, line }: SettingChange): string {
  const where = line === undefined ? "" : ` (line ${line}${after === undefined ? " before" : ""})`;
  return `\`${path}\`${where}: ${fromTo(valueText(before), valueText(after))}`;
}
