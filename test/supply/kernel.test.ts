import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { expect, it } from "vitest";
import { readKernel } from "../../components/supply/kernel";
import { temporaryFolder } from "../layers/temporaryFolder";

it("reads kernel, driver and the arguments that matter from where Linux has them", async () => {
  const proc = temporaryFolder("proc-");
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(proc, path)), { recursive: true });
    writeFileSync(join(proc, path), text);
  };
  expect(await readKernel(filesOf({ dockerHost: HERE }), proc)).toEqual({
    kernel: "unknown",
    kernelArguments: [],
  });
  write("sys/kernel/osrelease", "7.0.0-1019-nvidia\n");
  write("cmdline", "BOOT_IMAGE=/vmlinuz quiet kho=off\n");
  write(
    "driver/nvidia/version",
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build\n",
  );
  expect(await readKernel(filesOf({ dockerHost: HERE }), proc)).toEqual({
    kernel: "7.0.0-1019-nvidia",
    kernelArguments: ["kho=off"],
    driver: "580.95.05",
  });
});

it.each([
  ["NVIDIA Container Toolkit CLI version 1.19.1\ncommit: 3c5a\n", {}, "1.19.1"],
  [
    "NVIDIA Container Toolkit CLI version 1.19.1\n",
    { "/etc/docker/daemon.json": '{"features": {"cdi": true}}' },
    "1.19.1 with CDI",
  ],
  [
    "NVIDIA Container Toolkit CLI version 1.20.0\n",
    { "/etc/nvidia-container-runtime/config.toml": '[nvidia-container-runtime]\nmode = "cdi"\n' },
    "1.20.0 with CDI",
  ],
  [
    "NVIDIA Container Toolkit CLI version 1.20.0\n",
    { "/etc/nvidia-container-runtime/config.toml": '#mode = "cdi"\nmode = "auto"\n' },
    "1.20.0",
  ],
  ["", { "/etc/docker/daemon.json": '{"features": {"cdi": true}}' }, undefined],
])("reads the toolkit from %j with %j", async (out, texts: Record<string, string>, toolkit) => {
  const files = {
    text: async (path: string) => texts[path],
    ask: async () => ({ code: 0, out, err: "" }),
  };
  expect((await readKernel(files)).toolkit).toBe(toolkit);
});
