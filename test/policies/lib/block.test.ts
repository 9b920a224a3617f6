import { describe, expect, it } from "vitest";
import { LABEL } from "../../../components/planned/container";
import { TYPE } from "../../../components/planned/type";
import { blockOf } from "../../../policies/lib/block";

const container = (image: string, labels: Record<string, string>) =>
  blockOf({
    type: TYPE.container,
    name: "x",
    props: {
      image,
      labels: Object.entries(labels).map(([label, value]) => ({ label, value })),
    },
  });

describe("the block of the stack file that declares a container", () => {
  it.each([
    [
      "its server's",
      "own/x:1",
      { [LABEL.machine]: "dgx", [LABEL.server]: "b" },
      "inferenceServers.b",
    ],
    ["its service's", "ghcr.io/berriai/litellm:v1", { [LABEL.machine]: "dgx" }, "bridge"],
  ])("is %s", (_, image, labels, path) => {
    expect(container(image, labels)).toEqual(["machines", "dgx", ...path.split(".")]);
  });

  it("is none where it is no service's, or of no machine", () => {
    expect(container("own/x:1", { [LABEL.machine]: "dgx" })).toBeUndefined();
    expect(container("ghcr.io/berriai/litellm:v1", {})).toBeUndefined();
  });
});

describe("the block of the stack file that declares another resource", () => {
  const servers = [{ name: "vllm-b", key: "b" }, { name: "vllm-c" }];
  const machine = { type: TYPE.machine, name: "dgx", props: { servers } };

  it("is a machine's, or that of one of its servers by its container's name", () => {
    expect(blockOf(machine)).toEqual(["machines", "dgx"]);
    expect(blockOf(machine, "vllm-b")).toEqual(["machines", "dgx", "inferenceServers", "b"]);
    expect(blockOf(machine, "vllm-c")).toBeUndefined();
    expect(blockOf(machine, "vllm-x")).toBeUndefined();
  });

  it("is llama-swap's, where its machine is known", () => {
    const swap = (on: unknown) =>
      blockOf({ type: TYPE.onDemand, name: "x", props: { machine: on } });
    expect(swap("dgx")).toEqual(["machines", "dgx", "onDemand"]);
    expect(swap(undefined)).toBeUndefined();
  });
});
