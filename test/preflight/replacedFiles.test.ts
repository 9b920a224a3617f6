import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import type { Plan } from "../../components/plan/types";
import { replacedFiles } from "../../components/preflight/preflight";
import { stack } from "../fixtures/machine";
import { run } from "../host/hostFileRun";
import { temporaryFolder } from "../layers/temporaryFolder";

let home = "";
let planned: Plan;
beforeEach(() => {
  home = temporaryFolder("replaced-files-");
  planned = plan(stack({ harness: {}, simpleServer: { mode: "host", models: ["m"] } }), { home });
  mkdirSync(join(home, ".hx"));
});
const providers = () => join(home, ".hx/providers.toml");
const said = async () =>
  (await Promise.all(planned.machines.map(replacedFiles)))
    .flat()
    .map(({ verdict, message }) => `${verdict}: ${message}`);

describe("a file that is not ours where the plan has one", () => {
  it("is said with where it is kept and what is missed meanwhile, and not touched", async () => {
    writeFileSync(providers(), "theirs\n");
    expect(await said()).toEqual([
      `warned: ${providers()} exists and isn't ours. \`up\` replaces the whole file and keeps the original as ${home}/.hx/.providers.toml.local-serving/original. It is put back when our file is removed. Meanwhile the harness only knows the reviewers of the stack file.`,
    ]);
    expect(readFileSync(providers(), "utf8")).toBe("theirs\n");
  });

  it("is kept where it is said to be, and no longer said once it is kept", async () => {
    writeFileSync(providers(), "theirs\n");
    const kept = join(dirname(providers()), ".providers.toml.local-serving/original");
    expect(run("write", { path: providers(), content: "ours\n" }).said).toBe(
      `${providers()} was there before: it is kept as ${kept} until it is put back.\n${providers()} was written.`,
    );
    expect(readFileSync(kept, "utf8")).toBe("theirs\n");
    expect(await said()).toEqual([]);
    run("restore", { path: providers() });
    expect([readFileSync(providers(), "utf8"), existsSync(kept)]).toEqual(["theirs\n", false]);
  });

  it("is not said of nothing, of a folder and of a link, which are refused or made when it is written", async () => {
    expect(await said()).toEqual([]);
    mkdirSync(providers());
    symlinkSync("/etc/hostname", join(home, ".hx/session-analytics.json"));
    expect(await said()).toEqual([]);
  });
});
