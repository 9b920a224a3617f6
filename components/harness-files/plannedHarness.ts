import { posix } from "node:path";
import { HARNESS_FILES } from "../../harness/harness";
import type { FileRole, PlannedFile } from "../planned/file";
import type { MachineSettings } from "../settings/machine";
import { reviewers } from "../settings/reviewers";
import { ourServers, type ServedHere } from "./ourServers";
import { providersProfile } from "./providersProfile";
import { sessionAnalytics } from "./sessionAnalytics";

/** What is given to the automation harness; the texts are among the machine's files. */
export interface HarnessPlan {
  /** What the harness's environment variables begin with, the underscore included. */
  readonly prefix: string;
  /** Path of the providers profile. */
  readonly providers: string;
  /** Path of the session-analytics file. */
  readonly analytics: string;
}

/** Nobody but the operator needs to read what a harness runs. */
const MODE = "0600";

/** What the harness is given: facts for the plan, and the two files. */
export interface PlannedHarness {
  readonly plan: HarnessPlan | null;
  readonly files: readonly PlannedFile<FileRole>[];
}

/**
 * What the harness is given; nothing where `harness` is not in the stack file.
 * @param onMachine makes a path of the stack file one of the machine.
 */
export function plannedHarness(
  machine: MachineSettings,
  served: ServedHere,
  onMachine: (path: string) => string,
): PlannedHarness {
  const { harness } = machine;
  if (harness === undefined) return { plan: null, files: [] };
  const servers = ourServers(reviewers(machine, harness), served);
  const file = (role: FileRole, home: string, name: string, text: string): PlannedFile<FileRole> => ({
    role,
    path: posix.join(onMachine(home), name),
    mode: MODE,
    text,
  });
  const providers = file(
    "harness-providers",
    harness.home,
    HARNESS_FILES.providers,
    providersProfile(harness, servers),
  );
  const analytics = file(
    "harness-analytics",
    harness.analyticsHome ?? harness.home,
    HARNESS_FILES.analytics,
    sessionAnalytics(harness, servers, served.simpleServer),
  );
  return {
    plan: { prefix: harness.prefix, providers: providers.path, analytics: analytics.path },
    files: [providers, analytics],
  };
}
