import { posix } from "node:path";
import { readAppliedPlan } from "../../components/evidence";
import { type MachinePlan, serversOn } from "../../components/plan";
import { oursOn, recordPathOf } from "../../components/preflight";
import { defined } from "../../faults/defined";
import { isRecord, jsonIn, textOr } from "../../faults/json";
import { readContainers } from "../../machines/docker/containers";
import { docker, otherAnswer } from "../../machines/docker/docker";
import { repositoryOf } from "../../machines/docker/manifest";
import { filesOf } from "../../machines/files";
import { typedOn } from "../stack/typed";

/** Something on a machine that nothing uses now. */
export interface Leftover {
  /**
   * `container`, `volume`, `network`, `image`; of a path what lies there: `model`, `file` or
   * `state`.
   */
  readonly kind: string;
  readonly name: string;
  /** What it is, or why it is left. */
  readonly what: string;
  /** As Docker or du says it. */
  readonly size?: string;
  /** The command that removes it. */
  readonly remove: string;
}

const SECONDS = 60;

/** What removes a thing of each kind, before its name. */
const REMOVES = {
  container: ["docker", "rm", "--force"],
  volume: ["docker", "volume", "rm"],
  network: ["docker", "network", "rm"],
  image: ["docker", "rmi", "--force"],
  path: ["rm", "-rf"],
} as const;

/**
 * What `down` or an earlier stack file left on a machine and nothing uses now, each with the
 * command that removes it. Sizes are as Docker or du says them. It only reads. Throws `Failed`
 * where no Docker answers.
 */
export async function leftovers(machine: MachinePlan): Promise<Leftover[]> {
  const { network, containers: planned, services, dockerHost } = machine;
  const files = filesOf(machine);
  const left = (kind: keyof typeof REMOVES, name: string, what: string, size?: string) => ({
    ...{
      kind,
      name,
      what,
      ...defined({ size }),
      remove: typedOn(machine, [...REMOVES[kind], name]),
    },
  });
  const ask = async (...words: string[]) =>
    (await docker(words, SECONDS, dockerHost)).split("\n").filter(Boolean);
  const isApplied = "plan" in (await readAppliedPlan(machine, files));
  const containers = await readContainers(dockerHost);
  const ours = await readContainers(dockerHost, oursOn(machine));

  const others = ours.filter(({ name }) => planned.every((each) => each.name !== name));
  const volumes = await ask("volume", "ls", "--quiet", "--filter", "dangling=true");
  const networks =
    ours.length > 0
      ? []
      : await ask("network", "ls", "--format", "{{.Name}}", "--filter", `name=^${network}$`);
  const repositories = new Set(planned.map(({ image }) => repositoryOf(image)));
  const list = ["images", "--digests", "--no-trunc", "--format", "{{json .}}"];
  const images = (await ask(...list)).map((line) => {
    const image = jsonIn(line);
    if (!isRecord(image)) throw otherAnswer(list, "JSON", line, dockerHost);
    return image;
  });
  const unused = images.filter(
    (image) =>
      repositories.has(textOr(image.Repository)) &&
      containers.every(({ imageId }) => imageId !== image.ID),
  );

  /** A path with its size; what root owns needs root. */
  const pathLeft = async (kind: string, path: string, what: string) => {
    const found = await files.state(path);
    if (typeof found === "string") return [];
    const { out } = await files.ask(["du", "-sh", "--", path], SECONDS);
    const sudo = found.uid === 0 && process.getuid?.() !== 0 ? ["sudo"] : [];
    const size = /^\S+/.exec(out)?.[0];
    return [
      {
        ...left("path", path, what, size),
        kind,
        remove: typedOn(machine, [...sudo, ...REMOVES.path, path]),
      },
    ];
  };
  const loaded = serversOn(machine)
    .filter(({ container }) => ours.some(({ name }) => name === container.name))
    .flatMap(({ hubModels }) => hubModels.map(({ id }) => `models--${id.replaceAll("/", "--")}`));
  const caches = [...new Set(serversOn(machine).map(({ modelCache }) => `${modelCache}/hub`))];
  const models = caches.map(async (hub) =>
    (await files.names(hub)).flatMap((name) =>
      name.startsWith("models--") && !loaded.includes(name) ? [`${hub}/${name}`] : [],
    ),
  );
  const written = [...machine.files, ...machine.secretFiles].filter((file) => !("here" in file));
  const state = posix.dirname(written.find(({ role }) => role === "applied-plan")?.path ?? "/");
  const paths = [
    ...(await Promise.all(models))
      .flat()
      .map((path) => pathLeft("model", path, "in the cache, which instance A and others may use")),
    ...written.map(({ path }) =>
      pathLeft("file", `${path}.edited`, "edited by somebody, and kept beside ours"),
    ),
    ...(isApplied
      ? []
      : written.map(({ path }) =>
          pathLeft("file", recordPathOf(path), "what was there before ours"),
        )),
    ...(isApplied ? [] : [pathLeft("state", state, "our state on the machine")]),
  ];
  const holds = new Map(
    services.flatMap(({ volumes }) => volumes.map((volume) => [volume.name, volume.holds])),
  );
  return [
    ...others.map(({ name, status }) =>
      left("container", name, `${status}; has our label and isn't in the stack file`),
    ),
    ...volumes
      .filter((name) => name.startsWith(`${network}-`))
      .map((name) => left("volume", name, holds.get(name) ?? "used by no container")),
    ...networks.map((name) => left("network", name, "no container of ours is on it")),
    ...unused.map(({ Repository, Tag, Digest, ID, Size }) => ({
      // By its id it goes with all of its names.
      ...left("image", textOr(ID), "no container is made from it", textOr(Size)),
      name: `${Repository}:${Tag}@${Digest}`.replace(/[:@]<none>/g, ""),
    })),
    ...(await Promise.all(paths)).flat(),
  ];
}
