import { programsOf, startsVllm, theLaunch } from "../command/launch";
import { asWritten } from "../command/words";
import { alike, NOT_CARRIED } from "../notCarriedOver";
import { companion, runsInstead } from "./companions";
import { dockerRunOf, envOption, plainWords, type RunOption } from "./container";
import { withEnvFiles } from "./envFiles";
import { type FilePart, type PublishedKind, readOf } from "./kind";
import type { Source } from "./source";
import {
  environmentOf,
  type FoundUnit,
  hasSection,
  type UnitFile,
  type UnitSection,
  unitsIn,
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
  StopTimeout: "stop-timeout",
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
  ...alike(
    true,
    ...Object.keys(OPTIONS),
    "Image Exec Entrypoint Environment",
    "PodmanArgs GlobalArgs Secret",
  ),
  AutoUpdate: "the image is pinned: `serving pin --newer` lists newer ones.",
  ...alike(
    NOT_CARRIED.health,
    "HealthInterval HealthTimeout HealthStartPeriod HealthRetries HealthOnFailure",
  ),
  Notify: "clients wait for none: `serving status --wait` follows a start.",
  LogDriver: NOT_CARRIED.logs,
  Pod: "the container is one of its own, and its port is published.",
  EnvironmentHost: "a server gets the variables of `environment` alone.",
};

export const quadlet: PublishedKind = {
  kind: "a Podman Quadlet",
  looksLike: ({ text }) => hasSection(text, "Container"),
  servers(source) {
    const units = unitsIn(source.text);
    const isOnly = units.length === 1;
    const found = units.map((each) => partOf(each, source, isOnly));
    const [{ unit }] = units;
    const none = isOnly
      ? `Its container ${runsInstead(...programsOf(wordsOf(unit, source)))}`
      : "None of its containers runs vLLM.";
    return readOf(found.flat(), `${none} ${INSTEAD}`);
  },
};

/** What one unit of a text starts; a text of one file alone says the rest itself. */
function partOf(found: FoundUnit, source: Source, isOnly: boolean): readonly FilePart[] {
  const { unit, line } = found;
  const container = unit.sections.get("Container");
  const called = container?.get("ContainerName")?.at(-1) ?? found.called ?? "";
  const name = isOnly
    ? "its container"
    : `the ${container ? "container" : "unit"} ${called === "" ? `of line ${line}` : `\`${asWritten(called)}\``}`;
  if (container === undefined) return [{ other: { what: name, why: NO_CONTAINER } }];
  const words = wordsOf(unit, source);
  if (!startsVllm(words)) return isOnly ? [] : [{ other: companion(name, ...programsOf(words)) }];
  const leftOut = unreadOf(unit, { ...AROUND, Service: OF_SERVICE, Container: OF_CONTAINER });
  const launch = () => {
    const start = theLaunch(words);
    return { ...start, leftOut: [...start.leftOut, ...leftOut] };
  };
  return [{ server: { name, called, launch, line } }];
}

const NO_CONTAINER = "it is no container: give it as a file of its own.";

const wordsOf = ({ sections }: UnitFile, source: Source): readonly string[] =>
  withEnvFiles(runOf(sections.get("Container") ?? new Map()), source);

const INSTEAD = "Give one whose Image= is one of vLLM, or whose Exec= begins with `vllm serve`.";

/** The `podman run` that a Quadlet is. */
function runOf(container: UnitSection): readonly string[] {
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
function secretOption(value: string): RunOption[] {
  const [name = "", ...more] = value.split(",");
  if (!more.includes("type=env")) return [["secret", value]];
  const target = more.find((each) => each.startsWith("target="))?.slice("target=".length);
  return [envOption(target ?? name, undefined)];
}
