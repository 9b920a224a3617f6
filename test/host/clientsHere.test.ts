import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { hostOf } from "../../cli/sees/host";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { replacedFiles } from "../../components/preflight/preflight";
import { readMachine } from "../../components/preflight/readMachine";
import { stack } from "../fixtures/machine";
import { BRIDGE, fileOf } from "../fixtures/services";
import { FakeSsh } from "../layers/fakeSsh";
import { temporaryFolder } from "../layers/temporaryFolder";

/** A machine that can't be reached: whatever is read all the same was read here. */
let home: string;
let machine: MachinePlan;
beforeEach(() => {
  vi.stubEnv("PATH", new FakeSsh("away").path);
  home = temporaryFolder("clients-here-");
  const bridge = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
  const clients = { on: "here", codex: { via: "bridge" } };
  const [only] = plan(stack({ dockerHost: "ssh://me@dgx", bridge, clients }), { home }).machines;
  if (only === undefined) throw new Error("no machine planned");
  machine = only;
});
afterEach(() => vi.unstubAllEnvs());

const write = (role: string, text: string) => {
  const { path } = fileOf(machine, role);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

it("clients' files that are here are read here: what is replaced, and whether they can be written", async () => {
  write("codex-config", "mine");
  writeFileSync(join(home, ".local"), "no folder");
  expect((await replacedFiles(machine)).map(({ message }) => message.split(". ")[0])).toEqual([
    `${home}/.codex/local-serving.config.toml exists and isn't ours`,
  ]);
  const { fileFolders } = await readMachine(machine);
  expect(fileFolders.filter(({ path }) => path.startsWith(home))).toEqual([
    { path: `${home}/.codex of this computer` },
    { path: `${home}/.local/bin of this computer`, problem: `${home}/.local is not a directory` },
  ]);
});

it("clients' files that are here are read here by verify and doctor", async () => {
  const file = fileOf(machine, "launcher-codex");
  write("launcher-codex", file.text);
  const host = hostOf(machine.dockerHost);
  expect((await host.file(file.path, file.here))?.text).toBe(file.text);
  expect(await host.file(file.path)).toBeUndefined();
  expect(await host.fileState(file)).toEqual({ role: file.role, path: file.path, state: "same" });
  expect((await host.fileState({ ...file, path: join(home, "none") })).state).toBe("missing");
});
