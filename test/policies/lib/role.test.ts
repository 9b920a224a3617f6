import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { bridge } from "../../../components/services/bridge/service";
import { chatUi } from "../../../components/services/chat-ui/service";
import { declaredRole, packagesOf, roleByName, roleOf } from "../../../policies/lib/role";

describe("what an image serves by its name", () => {
  it.each([
    ["vllm/vllm-openai", "inference-server"],
    ["mirror.local:5000/VLLM", "inference-server"],
    ["registry:5000/own-vllm:v1", "inference-server"],
    ["own-vllm@sha256:abc", "inference-server"],
    ["own-VLLM:v1@sha256:abc", "inference-server"],
    ["own-vllm-tools", undefined],
    ["vllm/other", undefined],
    ["ghcr.io/vllm-project/guidellm:latest", undefined],
    ["own/vllm-router:1", undefined],
    ["eugr/spark-vllm-b12x:1", "inference-server"],
    ["nginx:1-vllm", undefined],
    ["BerriAI/LiteLLM", "bridge"],
    ["own/Open-WebUI", "chat-ui"],
    ["own/OLLAMA:1", "simple-server"],
    ["own/my-ollama", undefined],
  ])("%s: %s", (image, role) => expect(roleByName(image)).toBe(role));
});

describe("the packages whose release an image's tag names", () => {
  it.each([
    ["nginx", undefined, []],
    ["vllm/vllm-openai", undefined, ["vllm"]],
    ["own/x", "inference-server", ["vllm"]],
    ["own/x", "bridge", ["litellm"]],
    ["own/x", "chat-ui", ["open-webui"]],
    ["own/x", "simple-server", ["ollama"]],
    ["litellm", "chat-ui", ["open-webui", "litellm"]],
    ["litellm", "bridge", ["litellm"]],
  ] as const)("%s, declared as %s: %o", (image, role, packages) =>
    expect(packagesOf(image, role)).toEqual(packages),
  );
});

describe("what declares a container", () => {
  it.each([
    ["inference-server", "inference-server"],
    ["bridge", "bridge"],
    ["somebody's", undefined],
    ["", undefined],
  ])("said as %j is %s, whatever is above it", (role, found) => {
    const urn = `urn:pulumi:dgx::local-serving::${chatUi.component}$${TYPE.container}::x`;
    expect(declaredRole({ type: TYPE.container, name: "x", urn, role, props: {} })).toBe(found);
  });

  it.each([
    [[TYPE.machine, TYPE.inferenceServer], "inference-server"],
    [[TYPE.machine, bridge.component], "bridge"],
    [[TYPE.machine, chatUi.component], "chat-ui"],
    [[bridge.component, chatUi.component, TYPE.containerService], "chat-ui"],
    [[TYPE.machine], undefined],
  ])("%o: %s", (above, role) => {
    const urn = `urn:pulumi:dgx::local-serving::${[...above, TYPE.container].join("$")}::x`;
    expect(declaredRole({ type: TYPE.container, name: "x", urn, props: {} })).toBe(role);
  });
});

it("what declares a container counts before its image's name, which counts where nothing does", () => {
  const of = (role: string | undefined, image: unknown) =>
    roleOf({ type: TYPE.container, name: "x", props: { image }, ...(role && { role }) });
  expect(of("bridge", "own/ollama:1")).toBe("bridge");
  expect(of(undefined, "own/ollama:1")).toBe("simple-server");
  expect(of(undefined, undefined)).toBeUndefined();
});
