import { describe, expect, it } from "vitest";
import { named, namedOn } from "../../../cli/stack/named";
import { plan } from "../../../components/plan/plan";
import { serverInput, stack } from "../../fixtures/machine";
import { ranks } from "../../fixtures/ranks";

const IMAGE = `image:v1@sha256:${"0".repeat(64)}`;
const home = "/home/me";
const one = plan(
  stack({ bridge: { image: IMAGE }, chatUi: { image: IMAGE }, simpleServer: { mode: "host" } }),
  {
    home,
  },
).machines;
const two = plan(ranks(), { home }).machines;

const found = (machines: typeof one, name: string) => {
  const { machine, key, container } = named(machines, name);
  return [machine.name, key, container?.name];
};

describe("a name of something on a machine", () => {
  it.each([
    ["b", ["dgx", "b", "vllm-model-8001"]],
    ["dgx.b", ["dgx", "b", "vllm-model-8001"]],
    ["vllm-model-8001", ["dgx", "b", "vllm-model-8001"]],
    ["bridge", ["dgx", "bridge", "litellm-8787"]],
    ["chatUi", ["dgx", "chat-ui", "open-webui-8080"]],
    ["chat-ui", ["dgx", "chat-ui", "open-webui-8080"]],
    ["open-webui-8080", ["dgx", "chat-ui", "open-webui-8080"]],
    ["simpleServer", ["dgx", "simple-server", undefined]],
    ["ollama", ["dgx", "simple-server", undefined]],
    ["instanceA", ["dgx", "instance-a", undefined]],
    ["a", ["dgx", "instance-a", undefined]],
  ])("is found: %s", (name, thing) => {
    expect(found(one, name)).toEqual(thing);
  });

  it("names the head of a server over several machines, and a worker by its container", () => {
    expect(found(two, "b")).toEqual(["dgx1", "b", "vllm-model-8001"]);
    expect(found(two, "dgx1.b")).toEqual(["dgx1", "b", "vllm-model-8001"]);
    expect(found(two, "vllm-model-8001-rank1")).toEqual([
      "dgx2",
      "dgx1.b",
      "vllm-model-8001-rank1",
    ]);
  });

  it("names Ollama inside the chat UI by that container", () => {
    const { machines } = plan(
      stack({ chatUi: { image: IMAGE }, simpleServer: { mode: "integrated" } }),
      { home },
    );
    expect(found(machines, "ollama")).toEqual(["dgx", "simple-server", "open-webui-8080"]);
    expect(found(machines, "open-webui-8080")).toEqual(["dgx", "chat-ui", "open-webui-8080"]);
  });

  it("prefers a key of the stack file to a word for something else", () => {
    const { machines } = plan(
      stack({ inferenceServers: { ollama: serverInput(), a: serverInput({ port: 8002 }) } }),
      {
        home,
      },
    );
    expect(found(machines, "ollama")).toEqual(["dgx", "ollama", "vllm-model-8001"]);
    expect(found(machines, "a")).toEqual(["dgx", "a", "vllm-model-8002"]);
  });

  it("is refused with what there is", () => {
    expect(() => named(one, "brigde")).toThrow(
      "Nothing in the stack file is called brigde. Did you mean `bridge`? There is: b, bridge, chat-ui, simple-server, instance-a.",
    );
    expect(() =>
      named(plan(stack({ instanceA: "none", inferenceServers: {} }), { home }).machines, "b"),
    ).toThrow("Nothing in the stack file is called b. There is: nothing.");
    expect(() => named(two, "x")).toThrow("There is: dgx1.b, dgx2.vllm-model-8001-rank1.");
  });

  it("is refused where two machines have it, with names that are taken", () => {
    const { dgx } = stack().machines;
    if (dgx === undefined) throw new Error("no machine");
    const { machines } = plan({ machines: { dgx1: dgx, dgx2: dgx } }, { home });
    expect(() => named(machines, "b")).toThrow("b is on several machines: write dgx1.b or dgx2.b.");
    expect(() => named(machines, "vllm-model-8001")).toThrow("write dgx1.b or dgx2.b.");
    expect(found(machines, "dgx2.b")).toEqual(["dgx2", "b", "vllm-model-8001"]);
    expect(machines.map(namedOn).flatMap((all) => all.map(({ key }) => key))).toEqual([
      "b",
      "instance-a",
      "b",
      "instance-a",
    ]);
  });
});
