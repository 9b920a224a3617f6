import { dateText } from "@local-serving/base/units/dateText";
import { knownTroubles } from "../../components/supply";
import type { System } from "../sees/system";

/** What became of a machine's system since its last `verify`. */
export interface SinceVerify {
  /** When it booted, where that was since then; "" where nothing tells the time. */
  readonly bootedAt: string | null;
  readonly changes: readonly SystemChange[];
  /** What the supply list knows of the system that it has now, a sentence each. */
  readonly troubles: readonly string[];
}

interface SystemChange {
  readonly part: keyof typeof PARTS;
  readonly before: string;
  readonly after: string;
}

const PARTS = {
  kernel: "kernel",
  driver: "driver",
  docker: "Docker",
  toolkit: "NVIDIA Container Toolkit",
} as const;

/** What is read of a kernel that doesn't say its release. */
const UNKNOWN = "unknown";

const KEYS = ["kernel", "driver", "docker", "toolkit"] as const;

/** Compares what is known of both times. `null` where nothing changed. */
export function sinceVerify(then: System, now: System): SinceVerify | null {
  const changes = KEYS.flatMap((part): SystemChange[] => {
    const [before, after] = [then[part], now[part]];
    if (before === undefined || after === undefined || before === after) return [];
    return [before, after].includes(UNKNOWN) ? [] : [{ part, before, after }];
  });
  const ids = [then.bootId, now.bootId];
  const hasBooted = !ids.includes(undefined) && then.bootId !== now.bootId;
  if (!hasBooted && changes.length === 0) return null;
  return {
    bootedAt: hasBooted ? (now.bootedAt ?? "") : null,
    changes,
    troubles: knownTroubles(now),
  };
}

/** The same as lines for a person. */
export function sinceVerifyText({ bootedAt, changes, troubles }: SinceVerify): string[] {
  const what = [
    ...(bootedAt === null ? [] : [`it booted${bootedAt && ` at ${dateText(bootedAt)}`}`]),
    ...changes.map(({ part, before, after }) => `${PARTS[part]} ${before} -> ${after}`),
  ];
  const noTrouble =
    changes.length === 0 ? [] : ["The supply list knows no trouble with what runs now."];
  return [
    `since the last verify: ${what.join("; ")}. \`serving verify\` shows whether everything still works.`,
    ...(troubles.length === 0 ? noTrouble : troubles).map((line) => `  ${line}`),
  ];
}
