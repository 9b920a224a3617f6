import type { MachinePlan } from "../../components/plan/types";
import { UnreadableInput } from "../../faults/fault";
import { parseJson } from "../../faults/jsonDocument";
import { type AnalyticsConfiguration, configureAnalytics } from "../../harness/analytics/configuration";
import { checkProfile, type ProfileCheck } from "../../harness/providers/check";
import { type AskedProvider, askedProviders } from "../../harness/providers/probe";
import { parseProfile } from "../../harness/providers/profile";
import type { Host } from "./host";
import type { Common } from "./targets";

/** A file of the harness as it lies on the machine, or why it can't be read. */
export type AsWritten<Content> = { readonly content: Content } | { readonly unreadable: string };

/** What the harness was given: its two files. */
export interface HarnessTarget extends Common {
  readonly kind: "harness";
  readonly timeoutSeconds: number;
  readonly profile: AsWritten<{
    readonly verdict: ProfileCheck;
    readonly providers: readonly AskedProvider[];
  }>;
  /** The session-analytics file upon the defaults; the environment of this shell is not the harness's. */
  readonly analytics: AsWritten<AnalyticsConfiguration>;
  /** NAME of the variable with the judge's key. */
  readonly judgeKeyVariable: string;
}

/** One provider of the harness's profile, as it is written there. */
export interface ProviderTarget extends Common {
  readonly kind: "harness-provider";
  readonly timeoutSeconds: number;
  readonly asked: AskedProvider;
}

/** What the harness was given and everybody it can ask; nothing where the stack file has no `harness`. */
export async function harnessTargets(
  machine: MachinePlan,
  host: Host,
  timeoutSeconds: number,
  elsewhere: string | undefined,
): Promise<(HarnessTarget | ProviderTarget)[]> {
  const { harness } = machine;
  if (harness === null) return [];
  const common = { machine, host, timeoutSeconds };
  const read = <Content>(path: string, parse: (text: string) => Content) =>
    elsewhere === undefined ? asWritten(host, path, parse) : { unreadable: elsewhere };
  const profile = await read(harness.providers, (text) => {
    const document = parseProfile(harness.providers, text);
    const verdict = checkProfile(document);
    return { verdict, providers: askedProviders(document, verdict) };
  });
  const analytics = await read(harness.analytics, (text) =>
    configureAnalytics({
      prefix: harness.prefix,
      document: parseJson(harness.analytics, text),
      dotenv: undefined,
      environment: {},
      settings: [],
    }),
  );
  const judgeKeyVariable = `${harness.prefix}SA_JUDGE_API_KEY`;
  const files: HarnessTarget = {
    ...common,
    kind: "harness",
    name: "the harness's files",
    profile,
    analytics,
    judgeKeyVariable,
    keyVariables: [judgeKeyVariable],
    ...(elsewhere === undefined ? {} : { unreachable: elsewhere }),
  };
  return [files, ...providerTargets(profile, common, elsewhere)];
}

function providerTargets(
  profile: HarnessTarget["profile"],
  common: Pick<ProviderTarget, "machine" | "host" | "timeoutSeconds">,
  elsewhere: string | undefined,
): ProviderTarget[] {
  const kind = "harness-provider";
  if ("content" in profile && profile.content.providers.length > 0) {
    return profile.content.providers.map((asked) => {
      const key = asked.provider?.api_key_env;
      return {
        ...common,
        kind,
        name: `provider ${asked.name}`,
        asked,
        ...(key === undefined ? {} : { keyVariables: [key] }),
      };
    });
  }
  const unreachable = elsewhere ?? "the profile on the machine names no provider (see harness-profile)";
  return [{ ...common, kind, name: "the harness's providers", asked: { name: "" }, unreachable }];
}

async function asWritten<Content>(
  host: Host,
  path: string,
  parse: (text: string) => Content,
): Promise<AsWritten<Content>> {
  const disk = await host.file(path);
  if (disk === undefined) return { unreadable: `${path} is missing` };
  if (disk.text === undefined) return { unreadable: `${path} can't be read by this user` };
  try {
    return { content: parse(disk.text) };
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    return { unreadable: error.message };
  }
}
