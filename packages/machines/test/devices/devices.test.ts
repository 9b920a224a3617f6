import { describe, expect, it } from "vitest";
import {
  DEVICE_IDS,
  DEVICES,
  deviceOf,
  EARLIER_DEVICES,
  sizedDevice,
  suggestedModel,
  totalOfAnother,
  whyNoServer,
} from "../../devices/devices";
import list from "../../devices/devices.json";
import { gpuProcessesIn, ownerIn } from "../../devices/gpuProcesses";
import { gpusOfSmi, gpusOnPci } from "../../devices/hardware";
import { type Hardware, hasNvidia, recognise } from "../../devices/recognise";
import { devicesSchema } from "../../devices/schema";

const hardware = (shown: Partial<Hardware>): Hardware => ({
  gpus: [],
  tree: "",
  dmi: "",
  pci: [],
  ...shown,
});

describe("the list of devices", () => {
  it("fits its schema, with each id once and each figure's source", () => {
    expect(devicesSchema.parse(list).devices).toEqual(DEVICES);
    expect(new Set(DEVICE_IDS).size).toBe(DEVICE_IDS.length);
    expect(DEVICES.filter(({ planned }) => planned === "seen").map(({ id }) => id)).toEqual([
      "gb10",
    ]);
    expect(deviceOf("gb10")?.siblings).toHaveLength(7);
    const sizes = DEVICES.flatMap((device) => device.sizes ?? []).map(({ name }) => name);
    expect(new Set(sizes).size).toBe(sizes.length);
  });

  it("a size has what is its own, and else what its device has", () => {
    expect(sizedDevice("gb10", 121.69)).toMatchObject({ planned: "seen", oneOf: "a DGX Spark" });
    expect(sizedDevice("gb10", 60.7)).toMatchObject({
      ...{ id: "gb10", planned: "unseen", oneOf: "a DGX Spark of 64 GB" },
    });
    expect(suggestedModel("gb10", 60.7)).toBe("nvidia/Qwen3.8-27B-NVFP4");
    expect(suggestedModel("gb10", 121.69)).toBeUndefined();
    expect(sizedDevice(undefined, 60.7)).toBeUndefined();
  });
});

describe("a machine is recognised", () => {
  // The names of GPUs, trees and products: recorded where devices.json names a source, else those
  // that the products are sold by.
  it.each<[string, Partial<Hardware>, string | undefined]>([
    ["a DGX Spark", { gpus: ["NVIDIA GB10"], gpuMemoryGiB: "none" }, "gb10"],
    ["one without a driver", { dmi: "NVIDIA NVIDIA_DGX_Spark DGX Spark" }, "gb10"],
    ["an ASUS Ascent GX10", { dmi: "ASUSTeK COMPUTER INC. GX10" }, "gb10"],
    ["a Dell", { dmi: "Dell Inc. Dell Pro Max with GB10 FCM1253" }, "gb10"],
    ["a Lenovo", { dmi: "LENOVO ThinkStation PGX" }, "gb10"],
    ["an HP", { dmi: "HP HP ZGX Nano G1n AI Station" }, "gb10"],
    ["an MSI", { dmi: "Micro-Star EdgeXpert MS-C931" }, "gb10"],
    ["an Acer", { dmi: "Acer Veriton GN100" }, "gb10"],
    ["a Gigabyte", { dmi: "GIGABYTE AI TOP ATOM" }, "gb10"],
    [
      "a Jetson Thor",
      { tree: "NVIDIA Jetson AGX Thor Developer Kit nvidia,p3834-0008 nvidia,tegra264" },
      "jetson-thor",
    ],
    ["one by its GPU", { gpus: ["NVIDIA Thor"], gpuMemoryGiB: "none" }, "jetson-thor"],
    ["an RTX Spark", { gpus: ["NVIDIA RTX Spark N1X"], gpuMemoryGiB: 23.9 }, "n1x"],
    ["one without nvidia-smi's figure", { gpus: ["NVIDIA N1X"] }, "n1x"],
    ["a later one by its name alone", { gpus: ["NVIDIA GB11"] }, "nvidia-unified"],
    ["a Jetson Orin by its GPU", { gpus: ["Orin (nvgpu)"] }, "nvidia-unified"],
    ["a later unified part", { gpus: ["NVIDIA GB11"], gpuMemoryGiB: "none" }, "nvidia-unified"],
    ["a Jetson Orin", { tree: "NVIDIA Jetson AGX Orin nvidia,tegra234" }, "nvidia-unified"],
    ["an RTX 5090", { gpus: ["NVIDIA GeForce RTX 5090"], gpuMemoryGiB: 31.8 }, "other"],
    ["one without nvidia-smi", { gpus: ["NVIDIA GeForce RTX 5090"] }, "other"],
    [
      "an RTX PRO 6000",
      { gpus: ["NVIDIA RTX PRO 6000 Blackwell Workstation Edition"], gpuMemoryGiB: 95.6 },
      "other",
    ],
    ["a GH200", { gpus: ["NVIDIA GH200 480GB"], gpuMemoryGiB: 95.6 }, "other"],
    ["a GB200", { gpus: ["NVIDIA GB200"], gpuMemoryGiB: 185 }, "other"],
    ["an H100", { gpus: ["NVIDIA H100 80GB HBM3"], gpuMemoryGiB: 79.6 }, "other"],
    ["an H200", { gpus: ["NVIDIA H200"], gpuMemoryGiB: 140.4 }, "other"],
    ["a B200", { gpus: ["NVIDIA B200"], gpuMemoryGiB: 179 }, "other"],
    ["an L40S", { gpus: ["NVIDIA L40S"], gpuMemoryGiB: 45 }, "other"],
    ["an unknown one that doesn't tell its memory", { gpus: ["NVIDIA X1"] }, undefined],
    ["a GPU of NVIDIA without a driver", { pci: ["1002:13c0", "10de:2b85"] }, undefined],
    ["an AMD Strix Halo", { pci: ["1002:1586"] }, "other"],
    ["a Radeon", { pci: ["1002:744c"] }, "other"],
    ["an Intel Arc", { pci: ["8086:e20b"] }, "other"],
    ["a Mac under Linux", { tree: "Apple Mac mini (M1, 2020) apple,j274 apple,t8103" }, "other"],
    ["a VM on a Mac", { dmi: "Apple Inc. Apple Virtualization Generic Platform" }, "other"],
    ["a VM", { dmi: "QEMU Standard PC (Q35 + ICH9, 2009)", pci: ["1af4:1050"] }, "other"],
    ["a server's own console", { pci: ["1a03:2000"] }, "other"],
  ])("%s", (_, shown, id) => {
    expect(recognise(hardware(shown))?.id).toBe(id);
  });

  it("as NVIDIA's by its PCI bus alone", () => {
    expect(hasNvidia(hardware({ pci: ["10de:2b85"] }))).toBe(true);
    expect(hasNvidia(hardware({ pci: ["1002:1586"] }))).toBe(false);
  });
});

