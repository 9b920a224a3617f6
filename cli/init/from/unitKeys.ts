import { NO_STOP_GRACE, stopGrace } from "../command/stopGrace";
import type { LeftOut } from "../command/words";
import { alike, NOT_CARRIED } from "../notCarriedOver";
import type { UnitFile } from "./unitFile";
import { type Keys, unreadIn } from "./unread";

/** Starts in a time that are too many. */
const STARTS_LIMITED = alike(
  "how often a server may start again, `startsPerHour` says.",
  "StartLimitInterval StartLimitIntervalSec StartLimitBurst StartLimitAction",
);

/** What becomes of the sections around the one that starts the server. */
export const AROUND: Keys = {
  Unit: {
    ...alike(true, "Description Documentation SourcePath"),
    ...alike(
      "Docker starts the container, and waits for no other unit.",
      "After Before Wants Requires Requisite BindsTo PartOf Upholds PropagatesStopTo StopWhenUnneeded",
      "RequiresMountsFor WantsMountsFor DefaultDependencies JobTimeoutSec",
    ),
    Conflicts:
      "servers with `start: onRequest` are started where they fit, and `serving start` says what has to stop for one.",
    ...STARTS_LIMITED,
    ...alike("no other unit is started for a server.", "OnFailure OnSuccess"),
    ...alike(
      "nothing is asked before a start but what its start gate asks.",
      "ConditionPathExists ConditionPathIsDirectory ConditionFileNotEmpty ConditionHost",
      "ConditionPathIsMountPoint ConditionUser AssertPathExists AssertPathIsDirectory",
    ),
  },
  Install: {
    // A container here is started after a reboot, too.
    ...alike(true, "WantedBy RequiredBy"),
    "*": "the stack file names its servers, and no unit does.",
  },
};

/** What becomes of the keys of the section [Service]. */
export const OF_SERVICE: Keys = {
  ...alike(true, "ExecStart Environment EnvironmentFile Type"),
  ExecStartPre:
    "nothing runs before the server but its start gate: `serving fetch` brings the image.",
  ExecStartPost: "no other command runs once it has started.",
  ...alike("`serving stop` stops it.", "ExecStop", "ExecStopPost"),
  ExecReload: "a server has no reload: `serving up` applies what has changed.",
  Restart: "it is `unless-stopped` here: Docker starts the server again, also after a reboot.",
  ...alike(
    "Docker waits by its own rule before it starts a container again.",
    "RestartSec RestartSteps RestartMaxDelaySec RestartPreventExitStatus",
  ),
  ...STARTS_LIMITED,
  WatchdogSec: NOT_CARRIED.health,
  ExecCondition: "nothing is asked before a start but what its start gate asks.",
  ...alike(
    "nothing ends a start here: `healthcheck` sets how long one may take until it counts as failed.",
    "TimeoutStartSec TimeoutSec",
  ),
  TimeoutStopSec: (value) => (stopGrace(String(value)) === undefined ? NO_STOP_GRACE : undefined),
  ...alike(NOT_CARRIED.ownUser, "User Group SupplementaryGroups DynamicUser"),
  ...alike(
    NOT_CARRIED.ownFolders,
    "WorkingDirectory RootDirectory RuntimeDirectory StateDirectory",
    "CacheDirectory LogsDirectory ReadWritePaths BindPaths",
  ),
  LimitMEMLOCK: (value) =>
    value === "infinity" ? undefined : "memlock is `lockedMemoryBytes`, and unlimited by default.",
  ...alike(
    "the share of the memory limits vLLM; a limit of the kernel's doesn't count GPU memory.",
    "MemoryMax MemoryHigh MemoryLimit MemorySwapMax",
  ),
  ...alike(NOT_CARRIED.logs, "StandardOutput StandardError SyslogIdentifier"),
  ...alike(
    "a server gets the variables of `environment`, and its token by `huggingFaceTokenVariable`.",
    "PassEnvironment UnsetEnvironment LoadCredential SetCredential",
  ),
  ...alike(
    "Docker watches the container's process and ends it.",
    "KillMode KillSignal RemainAfterExit NotifyAccess PIDFile SendSIGKILL",
    "SuccessExitStatus GuessMainPID",
  ),
};

/** Says of each key of a unit that isn't read that it isn't carried over. */
export function unreadOf({ sections, lineAt }: UnitFile, keys: Keys): LeftOut[] {
  const last = Object.fromEntries(
    [...sections].map(([name, section]) => [
      name,
      Object.fromEntries(
        [...section].flatMap(([key, values]) => values.slice(-1).map((value) => [key, value])),
      ),
    ]),
  );
  return unreadIn(last, keys, {
    named: (key) => (key.includes(".") ? `${key.slice(key.indexOf(".") + 1)}=` : `[${key}]`),
    lineAt: ([section, key]) => lineAt(String(section), key?.toString()),
  });
}
