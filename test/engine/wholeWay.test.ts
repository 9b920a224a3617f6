import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { Terminal } from "../real/remote/terminal";
import { describeEngineWithGpus } from "./available";
import { stackConfig } from "./stackConfig";
import { brokenImage } from "./verifiedStack";
import { Workspace } from "./workspace";

/** A model's folder inside the image: nothing has to be loaded for it. */
const MODEL = { id: "/opt/stand-in/model", inImage: true, family: "qwen3", thinking: true };

const QUESTION = /Go on\? \[y\/N\] /;

describeEngineWithGpus("serving up at a terminal", () => {
  let workspace: Workspace;
  let image: PinnedImage;
  let [portA, portB] = [0, 0];

  beforeAll(async () => {
    // A repository of its own: other tests move the tag of the usual one.
    image = await pinnedImage({ repository: "of-whole-way/vllm/vllm-openai" });
    [portA, portB] = [await freePort(), await freePort()];
    workspace = await Workspace.open({ config: {} });
  });
  afterAll(async () => workspace?.close());

  const file = () => join(workspace.project, `Pulumi.${workspace.stack}.yaml`);
  const text = () => readFileSync(file(), "utf8");
  const configure = (server: Record<string, unknown> = {}) => {
    const parts = { image, portA, portB, unique: `whole${portB}` };
    const machine = { instanceA: "none", startWithinMinutes: 1 };
    workspace.configure(stackConfig(parts, { model: MODEL, ...server }, machine));
  };
  const up = (...options: readonly string[]) =>
    new Terminal(
      ["node", "bundle/serving.cjs", "up", "--stack", workspace.stack, "--color=never", ...options],
      { cwd: workspace.project, env: { ...process.env, ...workspace.env } as NodeJS.ProcessEnv },
    );
  /** What it wrote, without the controls of a terminal. */
  const plain = ({ written }: Terminal) => stripVTControlCharacters(written).replaceAll("\r", "");

  it("changes nothing where nobody says yes", async () => {
    configure({ image: image.tag, versions: undefined });
    const before = text();
    const terminal = up();
    await terminal.wrote(QUESTION);
    expect(plain(terminal).replaceAll(/\n +/g, " ")).toContain(
      `Then: read ${image.tag} (its versions go into Pulumi.test.yaml), apply, wait, verify.`,
    );
    terminal.type("n\r");
    expect(await terminal.closed()).toMatchObject({ code: 1, sane: true });
    expect(plain(terminal)).toMatch(/Nothing was changed\.\n$/);
    expect(text()).toBe(before);
  });

  it("looks into the image, applies, waits, probes, and says how it is used", async () => {
    const terminal = up();
    await terminal.wrote(QUESTION);
    terminal.type("y\r");
    const end = await terminal.closed();
    const said = plain(terminal);
    expect(end, said).toMatchObject({ code: 0, sane: true });
    expect(text()).toContain(`image: ${image.reference}\n`);
    expect(text()).toContain("evidence: read");
    expect(said.match(/Go on\?/g)).toHaveLength(1);
    expect(said).toMatch(/Every probe passed \(\d+\)\./);
    expect(said).toMatch(
      new RegExp(`Use it:\\n  b http://127\\.0\\.0\\.1:${portB}/v1, model model-whole${portB}\\n$`),
    );
  });

  it("asks nothing and probes nothing where nothing has changed", async () => {
    const terminal = up();
    const end = await terminal.closed();
    const said = plain(terminal);
    expect(end, said).toMatchObject({ code: 0 });
    expect(said).toMatch(/Nothing has to be changed\.\n$/);
    expect(said).not.toMatch(/Go on\?|probe|Missing:/);
  });

  it("leaves everything running on Ctrl-C in the wait, and says how to go on", async () => {
    const slow = await brokenImage("sleep 600", { repository: "of-whole-way/vllm/vllm-openai" });
    configure({ image: slow.reference });
    const terminal = up("--yes");
    await terminal.wrote(/ s: (loading|starting|waiting|running)/);
    terminal.type("\u0003");
    const end = await terminal.closed();
    const said = plain(terminal);
    expect(end, said).toMatchObject({ signal: 2 });
    expect(said).toMatch(/Interrupted\. What was started goes on: `[^`]*serving status --wait/);
  });

  it("ends once it is applied with --no-wait", async () => {
    configure();
    const terminal = up("--yes", "--no-wait");
    const end = await terminal.closed();
    const said = plain(terminal);
    expect(end, said).toMatchObject({ code: 0 });
    expect(said).toMatch(/Next: \S.*serving status --wait, then/);
    expect(said).not.toMatch(/Every probe|Use it/);
  });
});
