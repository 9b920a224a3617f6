import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { backendEnvironment, halfWritten } from "../../cli/engine/backend";
import { installedPulumi } from "../../cli/engine/findPulumi";
import { pulumiHome } from "../../cli/stack/selectedStack";
import { temporaryFolder } from "../layers/temporaryFolder";

/** The variables that an engine gets in a project, and what is said. */
function environment(project: string, env: Record<string, string> = {}) {
  const said: string[] = [];
  const write = vi
    .spyOn(process.stderr, "write")
    .mockImplementation((text) => said.push(String(text)) > 0);
  try {
    const variables = backendEnvironment(project, "spark", { PULUMI_HOME: project, ...env });
    return { variables, said: said.join("") };
  } finally {
    write.mockRestore();
  }
}

it("makes a passphrase once, and says what Pulumi changes and what to keep", () => {
  const project = temporaryFolder("backend-");
  const folder = join(project, ".pulumi-state");
  const file = join(folder, "passphrase");
  const variables = {
    PULUMI_BACKEND_URL: `file://${folder}`,
    PULUMI_CONFIG_PASSPHRASE_FILE: file,
  };
  expect(environment(project)).toEqual({
    variables,
    said: `Made a passphrase for this state: ${file}. Set PULUMI_CONFIG_PASSPHRASE to use your own. Pulumi adds a line \`encryptionsalt\` to Pulumi.spark.yaml and takes out the blanks inside \`{ }\`: commit both. Keep a copy of ${folder} elsewhere (docs/guide/backup.md#what-else-to-keep).\n`,
  });
  const made = readFileSync(file, "utf8");
  expect([made.length, statSync(file).mode & 0o777]).toEqual([44, 0o600]);
  expect(readFileSync("docs/guide/backup.md", "utf8")).toContain("\n## What else to keep\n");
  expect(environment(project)).toEqual({ variables, said: "" });
  expect(readFileSync(file, "utf8")).toBe(made);
});

it("makes none beside a passphrase of the operator's, nor for a state elsewhere", () => {
  const project = temporaryFolder("backend-");
  const folder = join(project, ".pulumi-state");
  expect(environment(project, { PULUMI_CONFIG_PASSPHRASE: "" })).toEqual({
    variables: { PULUMI_BACKEND_URL: `file://${folder}` },
    said: "",
  });
  expect(environment(project, { PULUMI_BACKEND_URL: "file:///elsewhere" })).toEqual({
    variables: {},
    said: "",
  });
  expect(existsSync(join(folder, "passphrase"))).toBe(false);
});

it("refuses a stack file that another passphrase locked", () => {
  const project = temporaryFolder("backend-");
  writeFileSync(join(project, "Pulumi.spark.yaml"), "encryptionsalt: v1:x\n");
  expect(() => environment(project)).toThrow(
    "Pulumi.spark.yaml was locked with a passphrase that is not here",
  );
});

describe("the engine's own folder, where HOME is another than the user's", () => {
  const elsewhere = () => ({ HOME: temporaryFolder("other-home-"), PATH: "" });

  it("is in the user's home, as the engine finds it, or where PULUMI_HOME says", () => {
    const own = join(userInfo().homedir, ".pulumi");
    expect(pulumiHome(elsewhere())).toBe(own);
    expect(pulumiHome({ ...elsewhere(), PULUMI_HOME: "" })).toBe(own);
    expect(pulumiHome({ ...elsewhere(), PULUMI_HOME: "/srv/pulumi" })).toBe("/srv/pulumi");
  });

  it("is not where a state in ~ is looked for", () => {
    const env = elsewhere();
    const stacks = join(env.HOME, "state/.pulumi/stacks/local-serving");
    mkdirSync(stacks, { recursive: true });
    writeFileSync(join(stacks, "dgx.json.attrs"), "{");
    const state = { ...env, PULUMI_BACKEND_URL: "file://~/state" };
    expect(halfWritten("/project", "dgx", state)).toEqual([]);
  });

  it("doesn't hide a command line that its installer put below HOME", () => {
    const env = { ...elsewhere(), PULUMI_HOME: temporaryFolder("pulumi-home-") };
    expect(installedPulumi(env)).toBeUndefined();
    const bin = join(env.HOME, ".pulumi/bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "pulumi"), "#!/bin/sh\n");
    chmodSync(join(bin, "pulumi"), 0o755);
    expect(installedPulumi(env)).toBe(join(bin, "pulumi"));
  });
});
