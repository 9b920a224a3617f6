import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readHost } from "../../../cli/sees/computer/computer";
import { keepVerify } from "../../../cli/verify/lastVerify";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { markApplied } from "../applied";
import { inspected } from "../fakeDocker";
import { runServing } from "../runServing";
import { madeFacts } from "./madeFacts";
import { madeMachine } from "./madeMachine";
import { servingOnPath } from "./servingOnPath";

let project = "";
let env: Record<string, string> = {};
beforeEach(() => {
  project = temporaryFolder("applied-already-");
  env = {
    ...servingOnPath(),
    XDG_STATE_HOME: join(project, "state"),
    PULUMI_HOME: join(project, ".pulumi"),
  };
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
  vi.spyOn(process, "cwd").mockReturnValue(project);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** Facts of a machine on which a stack is applied that calls it `spark`. */
async function factsOf(more: Record<string, unknown>): Promise<string> {
  const file = join(temporaryFolder("applied-facts-"), "facts.json");
  const made = JSON.parse(readFileSync(await madeFacts(), "utf8"));
  writeFileSync(file, JSON.stringify({ ...made, ...more }));
  return file;
}

const init = async (facts: string, name: string) => {
  const args = ["init", "--from", facts, "--yes", "--name", name];
  const { code, out, err } = await runServing(args, env);
  expect(err).toBe("");
  const [, listed = ""] = out.split("Fix first:\n");
  return { code, mend: listed.split("\n\n")[0]?.split("\n  - ") ?? [] };
};

const STACK = `config:
  local-serving:machines:
    spark: { totalGiB: 121.63, instanceA: none }
`;

describe("serving init on a machine where a stack is applied", () => {
  it("sees running containers of every stack, and the plans that `up` left", async () => {
    const label = { "local-serving.machine": "spark" };
    const { sources, env: path } = madeMachine({
      docker: {
        info: { out: "{}" },
        "network inspect": { out: "lo\n" },
        ps: { out: "a\n" },
        inspect: { out: JSON.stringify([inspected({ name: "litellm-8787", labels: label })]) },
      },
    });
    vi.stubEnv("PATH", path.PATH ?? "");
    expect(await readHost(sources)).not.toHaveProperty("applied");
    markApplied(sources.home, "spark", "second");
    mkdirSync(join(sources.home, ".local/share/local-serving/clients"));
    expect(await readHost(sources)).toMatchObject({
      applied: ["second", "spark"],
      docker: { ours: [{ name: "litellm-8787", machine: "spark" }] },
    });
  });

  it("names the stack file of the same folder first, and ends with 1", async () => {
    const facts = await factsOf({ applied: ["spark"] });
    writeFileSync(join(project, "Pulumi.spark-made.yaml"), STACK);
    const { code, mend } = await init(facts, "second");
    expect(code).toBe(1);
    expect(mend).toEqual([
      "  - Pulumi.spark-made.yaml is applied on spark-7f3a, where it is the machine `spark`. Edit that file and remove Pulumi.second.yaml, or run `serving down --stack spark-made` before `serving up`.",
    ]);
  });

  it("names the machine, and the file of another folder that was verified", async () => {
    const facts = await factsOf({
      docker: {
        ...{ reachable: true, gpuRuntime: true },
        ours: [{ name: "litellm-8787", machine: "spark", ports: [] }],
      },
    });
    expect(await init(facts, "second")).toEqual({
      code: 1,
      mend: [
        "  - A stack is applied on spark-7f3a that calls it `spark`. Its stack file is in another folder. Edit that file and remove Pulumi.second.yaml, or run `serving down` in its folder before `serving up` here.",
      ],
    });
    const stackFile = join(temporaryFolder("other-"), "Pulumi.spark.yaml");
    writeFileSync(stackFile, STACK);
    await keepVerify({ stackFile, machine: "spark" }, [], env);
    expect((await init(facts, "third")).mend).toEqual([
      `  - A stack is applied on spark-7f3a that calls it \`spark\`. Its stack file is probably ${stackFile}, for which \`serving verify\` was run. Edit that file and remove Pulumi.third.yaml, or run \`serving down\` in its folder before \`serving up\` here.`,
    ]);
  });

  it("takes a machine of the same name for its own where the state has the stack alone", async () => {
    const facts = await factsOf({ applied: ["spark"] });
    expect(await init(facts, "spark")).toMatchObject({
      code: 1,
      mend: [expect.stringContaining("A stack is applied on spark-7f3a that calls it `spark`.")],
    });
    const state = join(project, ".pulumi-state/.pulumi/stacks/local-serving");
    mkdirSync(state, { recursive: true });
    writeFileSync(
      join(state, "spark-2.json"),
      '{"checkpoint":{"latest":{"resources":[{"type":"docker:index/network:Network"}]}}}',
    );
    const other = await factsOf({ applied: ["spark-2"] });
    expect(await init(other, "spark-2")).toEqual({ code: 0, mend: [""] });
  });
});

describe("serving plan where another stack is applied here", () => {
  const home = () => join(project, "home");
  const plan = (...args: string[]) =>
    runServing(["plan", "--format", "json", ...args], { ...env, HOME: home() });
  const REFUSED =
    "Another stack is applied here, which calls this machine `spark`. It has the network `local-serving`.";

  /** Leaves the plan of a machine on this computer, as `up` does. */
  async function apply(machine: string) {
    const other = join(temporaryFolder("other-"), "Pulumi.other.yaml");
    writeFileSync(other, STACK.replace("spark", machine));
    const { out } = await plan("--file", other);
    const [made] = JSON.parse(out).machines;
    const { path, text } = made.files.find(({ role }: { role: string }) => role === "applied-plan");
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
  }

  it("refuses what `up` would refuse, and tells another computer's file nothing of it", async () => {
    mkdirSync(home());
    await apply("spark");
    const file = join(project, "Pulumi.second.yaml");
    writeFileSync(file, STACK.replace("spark", "second"));
    const { code, out } = await plan();
    expect(code).toBe(1);
    expect(JSON.parse(out).findings).toEqual([
      {
        name: "preflight",
        level: "mandatory",
        resource: "second",
        verdict: "refused",
        message: expect.stringMatching(new RegExp(`^${REFUSED} Edit the stack file`)),
      },
    ]);
    expect((await plan("--file", file)).code).toBe(0);
    // The way out that it names: another stack that shares nothing.
    writeFileSync(file, STACK.replace("spark: {", "second: { network: mine,"));
    expect((await plan()).code).toBe(0);
  });

  it("takes its own applied plan for its own where the state has the stack", async () => {
    mkdirSync(home());
    await apply("spark");
    writeFileSync(join(project, "Pulumi.spark.yaml"), STACK);
    const { code, out } = await plan();
    expect([code, JSON.parse(out).findings[0].message]).toEqual([
      1,
      "A machine `spark` is applied here, and the state of this stack has nothing of it: the network `local-serving`. If a stack of another folder made it, edit the stack file there, or run `serving down` there first. If the state of this folder was lost, copy `.pulumi-state` back.",
    ]);
    const state = join(project, ".pulumi-state/.pulumi/stacks/local-serving");
    mkdirSync(state, { recursive: true });
    writeFileSync(
      join(state, "spark.json"),
      '{"checkpoint":{"latest":{"resources":[{"type":"docker:index/network:Network"}]}}}',
    );
    expect((await plan()).code).toBe(0);
  });
});
