import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeEngineWithDocker, describeEngineWithGpus } from "./available";
import type { Step, Update } from "./update";
import { RECORDED, record, recording, VARIABLES } from "./upgradeStack";
import { Workspace } from "./workspace";

/** The steps by which a server's container is replaced, once. */
const replaced = (server: string) =>
  ["delete-replaced", "replace", "create-replacement"].map((step) => `${step} Container ${server}`);

/**
 * What a release replaces on purpose in a stack of an earlier one: resources by the release that
 * they came from.
 */
const REPLACED_ON_PURPOSE: Readonly<Record<string, readonly string[]>> = {
  // Each server: the start gate is another, and its text is the container's entrypoint.
  "0.1.0": replaced("dgx-b"),
};

/**
 * `RECORD_UPGRADE=0.2.0 npm test -- --project real test/engine/upgrade.test.ts` keeps what that
 * release leaves behind.
 */
const { RECORD_UPGRADE } = process.env;
if (RECORD_UPGRADE !== undefined)
  describeEngineWithGpus("a stack of the release of today", () => {
    it("is kept for later releases", () => record(RECORD_UPGRADE));
  });

const RELEASES = ["0.1.0"];

it("has a recording of each release that left one", () => {
  expect(readdirSync(RECORDED).sort()).toEqual(RELEASES);
});

for (const release of RELEASES) {
  describeEngineWithDocker(`a stack that ${release} applied`, () => {
    let workspace: Workspace;
    let preview: Update;

    beforeAll(async () => {
      workspace = await Workspace.open({ env: VARIABLES });
      const { config, state, appliedPlan } = recording(release, workspace.root);
      workspace.configure(config);
      const applied = join(workspace.home, ".local/share/local-serving/dgx/applied-plan.json");
      mkdirSync(dirname(applied), { recursive: true });
      writeFileSync(applied, appliedPlan);
      const exported = join(workspace.root, "state.json");
      writeFileSync(exported, state);
      const imported = await workspace.pulumi("stack", "import", "--file", exported);
      if (imported.code !== 0) throw new Error(imported.stderr);
      preview = await workspace.preview("--diff");
    });
    // What is recorded runs nowhere, so there is nothing to destroy but the state itself.
    afterAll(() => workspace.forget());

    const byKind = (wanted: (step: Step) => boolean) =>
      preview.steps
        .filter(wanted)
        .map(({ op, type, name }) => `${op} ${type.split(":").at(-1)} ${name}`);

    it("is previewed, and not refused", () => {
      expect(preview, preview.stdout + preview.stderr).toMatchObject({ code: 0 });
    });

    it("loses and replaces nothing that is not said", () => {
      const gone = byKind(({ op }) => /replace|delete|discard/.test(op));
      expect(gone, preview.stdout).toEqual(REPLACED_ON_PURPOSE[release] ?? []);
    });

    it("keeps every other container and image as it is", () => {
      const touched = byKind(({ type }) => /:(Container|RemoteImage|Network|Volume)$/.test(type));
      expect(touched, preview.stdout).toEqual(REPLACED_ON_PURPOSE[release] ?? []);
    });

    it("is told from one whose bridge is replaced too", async () => {
      const { config } = recording(release, workspace.root);
      workspace.configure(
        JSON.parse(JSON.stringify(config).replace(/("bridge":\{[^{}]*"port":)\d+/, "$1 37428")),
      );
      const changed = await workspace.preview();
      const names = changed.steps.filter(({ op }) => op === "replace").map(({ name }) => name);
      expect(names.sort(), changed.stdout).toEqual(["dgx-b", "dgx-bridge"]);
    });
  });
}
