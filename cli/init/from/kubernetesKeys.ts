import { alike, copies, NOT_CARRIED } from "../notCarriedOver";
import type { Keys } from "./unread";

const PROCESSOR = "a server may take all of the machine's processor cores.";

/** What becomes of the keys of a container. */
export const OF_CONTAINER: Keys = {
  ...alike(true, "name image command args env envFrom", "ports volumeMounts stdin tty"),
  resources: {
    limits: { cpu: PROCESSOR, "*": true },
    requests: {
      cpu: PROCESSOR,
      memory: NOT_CARRIED.reserved,
      "*": true,
    },
    claims: NOT_CARRIED.allGpus,
  },
  imagePullPolicy: "the image is pinned, and `serving fetch` pulls it.",
  ...alike(NOT_CARRIED.health, "livenessProbe readinessProbe startupProbe"),
  lifecycle: "no container here runs other commands as it starts or ends.",
  securityContext: NOT_CARRIED.privileges,
  workingDir: NOT_CARRIED.ownFolders,
};

/** What becomes of the keys of a pod. */
const OF_POD: Keys = {
  ...alike(true, "containers volumes hostIPC hostNetwork"),
  terminationGracePeriodSeconds: true,
  initContainers:
    "nothing runs before the server but its start gate: `serving fetch` brings the model.",
  nodeSelector: NOT_CARRIED.thisMachine,
  nodeName: NOT_CARRIED.thisMachine,
  affinity: NOT_CARRIED.thisMachine,
  tolerations: NOT_CARRIED.thisMachine,
  topologySpreadConstraints: NOT_CARRIED.thisMachine,
  runtimeClassName: (value) =>
    value === "nvidia" ? undefined : "the container runs with Docker's runtime for NVIDIA's GPUs.",
  restartPolicy: (value) => (value === "Always" ? undefined : NOT_CARRIED.restarts),
  imagePullSecrets: "Docker has the registry's login of `docker login`.",
  securityContext: NOT_CARRIED.privileges,
};

/** What becomes of keys around a pod, wherever they stand. */
const AROUND: Keys = {
  ...alike(true, "apiVersion kind metadata status selector"),
  replicas: copies,
  parallelism: copies,
  minReplicas: copies,
  maxReplicas: copies,
  strategy: NOT_CARRIED.replaced,
  updateStrategy: NOT_CARRIED.replaced,
  volumeClaimTemplates: NOT_CARRIED.folders,
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

/** Why a resource without a server has no place in a stack file, by its kind. */
export const OF_RESOURCE: Readonly<Record<string, string>> = {
  Namespace: "the stack file names its machine and servers, and nothing around them.",
  ...alike(NOT_CARRIED.folders, "PersistentVolume PersistentVolumeClaim StorageClass"),
  ...alike(
    OTHER_COMPUTERS,
    "Ingress IngressRoute HTTPRoute",
    "Gateway VirtualService NetworkPolicy",
  ),
  HorizontalPodAutoscaler: NOT_CARRIED.oneContainer,
  ScaledObject: NOT_CARRIED.oneContainer,
  PodDisruptionBudget: NOT_CARRIED.oneContainer,
  Secret: NOT_CARRIED.secret,
  ConfigMap: "no server of this file has variables of it.",
};
