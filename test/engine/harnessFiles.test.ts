import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { plan } from "../../components/plan/plan";
import { loadStackFile } from "../../components/settings/load";
import { serverInput } from "../fixtures/machine";
import { snapshot } from "../host/hostFileRun";
import { describeEngine } from "./available";
import type { Update } from "./update";
import { Workspace } from "./workspace";

/**
 * Takes the place of this project's own program: its plan and its component, without what needs a
 * daemon.
 */
const PROGRAM = `
import { runtime } from "@pulumi/pulumi";
import { HarnessFiles } from "./components/harness-files/harnessFiles";
import { operatorHome } from "./components/evidence/readEvidence";
import { plan } from "./components/plan/plan";
import { parseEngineConfig } from "./components/settings/load";
export default async () => {
  for (const { name, files } of plan(parseEngineConfig(runtime.allConfig()), { home: operatorHome() }).machines) {
    const harness = files.filter(({ role }) => role.startsWith("harness-"));
    if (harness.length > 0) new HarnessFiles(name + "-harness-files", name, harness);
  }
};
`;

describeEngine("the harness's files", () => {
  let workspace: Workspace;
  const at = (name: string) => join(workspace.home, ".hx", name);
  const text = (name: string) => readFileSync(at(name), "utf8");
  const printed = (update: Update) => update.stdout + update.stderr;
  const config = (harness: object | undefined) => ({
    "local-serving:machines": {
      dgx: {
        totalGiB: 121.63,
        instanceA: "none",
        // Not in the order of the alphabet, in which the engine hands them over.
        inferenceServers: {
          z: serverInput({ gpuMemoryUtilization: 0.2, port: 8002 }),
          b: serverInput({ gpuMemoryUtilization: 0.2 }),
        },
        simpleServer: { mode: "host", models: ["qwen3:8b"] },
        ...(harness === undefined ? {} : { harness }),
      },
    },
  });
  /** What `serving plan` shows of the same stack file, by role. */
  const shown = (harness: object) => {
    const file = join(workspace.root, "shown.yaml");
    writeFileSync(file, stringify({ config: config(harness) }));
    const [machine] = plan(loadStackFile(file), { home: workspace.home }).machines;
    return (role: string) => machine?.files.find((each) => each.role === role)?.text;
  };

  beforeAll(async () => {
    workspace = await Workspace.open({ config: config({}) });
    writeFileSync(join(workspace.project, "index.ts"), PROGRAM);
    mkdirSync(at("."));
    writeFileSync(at("providers.toml"), '[providers.codex]\ntype = "cli"\n');
    chmodSync(at("providers.toml"), 0o640);
  });
  afterAll(() => workspace.close());

  it("are written as planned, and nothing changes the second time", async () => {
    const up = await workspace.up("--skip-preview");
    expect(up.code, printed(up)).toBe(0);
    expect(printed(up)).toContain(
      `${at("providers.toml")} was there before: it is kept as ${at(".providers.toml.local-serving/original")}`,
    );
    const planned = shown({});
    expect(text("providers.toml")).toBe(planned("harness-providers"));
    expect(text("providers.toml")).toContain('fallback_chain.claude = ["local-z", "ollama"]');
    expect(text("session-analytics.json")).toBe(planned("harness-analytics"));
    expect((await workspace.up("--skip-preview", "--expect-no-changes")).code).toBe(0);
  });

  it("change with the settings, line by line to be read", async () => {
    workspace.configure(config({ maxTokens: 4096 }));
    const up = await workspace.up("--skip-preview", "--diff");
    expect(up.code, printed(up)).toBe(0);
    expect(
      up.steps
        .filter(({ type }) => type.endsWith("Command"))
        .map(({ op, name }) => `${op} ${name}`),
    ).toEqual(["update dgx-harness-providers"]);
    expect(printed(up)).toMatch(/- max_tokens = 8192/);
    expect(printed(up)).toMatch(/\+ max_tokens = 4096/);
  });

  it("go when `harness` leaves the stack file, and what was there before is back", async () => {
    workspace.configure(config(undefined));
    const up = await workspace.up("--skip-preview");
    expect(up.code, printed(up)).toBe(0);
    expect(snapshot(at("."))).toEqual({
      "providers.toml": expect.stringMatching(/^640 \d+:\d+ \[providers\.codex\]\ntype = "cli"\n$/),
    });
  });

  it("are written anew and restored by `down`", async () => {
    workspace.configure(config({}));
    expect((await workspace.up("--skip-preview")).code).toBe(0);
    expect(text("providers.toml")).toContain("[providers.local-b]");
    const down = await workspace.destroy("--skip-preview");
    expect(down.code, printed(down)).toBe(0);
    expect(snapshot(at("."))).toEqual({
      "providers.toml": expect.stringMatching(/^640 \d+:\d+ \[providers\.codex\]\ntype = "cli"\n$/),
    });
  });
});
