import { isRecord, type JsonObject, objectOr, objectsIn, textOr } from "../../../faults/json";
import { startsVllm, theLaunch } from "../command/launch";
import { companion } from "./companions";
import { dockerRunOf, envOption, scalarText, scalarTexts, variableIn } from "./container";
import { type FilePart, type PublishedKind, readOf } from "./kind";

/** Variables that images of vLLM and CUDA set themselves. */
const OF_IMAGE =
  /^(?:PATH|HOME|HOSTNAME|TERM|LANG|LC_ALL|TZ|SHLVL|PWD|DEBIAN_FRONTEND|LD_LIBRARY_PATH|LIBRARY_PATH|(?:CUDA|NV|NVIDIA|NVARCH|UV|PYTHON|PIP|CUDNN|NCCL|OPENMPI|OMPI|CUBLAS|CUFFT|CURAND|CUSPARSE|CUSOLVER|NPP|NVJPEG|TENSORRT|TRT|BUILD)(?:_\w*|\w*VERSION|PATH)?|\w+_VERSION|TORCH_CUDA_ARCH_LIST|VLLM_USAGE_SOURCE|VLLM_BUILD\w*|VLLM_IMAGE\w*|VLLM_ENABLE_CUDA_COMPATIBILITY)$/;

export const dockerInspect: PublishedKind = {
  kind: "an answer of `docker inspect`",
  looksLike: ({ keys }) => keys.has("Config") && (keys.has("HostConfig") || keys.has("Image")),
  servers(source) {
    const containers = source
      .documents()
      .flatMap((each) => (isRecord(each.Config) ? [each] : objectsIn(each.items)));
    const found = containers.map((container): FilePart => {
      const words = runOf(container);
      const name = `the container \`${nameOf(container)}\``;
      const image = textOr(objectOr(container.Config).Image);
      return startsVllm(words)
        ? { server: { name, called: nameOf(container), launch: () => launched(words) } }
        : { other: companion(name, image) };
    });
    return readOf(
      found,
      "Its container runs no vLLM: inspect the one that does (`docker ps` lists them).",
    );
  },
};

const nameOf = ({ Name: name }: JsonObject): string => textOr(name).replace(/^\//, "");

/** The `docker run` that made a container. */
function runOf(container: JsonObject): readonly string[] {
  const { Image: image, Cmd: cmd, Entrypoint: entrypoint, Env: env } = objectOr(container.Config);
  const host = objectOr(container.HostConfig);
  const { Name: restart } = objectOr(host.RestartPolicy);
  const given = Object.entries({
    name: nameOf(container),
    restart,
    ipc: host.IpcMode,
    runtime: host.Runtime,
    network: host.NetworkMode,
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
      ...scalarTexts(host.Binds).map((bind) => ["volume", bind] as const),
      ...portsOf(host.PortBindings),
      ...scalarTexts(env)
        .map(variableIn)
        .flatMap(([name, value]) => (OF_IMAGE.test(name) ? [] : [envOption(name, value)])),
    ],
  });
}

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

function launched(words: readonly string[]) {
  const { container, ...launch } = theLaunch(words);
  if (container === undefined) throw new Error("`docker run` makes a container");
  // Docker names the image's own entrypoint too.
  const leftOut = container.leftOut.filter(({ what }) => !what.startsWith("--entrypoint"));
  return { ...launch, container: { ...container, leftOut } };
}
