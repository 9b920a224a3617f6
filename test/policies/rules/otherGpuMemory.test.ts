import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { stack } from "../../fixtures/machine";
import { container, said, server, UNKNOWN_LIST, UNKNOWN_TEXT } from "../declared";

const CHAT_UI = { image: `ghcr.io/open-webui/open-webui:v0.11.3@sha256:${"4".repeat(64)}` };

/** What the rule says of a container of the operator's own beside a machine of ours. */
function beside(props: Record<string, unknown>, machine: Record<string, unknown> = {}) {
  const planned = plan(stack(machine), { home: "/home/me" });
  const own = container("comfy", { image: "example/comfyui:1", ...props }, { provider: "dgx" });
  return said("other-gpu-memory", [...declaredResources(planned), own]);
}

const REFUSED =
  "refused: comfy has GPUs on dgx, and its memory isn't counted. It is no inference server: measure it and declare `otherGpuMemoryGiB` of the machine, or start the container without GPUs.";

describe("other-gpu-memory", () => {
  it.each([
    ["gpus", { gpus: "all" }],
    ["a device request", { deviceRequests: [{ driver: "nvidia", count: 1 }] }],
    ["the runtime", { runtime: "nvidia" }],
    ["a device", { devices: [{ hostPath: "/dev/nvidia0" }] }],
  ])("refuses a container that is given GPUs by %s", (_, props) => {
    expect(beside(props)).toEqual([REFUSED]);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["has none", {}, {}],
    ["isn't known to have them", { gpus: UNKNOWN_TEXT }, {}],
    ["has requests that aren't known", { deviceRequests: UNKNOWN_LIST }, {}],
    ["has a runtime that isn't known", { runtime: UNKNOWN_TEXT }, {}],
    ["is counted", { gpus: "all" }, { otherGpuMemoryGiB: 6 }],
    ["is an inference server", { ...server().props, name: "comfy" }, {}],
    [
      "is the chat UI with Ollama inside",
      { gpus: "all", ...CHAT_UI },
      { chatUi: CHAT_UI, simpleServer: { mode: "integrated" } },
    ],
  ])("passes one that %s", (_, props, machine) => {
    expect(beside(props, machine)).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "another container beside Ollama inside the chat UI",
      {},
      { chatUi: CHAT_UI, simpleServer: { mode: "integrated" } },
    ],
    ["a chat UI without Ollama inside", CHAT_UI, { chatUi: CHAT_UI }],
  ])("refuses %s", (_, props, machine) => {
    expect(beside({ gpus: "all", ...props }, machine)).toEqual([REFUSED]);
  });

  it("judges a program's own machine component, and nothing where no machine is declared", () => {
    const own = container("comfy", { image: "example/comfyui:1", gpus: "all" });
    const machine = (props: object) => ({
      type: TYPE.machine,
      name: "dgx",
      props: { hostInstance: "none", ...props },
    });
    expect(said("other-gpu-memory", [machine({}), own])).toEqual([REFUSED]);
    expect(said("other-gpu-memory", [machine({ otherGpuMemoryGiB: 0 }), own])).toEqual([REFUSED]);
    expect(said("other-gpu-memory", [machine({ otherGpuMemoryGiB: 0.5 }), own])).toEqual([]);
    const unknown = container("comfy", {
      image: UNKNOWN_TEXT,
      entrypoints: ["comfy"],
      gpus: "all",
    });
    expect(
      said("other-gpu-memory", [machine({ simpleServer: { mode: "integrated" } }), unknown]),
    ).toEqual([REFUSED]);
    expect(said("other-gpu-memory", [own])).toEqual([]);
  });

  it("is a line of the ledger outside the servers' 0.90", () => {
    const ledger = (machine: object) =>
      plan(stack({ ...machine }), { home: "/home/me" }).machines[0]?.ledger;
    expect(ledger({ otherGpuMemoryGiB: 6 })?.lines).toContainEqual({
      name: "other GPU containers",
      gib: 6,
      basis: "setting",
      source: "otherGpuMemoryGiB",
    });
    expect(ledger({ otherGpuMemoryGiB: 6 })?.aggregateUtilization).toBe(0.9);
    expect((ledger({ otherGpuMemoryGiB: 6 })?.sumGiB ?? 0) - (ledger({})?.sumGiB ?? 0)).toBeCloseTo(
      6,
      6,
    );
  });
});
