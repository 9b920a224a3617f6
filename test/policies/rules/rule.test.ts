import { expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { advice, stackJudge, violation } from "../../../policies/rules/rule";
import { declared, IMAGE, said, server, UNKNOWN_LIST } from "../declared";

it("a finding has a change only where one mends it, and never a key in its message", () => {
  const resource = server();
  const change = { setting: "port", value: 8002 };
  expect(violation(resource, "no")).toStrictEqual({ resource, kind: "violation", message: "no" });
  expect(advice(resource, "no", change)).toStrictEqual({
    resource,
    kind: "advice",
    message: "no",
    change,
  });
  expect(violation(resource, "has hf_s3cr3tValue1").message).toBe("has <redacted>");
});

it("a rule of machines that finds nothing has an empty list", () => {
  const rule = {
    name: "x",
    description: "x",
    level: "mandatory",
    judgeMachine: () => undefined,
  } as const;
  expect(stackJudge(rule)?.([server()])).toEqual([]);
});

const OLLAMA = "ollama/ollama:latest";

it.each<[string, string, Record<string, unknown>]>([
  ["moving-tag", TYPE.container, { image: OLLAMA }],
  ["host-ports", TYPE.container, { image: IMAGE, ports: UNKNOWN_LIST }],
  [
    "adapter-names",
    TYPE.container,
    { image: IMAGE, command: ["m", "--lora-modules", "org/tone=/a"] },
  ],
  ["server-mounts", TYPE.container, { image: IMAGE, mounts: UNKNOWN_LIST }],
  ["lan-exposure", TYPE.container, { image: OLLAMA, ports: [{ internal: 1, external: 1 }] }],
  ["secret-values", TYPE.container, { envs: ["HF_TOKEN=hf_s3cr3tvalue"] }],
  ["tool-calling", TYPE.container, { image: IMAGE, command: ["m", "--enable-auto-tool-choice"] }],
  [
    "transformers-range",
    TYPE.imageRecord,
    { versions: { vllm: "0.33.0", transformers: "5.21.0" } },
  ],
  [
    "server-starts",
    TYPE.machine,
    { servers: [{ name: "b", image: IMAGE }], memory: { largestUtilization: { b: {} } } },
  ],
])("%s judges a resource of the type %s, and none of another", (rule, type, props) => {
  expect(said(rule, [declared(type, "x", props)])).toHaveLength(1);
  expect(said(rule, [declared("example:index:Thing", "x", props)])).toEqual([]);
});