describe("what is read of a machine", () => {
  it("is the memory of GPUs by nvidia-smi, and none where it is shared", () => {
    expect(gpusOfSmi("NVIDIA GB10, [N/A]\n")).toEqual({
      names: ["NVIDIA GB10"],
      memoryGiB: "none",
    });
    expect(gpusOfSmi("NVIDIA H100 80GB HBM3, 81559\nNVIDIA H100 80GB HBM3, 81559\n")).toEqual({
      names: ["NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"],
      memoryGiB: 163118 / 1024,
    });
    expect(gpusOfSmi("")).toEqual({ names: [] });
  });

  it("is displays and accelerators of the PCI bus, and nothing else there", () => {
    const bus =
      "0x030000 0x10de 0x2b85 \n0x038000 0x1002 0x1586 \n0x060400 0x10de 0x22ce \n0x120000 0x1002 0x74a1 \nbroken\n";
    expect(gpusOnPci(bus)).toEqual(["10de:2b85", "1002:1586", "1002:74a1"]);
  });

  it("is a process with memory of a GPU, without its words", () => {
    const text = "812, /usr/bin/python3 main.py --token hf_abc, 14540\n900, [Not Found], 0\nx\n";
    expect(gpuProcessesIn(text)).toEqual([{ pid: 812, name: "python3", gib: 14540 / 1024 }]);
    const id = "a".repeat(64);
    expect(ownerIn(`0::/system.slice/docker-${id}.scope\n`)).toEqual({ container: id });
    expect(ownerIn("0::/system.slice/ollama.service\n")).toEqual({ unit: "ollama.service" });
    expect(ownerIn("0::/user.slice/session-1.scope\n")).toEqual({});
  });
});

describe("what a device can't have", () => {
  it.each([
    ["gb10", 121.63, false],
    ["gb10", 118, false],
    ["gb10", 117.9, true],
    ["gb10", 125.3, false],
    ["gb10", 125.4, true],
    ["gb10", 60.7, false],
    ["gb10", 63, true],
    ["n1x", 120, false],
    ["jetson-thor", 60, false],
    [undefined, 60, false],
  ])("is another total: %s with %s GiB", (id, total, refused) => {
    expect(totalOfAnother(id, total) !== undefined).toBe(refused);
  });

  it("is said with the size that is nearest", () => {
    expect(totalOfAnother("gb10", 63)).toContain(
      "63 GiB is 3.8 % off the memory of a DGX Spark of",
    );
    expect(totalOfAnother("gb10", 100)).toContain("of a DGX Spark: 121.63 to 121.69 GiB (MemTotal");
  });

  it("is a server, where no GPU of NVIDIA shares the machine's memory", () => {
    expect(whyNoServer("other")).toBe(
      "This project runs vLLM on NVIDIA GPUs that share the machine's memory, and this machine has none: there is no server B. On a GPU of NVIDIA with a memory of its own, plain vLLM (`vllm serve`) or llama-swap serves; Ollama serves on any machine.",
    );
    for (const id of ["gb10", "jetson-thor", "nvidia-unified", undefined])
      expect(whyNoServer(id)).toBeUndefined();
  });
});

it("ids of earlier releases are none of today's", () => {
  expect(EARLIER_DEVICES).toHaveLength(12);
  expect(EARLIER_DEVICES.filter((id) => DEVICE_IDS.includes(id))).toEqual([]);
});
