import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { engineCommand, showsPreview } from "../../components/program/engineCommand";
import { temporaryFolder } from "../layers/temporaryFolder";

it.each<[boolean, string]>([
  [true, "pulumi up"],
  [true, "/usr/local/bin/pulumi up --yes --stack dgx"],
  [true, "pulumi --color never update -y"],
  [false, "pulumi up --yes --skip-preview"],
  [false, "pulumi up --skip-preview=true"],
  [false, "pulumi up -yf"],
  [false, "pulumi preview"],
  [false, "node up"],
  [false, ""],
])("whether an update comes after its preview: %s of `%s`", (expected, command) => {
  expect(showsPreview(command.split(" "))).toBe(expected);
});

it("the engine is the parent of the language host, and nothing where that isn't told", () => {
  const proc = temporaryFolder("proc-");
  for (const [pid, file, text] of [
    ["7", "status", "Name:\tpulumi-language\nPPid:\t3\n"],
    ["3", "cmdline", "pulumi\0up\0--stack\0dgx\0"],
  ] as const) {
    mkdirSync(join(proc, pid));
    writeFileSync(join(proc, pid, file), text);
  }
  expect(engineCommand(7, proc)).toEqual(["pulumi", "up", "--stack", "dgx"]);
  expect(engineCommand(8, proc)).toEqual([]);
});
