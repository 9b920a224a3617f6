import { programsOf, startsVllm, theLaunch } from "../command/launch";
import type { LeftOut } from "../command/words";
import { runsInstead } from "./companions";
import { dockerRunOf, envOption, plainWords } from "./container";
import { withEnvFiles } from "./envFiles";
import { type PublishedKind, unreadKeys } from "./kind";
import { environmentOf, hasSection, unitFile, unitWords, withSpecifiers } from "./unitFile";

/** Options of `podman run`, by the key of a Quadlet that says the same. */
const OPTIONS: Readonly<Record<string, string>> = {
  ContainerName: "name",
  PublishPort: "publish",
  Volume: "volume",
  AddDevice: "device",
  ShmSize: "shm-size",
  Network: "network",
  Ulimit: "ulimit",
  Pull: "pull",
  Label: "label",
  User: "user",
  AddCapability: "cap-add",
  HealthCmd: "health-cmd",
  HostName: "hostname",
  EnvironmentFile: "env-file",
  AddHost: "add-host",
  WorkingDir: "workdir",
  Mount: "mount",
};

/** Keys that are read otherwise. */
const READ = new Set([
  "Image",
  "Exec",
  "Entrypoint",
  "Environment",
  "PodmanArgs",
  "GlobalArgs",
  "Secret",
]);

export const quadlet: PublishedKind = {
  kind: "a Podman Quadlet",
  looksLike: ({ text }) => hasSection(text, "Container"),
  servers(source) {
    const container =
      unitFile(source.text).get("Container") ?? new Map<string, readonly string[]>();
    const words = withEnvFiles(runOf(container), source);
    if (!startsVllm(words))
      return { servers: [], none: `Its container ${runsInstead(...programsOf(words))} ${INSTEAD}` };
    const launch = () => theLaunch(words);
    return { servers: [{ name: "its container", launch }], leftOut: unread(container) };
  },
};

const INSTEAD = "Give one whose Image= is one of vLLM, or whose Exec= begins with `vllm serve`.";

/** The `podman run` that a Quadlet is. */
function runOf(container: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const values = (key: string) => container.get(key) ?? [];
  const [image = ""] = values("Image").slice(-1);
  const [exec = ""] = values("Exec").slice(-1);
  const [entrypoint] = values("Entrypoint").slice(-1);
  return dockerRunOf({
    image,
    ...(entrypoint === undefined ? {} : { entrypoint: entrypointWords(entrypoint) }),
    command: unitWords(exec, new Map()),
    raw: values("PodmanArgs").flatMap((value) => unitWords(value, new Map())),
    options: [
      ...Object.entries(OPTIONS).flatMap(([key, option]) =>
        values(key).map((value) => [option, withSpecifiers(value)] as const),
      ),
      ...[...environmentOf(values("Environment"))].map(([name, value]) => envOption(name, value)),
      ...values("Secret").flatMap((value) => secretOption(value)),
    ],
  });
}

/** An entrypoint is a word, or a list in JSON. */
const entrypointWords = (value: string): string[] =>
  value.startsWith("[") ? plainWords(value.replace(/[[\],]/g, " ")) : plainWords(value);

/** A secret that becomes a variable of the container: `NAME,type=env,target=HF_TOKEN`. */
function secretOption(value: string) {
  const [name = "", ...more] = value.split(",");
  if (!more.includes("type=env")) return [];
  const target = more.find((each) => each.startsWith("target="))?.slice("target=".length);
  return [envOption(target ?? name, undefined)];
}

const unread = (container: ReadonlyMap<string, readonly string[]>): LeftOut[] =>
  unreadKeys(container.keys(), (key) => READ.has(key) || Object.hasOwn(OPTIONS, key), {
    named: (key) => `${key}=`,
  });
