import { alike, type Keys } from "./unread";

const HEALTH = "the health check asks for /health, and `healthcheck` sets its times.";
const THIS_MACHINE = "the server is on the machine that the stack file is of.";
const PRIVILEGES = "no container here has the machine's privileges.";
const PROCESSOR = "a server may take all of the machine's processor cores.";
const ONE_CONTAINER =
  "a server is one container: each further one is a server of its own, with its memory.";

/** A number of copies that is as it is here. */
const copies = (value: unknown): string | undefined => (value === 1 ? undefined : ONE_CONTAINER);

/** What becomes of the keys of a container. */
export const OF_CONTAINER: Keys = {
  ...alike(true, "name image command args env envFrom", "ports volumeMounts stdin tty"),
  resources: {
    limits: { cpu: PROCESSOR, "*": true },
    requests: {
      cpu: PROCESSOR,
      memory: "memory is reserved by the share: `gpuMemoryUtilization`.",
      "*": true,
    },
    claims: "the container gets all GPUs of the machine.",
  },
  imagePullPolicy: "the image is pinned, and `serving fetch` pulls it.",
  ...alike(HEALTH, "livenessProbe readinessProbe startupProbe"),
  lifecycle: "no container here runs other commands as it starts or ends.",
  securityContext: PRIVILEGES,
  workingDir: "a server's container has folders of its own.",
};

/** What becomes of the keys of a pod. */
const OF_POD: Keys = {
  ...alike(true, "containers volumes hostIPC hostNetwork"),
  terminationGracePeriodSeconds: true,
  initContainers:
    "nothing runs before the server but its start gate: `serving fetch` brings the model.",
  nodeSelector: THIS_MACHINE,
  nodeName: THIS_MACHINE,
  affinity: THIS_MACHINE,
  tolerations: THIS_MACHINE,
  topologySpreadConstraints: THIS_MACHINE,
  runtimeClassName: (value) =>
    value === "nvidia" ? undefined : "the container runs with Docker's runtime for NVIDIA's GPUs.",
  restartPolicy: (value) => (value === "Always" ? undefined : "it is `unless-stopped` here."),
  imagePullSecrets: "Docker has the registry's login of `docker login`.",
  securityContext: PRIVILEGES,
};

/** What becomes of keys around a pod, wherever they stand. */
const AROUND: Keys = {
  ...alike(true, "apiVersion kind metadata status selector"),
  replicas: copies,
  parallelism: copies,
  minReplicas: copies,
  maxReplicas: copies,
  strategy: "`serving up` stops the old container before it starts the new one.",
  updateStrategy: "`serving up` stops the old container before it starts the new one.",
  volumeClaimTemplates:
    "models lie in the machine's cache (`modelCache`), or in a folder of `mounts`.",
};

/** What becomes of the keys of a resource with a pod at a place in it. */
export const around = (path: readonly string[], inside: Keys = OF_POD): Keys => {
  const [step, ...rest] = path;
  return step === undefined ? inside : { ...AROUND, [step]: around(rest, inside) };
};

/** What becomes of the keys of a runtime of KServe's. */
export const OF_RUNTIME: Keys = {
  ...AROUND,
  spec: {
    ...OF_POD,
    ...alike(true, "supportedModelFormats annotations labels multiModel protocolVersions"),
  },
};

const OTHER_COMPUTERS = "other computers reach the bridge, with a key.";
const FOLDERS = "models lie in the machine's cache (`modelCache`), or in a folder of `mounts`.";

/** Why a resource without a server has no place in a stack file, by its kind. */
export const OF_RESOURCE: Readonly<Record<string, string>> = {
  Namespace: "the stack file names its machine and servers, and nothing around them.",
  ...alike(FOLDERS, "PersistentVolume PersistentVolumeClaim StorageClass"),
  ...alike(
    OTHER_COMPUTERS,
    "Ingress IngressRoute HTTPRoute",
    "Gateway VirtualService NetworkPolicy",
  ),
  HorizontalPodAutoscaler: ONE_CONTAINER,
  ScaledObject: ONE_CONTAINER,
  PodDisruptionBudget: ONE_CONTAINER,
  Secret: "no secret is taken over: `huggingFaceTokenVariable` names the variable of your shell.",
  ConfigMap: "no server of this file has variables of it.",
};
