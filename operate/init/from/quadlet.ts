import { defined } from "../../../faults/defined";
import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { runsInstead } from "./companions";
import { dockerRunOf, envOption, type Option, plainWords } from "./container";
import { withEnvFiles } from "./envFiles";
import type { PublishedKind } from "./kind";
import {
  environmentOf,
  hasSection,
  type Section,
  unitFile,
  unitWords,
  withSpecifiers,
} from "./unitFile";
import { AROUND, OF_SERVICE, unreadOf } from "./unitKeys";
import type { Keys } from "./unread";

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

/** What becomes of the other keys of the container. */
const OF_CONTAINER: Keys = {
  ...Object.fromEntries(Object.keys(OPTIONS).map((key) => [key, true])),
  ...{ Image: true, Exec: true, Entrypoint: true, Environment: true },
  ...{ PodmanArgs: true, GlobalArgs: true, Secret: true },
  AutoUpdate: "the image is pinned: `serving pin --newer` lists newer ones.",
  ...Object.fromEntries(
    ["Interval", "Timeout", "StartPeriod", "Retries", "OnFailure"].map((key) => [
      `Health${key}`,
      "the health check asks for /health, and `healthcheck` sets its times.",
    ]),
  ),
  Notify: "clients wait for none: `serving status --wait` follows a start.",
  StopTimeout: "it is `stopGraceSeconds`.",
  LogDriver: "Docker keeps the log, and `serving logs` reads it.",
  Pod: "the container is one of its own, and its port is published.",
  EnvironmentHost: "a server gets the variables of `environment` alone.",
};

export const quadlet: PublishedKind = {
  kind: "a Podman Quadlet",
  looksLike: ({ text }) => hasSection(text, "Container"),
  servers(source) {
    const unit = unitFile(source.text);
    const container: Section = unit.sections.get("Container") ?? new Map();
    const words = withEnvFiles(runOf(container), source);
    if (!startsVllm(words))
      return { servers: [], none: `Its container ${runsInstead(...programsOf(words))} ${INSTEAD}` };
    const launch = () => theLaunch(words);
    const keys = { ...AROUND, Service: OF_SERVICE, Container: OF_CONTAINER };
    const line = unit.lineAt("Container", "Image");
    return {
      servers: [{ name: "its container", launch, ...defined({ line }) }],
      leftOut: unreadOf(unit, keys),
    };
  },
};

const INSTEAD = "Give one whose Image= is one of vLLM, or whose Exec= begins with `vllm serve`.";

/** The `podman run` that a Quadlet is. */
function runOf(container: Section): readonly string[] {
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
function secretOption(value: string): Option[] {
  const [name = "", ...more] = value.split(",");
  if (!more.includes("type=env")) return [["secret", value]];
  const target = more.find((each) => each.startsWith("target="))?.slice("target=".length);
  return [envOption(target ?? name, undefined)];
}
