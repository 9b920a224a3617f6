import { describe, expect, it } from "vitest";
import { leftOutText } from "../../../cli/init/command/notes";
import { readPublished } from "../../../cli/init/from/published";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const MODEL = "openai/gpt-oss-20b";

/** What isn't carried over, by its name and line. */
function leftOutOf(text: string): string[] {
  const { leftOut, container } = readPublished({ text });
  const all = [...leftOut, ...(container?.leftOut ?? [])];
  return all.map(({ what, line }) => (line === undefined ? what : `${what} @${line}`));
}

describe("each key that nobody reads is named with its line", () => {
  it("of a compose file", () => {
    const text = `name: ai
services:
  llm:
    image: ${IMAGE}
    command: ${MODEL}
    cpuset: 0-9
    secrets: [hf]
    gpus: [{driver: nvidia, count: all}]
    deploy:
      replicas: 2
      restart_policy: {condition: any}
      resources:
        limits: {memory: 100g, cpus: "8"}
        reservations:
          devices: [{driver: nvidia, count: 1}]
    volumes: [models:/models, cache:/cache]
    privileged: false
    x-own: 1
volumes:
  models: {driver_opts: {type: none, o: bind, device: /data/models}}
  cache: {driver: rclone}
secrets: {hf: {file: hf.txt}}
include: [web.yaml]
`;
    expect(leftOutOf(text)).toEqual([
      "the service's `cpuset` @6",
      "the service's `secrets` @7",
      "the service's `deploy.replicas` @10",
      "the service's `deploy.restart_policy` @11",
      "the service's `deploy.resources.limits.cpus` @13",
      "the file's `volumes.cache.driver` @21",
      "the file's `secrets` @22",
      "the file's `include` @23",
      "--volume /data/models:/models",
      "--volume cache:/cache",
      "--memory 100g",
    ]);
  });

  it("of a unit", () => {
    const text = `[Unit]
After=network-online.target
[Service]
User=vllm
Restart=always
LimitMEMLOCK=infinity
LimitNOFILE=65536
TimeoutStopSec=
ExecStart=/v/vllm serve ${MODEL}
[Install]
WantedBy=multi-user.target
Alias=llm.service
`;
    expect(leftOutOf(text)).toEqual([
      "After= @2",
      "User= @4",
      "Restart= @5",
      "LimitNOFILE= @7",
      "Alias= @12",
    ]);
  });

  it("of a Quadlet", () => {
    const text = `[Container]
Image=${IMAGE}
Exec=${MODEL}
AutoUpdate=registry
Secret=cert,target=/etc/cert.pem
[Service]
Restart=always
[Unit]
Requires=net.service
`;
    expect(leftOutOf(text)).toEqual(["AutoUpdate= @4", "Restart= @7", "Requires= @9", "--secret"]);
  });

  it("of what Docker has of a container, without its own defaults", () => {
    const usual = { ShmSize: 67108864, PidsLimit: null, CpuShares: 0, PidMode: "" };
    const host = { ...usual, AutoRemove: true, NanoCpus: 8e9, Memory: 1024, GroupAdd: ["video"] };
    const config = {
      Image: IMAGE,
      Cmd: [MODEL],
      Labels: { maintainer: "x", tier: "small" },
      User: "9:9",
    };
    const text = JSON.stringify([{ Name: "/llm", Config: config, HostConfig: host }], null, 1);
    expect(leftOutOf(text)).toEqual([
      "the container's `AutoRemove` @20",
      "the container's `NanoCpus` @21",
      "the container's `GroupAdd` @23",
      "--user 9:9",
      "--memory 1024",
      "--label tier=small",
    ]);
  });

  it("of a recipe, also a default that its command doesn't ask for", () => {
    const text = `model: ${MODEL}
command: vllm serve {model} --port {port}
defaults: {port: 8001, max_model_len: 8192}
`;
    expect(readPublished({ text }).leftOut.map(({ what }) => what)).toEqual([
      "the recipe's default `max_model_len`",
    ]);
  });
});

