import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { stringify } from "yaml";
import { serverInput } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";

const MAKERS: readonly (readonly [string, (path: string) => unknown])[] = [
  ["a pipe that nobody writes to", (path) => execFileSync("mkfifo", [path])],
  ["a device without an end", (path) => symlinkSync("/dev/zero", path)],
  ["a device that waits", (path) => symlinkSync("/dev/ptmx", path)],
  ["a folder", (path) => mkdirSync(path)],
  ["a link to itself", (path) => symlinkSync(path, path)],
  ["text that is none of ours", (path) => writeFileSync(path, "\0\ufffd{")],
];

/** Runs a command in a project whose home has something else in the place of one of our files. */
async function runWith(args: string, name: string, make: (path: string) => unknown) {
  const home = temporaryFolder("in-place-");
  const project = join(home, "spark");
  const state = join(home, ".local/share/local-serving/dgx");
  for (const folder of [project, state]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
  const dgx = { totalGiB: 121.63, inferenceServers: { b: serverInput() }, instanceA: "none" };
  const config = { "local-serving:machines": { dgx } };
  writeFileSync(join(project, "Pulumi.spark.yaml"), stringify({ config }));
  make(join(state, name));
  vi.spyOn(process, "cwd").mockReturnValue(project);
  onTestFinished(() => void vi.restoreAllMocks());
  const { env } = new FakeDocker({ "ps --all": { out: "" } });
  return runServing(args.split(" "), { ...env, HOME: home, PULUMI_HOME: join(home, ".pulumi") });
}

describe.each(MAKERS)("with %s", (_, make) => {
  it("in the place of the applied plan, `plan` is made, and a review says why there is none", async () => {
    const { code, out, err } = await runWith("plan", "applied-plan.json", make);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("dgx");
    const review = await runWith("plan --against applied", "applied-plan.json", make);
    expect(review.code).toBe(2);
    expect(review.err).toMatch(/^--against applied: .*applied-plan\.json|^Nothing is applied yet/);
  });

  it("in the place of an update's record, `plan` is made, and says that it can't be read", async () => {
    const { code, err } = await runWith("plan", "update.json", make);
    expect(code).toBe(0);
    expect(err === "" || err.includes("update.json")).toBe(true);
  });
});
