import {
  isRecord,
  type JsonObject,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { startsVllm, theLaunch } from "../command/launch";
import type { LeftOut } from "../command/words";
import { alike, NOT_CARRIED } from "../notCarriedOver";
import { companion } from "./companions";
import {
  dockerRunOf,
  envOption,
  type RunOption,
  scalarText,
  scalarTexts,
  variableIn,
} from "./container";
import { type FilePart, type PublishedKind, readOf } from "./kind";
import type { Source } from "./source";
import { type Keys, unreadIn } from "./unread";

/** Variables that images of vLLM and CUDA set themselves; of a program's own settings none. */
const OF_IMAGE = new RegExp(
  `^(?:${[
    "PATH|HOME|HOSTNAME|TERM|LANG|LC_ALL|TZ|SHLVL|PWD|DEBIAN_FRONTEND|LD_LIBRARY_PATH|LIBRARY_PATH",
    "CUDA_(?:HOME|PATH|ROOT|CACHE_DISABLE|ARCH_LIST|COMPONENT_LIST|MODULE_LOADING)|CUDA\\w*VERSION",
    "NV_\\w*|NVARCH|NVIDIA_(?!VISIBLE_DEVICES)\\w*|UV_\\w*|PIP_\\w*|PYTHON(?:PATH|IOENCODING|\\w*VERSION)",
    "(?:CUDNN|OPENMPI|OMPI|CUBLAS|CUFFT|CURAND|CUSPARSE|CUSOLVER|NPP|NVJPEG|TENSORRT|TRT)_(?:PATH|HOME)",
    "BUILD(?:_\\w*)?|\\w+_VERSION|TORCH_CUDA_ARCH_LIST",
    "VLLM_USAGE_SOURCE|VLLM_BUILD\\w*|VLLM_IMAGE\\w*|VLLM_ENABLE_CUDA_COMPATIBILITY",
  ].join("|")})$`,
);

const isUsual = (name: string, value: string | undefined): boolean =>
  name === "NVIDIA_VISIBLE_DEVICES" && value === "all";

export const dockerInspect: PublishedKind = {
  kind: "an answer of `docker inspect`",
  looksLike: ({ keys }) => keys.has("Config") && (keys.has("HostConfig") || keys.has("Image")),
  servers(source) {
    const containers = source
      .documents()
      .flatMap((each) =>
        isRecord(each.Config)
          ? [{ container: each, at: [] }]
          : objectsIn(each.items).map((container, index) => ({ container, at: [index] })),
      );
    const found = containers.map(({ container, at }): FilePart => {
      const words = runOf(container);
      const name = `the container \`${nameOf(container)}\``;
      const image = textOr(objectOr(container.Config).Image);
      return startsVllm(words)
        ? {
            server: {
              name,
              called: nameOf(container),
              line: source.lineAt([...at, "Config"]),
              launch: () => launched(words, unread(container, at, source)),
            },
          }
        : { other: companion(name, image) };
    });
    return readOf(
      found,
      "Its container runs no vLLM: inspect the one that does (`docker ps` lists them).",
    );
  },
};

const nameOf = ({ Name: name }: JsonObject): string => textOr(name).replace(/^\//, "");

/** The size of shared memory that Docker gives a container where nobody chose one. */
const USUAL_SHARED = 64 * 1024 * 1024;

const said = (value: unknown, why: string): string | undefined =>
  value === 0 || value === -1 || value === false || value === "" ? undefined : why;

/** What becomes of what Docker has of a container: it names each of its own defaults, too. */
const OF_HOST: Keys = {
  ...alike(
    true,
    "RestartPolicy IpcMode Runtime NetworkMode Privileged",
    "DeviceRequests Binds Mounts PortBindings Devices",
    "Memory ShmSize Ulimits ExtraHosts CapAdd",
  ),
  // What Docker or the image sets without being asked.
  ...alike(
    true,
    "ConsoleSize CgroupnsMode MaskedPaths ReadonlyPaths",
    "ContainerIDFile CgroupParent Cgroup Isolation",
    "VolumeDriver Annotations CgroupManager CgroupMode",
  ),
  AutoRemove: (value) => said(value, NOT_CARRIED.stays),
  LogConfig: (value) =>
    Object.keys(objectOr(objectOr(value).Config)).length > 0 ? NOT_CARRIED.log : undefined,
  MemorySwap: (value) => said(value, "Docker's limit doesn't count GPU memory."),
  MemoryReservation: (value) => said(value, NOT_CARRIED.reserved),
  "*": (value) => said(value, NOT_CARRIED.setting),
};

const unread = (container: JsonObject, at: readonly number[], { lineAt }: Source): LeftOut[] =>
  unreadIn(container.HostConfig, OF_HOST, {
    named: (key) => `the container's \`${key}\``,
    lineAt: (path) => lineAt([...at, "HostConfig", ...path]),
  });

/** The `docker run` that made a container. */
function runOf(container: JsonObject): readonly string[] {
  const { Image: image, Cmd: cmd, Entrypoint: entrypoint, Env: env } = objectOr(container.Config);
  const { User: user, StopTimeout: stopTimeout } = objectOr(container.Config);
  const host = objectOr(container.HostConfig);
  const { Name: restart } = objectOr(host.RestartPolicy);
  const given = Object.entries({
    name: nameOf(container),
    restart,
    ipc: host.IpcMode,
    runtime: host.Runtime,
    network: host.NetworkMode,
    user,
    "stop-timeout": stopTimeout,
  }).flatMap(([name, value]) => {
    const text = scalarText(value) ?? "";
    return text === "" || USUAL.has(text) ? [] : [[name, text] as const];
  });
  return dockerRunOf({
    image: textOr(image),
    ...(Array.isArray(entrypoint) ? { entrypoint: scalarTexts(entrypoint) } : {}),
    command: scalarTexts(cmd),
    options: [
      ...given,
      ...(host.Privileged === true ? [["privileged", true] as const] : []),
      ...objectsIn(host.DeviceRequests).map(
        ({ Count: count, DeviceIDs: ids }) =>
          [
            "gpus",
            count === -1 || count === 1 ? "all" : `device=${scalarTexts(ids).join(",")}`,
          ] as const,
      ),
      ...ofHost(host),
      ...labelsOf(container),
      ...scalarTexts(host.Binds).map((bind) => ["volume", bind] as const),
      ...portsOf(host.PortBindings),
      ...scalarTexts(env)
        .map(variableIn)
        .flatMap(([name, value]) =>
          OF_IMAGE.test(name) || isUsual(name, value) ? [] : [envOption(name, value)],
        ),
    ],
  });
}

/** What else a container was given of its machine. */
function ofHost(host: JsonObject): RunOption[] {
  const { Memory: memory, ShmSize: shared } = host;
  const isShared = typeof shared === "number" && shared !== 0 && shared !== USUAL_SHARED;
  return [
    ...(typeof memory === "number" && memory !== 0 ? [["memory", String(memory)] as const] : []),
    ...(isShared ? [["shm-size", String(shared)] as const] : []),
    ...objectsIn(host.Devices).map(
      ({ PathOnHost: path }) => ["device", scalarText(path) ?? ""] as const,
    ),
    ...objectsIn(host.Mounts).map(
      ({ Type: type, Source: source, Target: target }) =>
        [
          "mount",
          `type=${textOr(type)},source=${textOr(source)},target=${textOr(target)}`,
        ] as const,
    ),
    ...objectsIn(host.Ulimits).map(
      ({ Name: name, Soft: soft, Hard: hard }) =>
        ["ulimit", `${textOr(name)}=${scalarText(soft)}:${scalarText(hard)}`] as const,
    ),
    ...scalarTexts(host.ExtraHosts).map((each) => ["add-host", each] as const),
    ...scalarTexts(host.CapAdd).map((each) => ["cap-add", each] as const),
  ];
}

/** Labels that an image brings, or that compose gives its containers. */
const OF_OTHERS =
  /^(?:org\.opencontainers|com\.(?:nvidia|docker)|io\.(?:podman|buildah)|desktop\.docker)\.|^maintainer$/;

const labelsOf = ({ Config: config }: JsonObject): RunOption[] =>
  Object.entries(objectOr(objectOr(config).Labels)).flatMap(([name, value]) =>
    OF_OTHERS.test(name) ? [] : [["label", `${name}=${scalarText(value) ?? ""}`] as const],
  );

/** What Docker has where nobody chose anything. */
const USUAL = new Set(["no", "private", "default", "bridge", "runc"]);

function portsOf(bindings: unknown) {
  return Object.entries(objectOr(bindings)).flatMap(([inside, places]) =>
    objectsIn(places).map(({ HostIp: address, HostPort: port }) => {
      const at = [address, port, inside].map((part) => scalarText(part) ?? "").filter(Boolean);
      return ["publish", at.join(":")] as const;
    }),
  );
}

function launched(words: readonly string[], unread: readonly LeftOut[]) {
  const { container, ...launch } = theLaunch(words);
  if (container === undefined) throw new Error("`docker run` makes a container");
  // Docker names the image's own entrypoint too.
  const leftOut = container.leftOut.filter(({ what }) => !what.startsWith("--entrypoint"));
  return {
    ...launch,
    leftOut: [...launch.leftOut, ...unread],
    container: { ...container, leftOut },
  };
}