describe("a manifest of Kubernetes", () => {
  const file = (container: string, pod = "", more = "") => `apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 1
  template:
    metadata: {labels: {app: llm}}
    spec:
      containers:
        - name: c
          image: ${IMAGE}
${container.replace(/^/gm, "          ")}
${pod.replace(/^/gm, "      ")}
${more}`;
  const RESOURCES = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: llm}
data: {MODEL: ${MODEL}, VLLM_LOGGING_LEVEL: DEBUG}
---
apiVersion: v1
kind: Service
metadata: {name: llm}
spec: {selector: {app: llm}, ports: [{port: 80, targetPort: http, nodePort: 30800}]}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: models}
spec: {claimRef: {name: claim}, local: {path: /data/models}}
`;

  it("has its values from the ConfigMap, Service and PersistentVolume of the same file", () => {
    const container = `args: [$(MODEL)]
envFrom: [{configMapRef: {name: llm}}]
ports: [{name: http, containerPort: 8000}]
volumeMounts: [{name: m, mountPath: /models, subPath: a}]`;
    const pod = "volumes: [{name: m, persistentVolumeClaim: {claimName: claim}}]";
    const read = readPublished({ text: file(container, pod, RESOURCES) });
    expect([read.words, [...(read.container?.ports ?? [])]]).toEqual([[MODEL], [[8000, 30800]]]);
    expect(read.container?.volumes.map(({ source, target }) => [source, target])).toEqual([
      ["/data/models/a", "/models"],
    ]);
    expect(read.variables.get("VLLM_LOGGING_LEVEL")).toBe("DEBUG");
    expect(read.leftOut.map(leftOutText)).toEqual([
      "Service `llm` (line 24): the server's own port on the machine takes its place (port 80 leads to http, and 30800 of the machine).",
      "PersistentVolume `models` (line 29): models lie in the machine's cache (`modelCache`), or in a folder of `mounts`.",
    ]);
  });

  it("says of a value that isn't there where it comes from", () => {
    const container = `args: [${MODEL}]
env:
  - {name: A, valueFrom: {configMapKeyRef: {name: other, key: a}}}
  - {name: B, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
  - {name: C, valueFrom: {secretKeyRef: {name: s, key: c}}}`;
    expect([...(readPublished({ text: file(container) }).origins ?? [])]).toEqual([
      ["A", "its value is the key `a` of the ConfigMap `other`, which isn't in this file"],
      ["B", "Kubernetes itself sets it (fieldRef)"],
      ["C", "its value is the key `c` of the Secret `s`"],
    ]);
  });

  it("has each other key of the container, the pod and the resource named", () => {
    const container = `args: [${MODEL}]
resources: {limits: {nvidia.com/gpu: 1, cpu: 8}}
readinessProbe: {httpGet: {path: /health}}
volumeMounts: [{name: m, mountPath: /models}, {name: shm, mountPath: /dev/shm}]`;
    const pod = `nodeSelector: {gpu: gb10}
tolerations: [{operator: Exists}]
affinity: {}
volumes: [{name: m, persistentVolumeClaim: {claimName: c}}, {name: shm, emptyDir: {medium: Memory}}]`;
    expect(leftOutOf(file(container, pod))).toEqual([
      "the container's `resources.limits.cpu` @13",
      "the container's `readinessProbe` @14",
      "the volume `m` at /models (persistentVolumeClaim `c`) @15",
      "`spec.template.spec.nodeSelector` of Deployment `llm` @16",
      "`spec.template.spec.tolerations` of Deployment `llm` @17",
      "--shm-size",
    ]);
  });

  it("of KServe's has its own fields and the model that it downloads", () => {
    const text = `apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: vllm}
spec:
  containers:
    - name: kserve-container
      image: ${IMAGE}
      args: ["--model=/mnt/models", "--served-model-name={{.Name}}"]
---
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: oss}
spec:
  predictor:
    minReplicas: 1
    maxReplicas: 3
    model:
      modelFormat: {name: vLLM}
      runtime: vllm
      storageUri: hf://${MODEL}
      args: [--max-model-len=8192]
`;
    const { words, image } = readPublished({ text });
    expect([image, words]).toEqual([
      IMAGE,
      [`--model=${MODEL}`, "--served-model-name=oss", "--max-model-len=8192"],
    ]);
    expect(leftOutOf(text)).toEqual(["`spec.predictor.maxReplicas` of InferenceService `oss` @16"]);
  });

  it("with a chat's template in a ConfigMap is none of Helm's", () => {
    const map = `---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata:\n  t.jinja: |\n    {% for m in messages %}{{ m.content }}{% endfor %}\n`;
    expect(readPublished({ text: file(`args: [${MODEL}]`, "", map) }).words).toEqual([MODEL]);
  });
});
