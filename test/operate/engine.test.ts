import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");

let folder = "";
beforeEach(() => {
  folder = temporaryFolder("engine-command-");
  const pulumi = '#!/bin/sh\nprintf "%s\\n" "$*" >>"$LOG"\n';
  writeFileSync(join(folder, "pulumi"), pulumi, { mode: 0o755 });
  writeFileSync(join(folder, "log"), "");
});

const engine = (...args: string[]) =>
  run("node", [join(PROJECT, "bundle/engine.cjs"), ...args], {
    cwd: PROJECT,
    env: {
      PATH: `${folder}:${process.env.PATH}`,
      LOG: join(folder, "log"),
      PULUMI_BACKEND_URL: `file://${folder}`,
      PULUMI_CONFIG_PASSPHRASE: "",
    },
  });
const log = () => readFileSync(join(folder, "log"), "utf8").trim().split("\n");

describe("npm run preview, up and down", () => {
  it("select the stack, then run the engine with the policy pack", async () => {
    expect(await engine("preview", "--diff")).toMatchObject({ code: 0 });
    expect(log()).toEqual([
      "stack select --create --stack dgx",
      `preview --stack dgx --policy-pack ${PROJECT}/policies --diff`,
    ]);
  });

  it("leave --yes out of a preview and say why", async () => {
    const { code, stderr } = await engine("preview", "--yes");
    expect({ code, last: log().at(-1) }).toEqual({
      code: 0,
      last: `preview --stack dgx --policy-pack ${PROJECT}/policies`,
    });
    expect(stderr).toContain(
      "A preview changes nothing and asks nothing, so it needs no `--yes`.\n",
    );
  });

  it("hand --yes on to an update", async () => {
    expect(await engine("up", "--yes")).toMatchObject({ code: 0 });
    expect(
      log()
        .at(-1)
        ?.replace(/ --event-log \S+\/events$/, ""),
    ).toBe(`up --stack dgx --policy-pack ${PROJECT}/policies --yes`);
  });

  it.each(["-s", "--stack"])(
    "name the stacks that exist for one that doesn't: %s",
    async (option) => {
      const { code, stderr } = await engine("preview", option, "nope");
      expect({ code, log: log() }).toEqual({ code: 2, log: [""] });
      expect(stderr).toContain(`No Pulumi.nope.yaml in ${PROJECT}. Stacks there: dgx`);
    },
  );
});
