import { UnreadableInput } from "../../../faults/fault";
import { parseJson } from "../../../faults/jsonDocument";
import { configureAnalytics } from "../../../harness/analytics/configuration";
import { checkProfile } from "../../../harness/providers/check";
import { askedProviders } from "../../../harness/providers/probe";
import { parseProfile } from "../../../harness/providers/profile";
import type { Host } from "../host";
import type { AsWritten, HarnessTarget, ProviderTarget } from "../target";

/** The harness's files and every provider in them; nothing if the stack file has no `harness`. */
export async function harnessTargets(
  here: Pick<HarnessTarget, "machine" | "host" | "unreachable">,
  timeoutSeconds: number,
): Promise<(HarnessTarget | ProviderTarget)[]> {
  const { machine, host, unreachable } = here;
  const { harness } = machine;
  if (harness === null) return [];
  const read = <Content>(path: string, parse: (text: string) => Content) =>
    unreachable === undefined ? asWritten(host, path, parse) : { unreadable: unreachable };
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
  const name = "the harness's files";
  const keyVariables = [judgeKeyVariable];
  return [
    { ...here, kind: "harness", name, timeoutSeconds, profile, analytics, judgeKeyVariable, keyVariables },
    ...providersIn(profile, { ...here, timeoutSeconds }),
  ];
}

function providersIn(
  profile: HarnessTarget["profile"],
  common: Pick<ProviderTarget, "machine" | "host" | "timeoutSeconds" | "unreachable">,
): ProviderTarget[] {
  const kind = "harness-provider";
  if ("content" in profile && profile.content.providers.length > 0) {
    return profile.content.providers.map((asked) => {
      const key = asked.provider?.api_key_env;
      const keyVariables = key === undefined ? [] : [key];
      return { ...common, kind, name: `provider ${asked.name}`, asked, keyVariables };
    });
  }
  const unreachable =
    common.unreachable ?? "the profile on the machine names no provider (see harness-profile)";
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
