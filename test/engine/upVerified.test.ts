import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { describeEngineWithGpus } from "./available";
import { brokenImage, VerifiedStack } from "./verifiedStack";

const TRIED =
  /This stack file was tried on [\d-]{10} [\d:]{5} UTC and put back: the start of dgx\.b failed \(/;

const BROKEN_OFF =
  /An update by `serving up --verified` that began on [\d-]{10} [\d:]{5} UTC was interrupted: /;

/** A note of the plan. */
const NOTE = "`device` isn't declared";

describeEngineWithGpus("serving up --verified", () => {
  let stack: VerifiedStack;
  let [broken, right]: PinnedImage[] = [];

  beforeAll(async () => {
    stack = await VerifiedStack.open();
    broken = await brokenImage("echo 'RuntimeError: this one is broken' >&2; exit 1");
    right = await pinnedImage();
  });
  afterAll(async () => stack?.close());

  const oldAnswers = async () => {
    expect((await stack.running()).image).toBe(stack.parts.image.reference);
    expect(await stack.callsTools()).toBe(true);
  };
  const state = () => join(stack.workspace.home, ".local/state/local-serving");
  const failedFolders = () => readdirSync(state()).filter((name) => name.startsWith("failed-"));

  it("goes back to the verified stack file where the new image exits at once", async () => {
    stack.configure(broken);
    const text = readFileSync(stack.file, "utf8");
    const up = await stack.serving("up", "--verified", "--yes");
    expect(up.code, up.stdout + up.stderr).toBe(1);
    await oldAnswers();
    expect(readFileSync(stack.file, "utf8")).toBe(text);
    // Docker may have started it again by the time that it is seen, without its exit code then.
    expect(up.stderr).toMatch(
      /The update was put back: the start of dgx\.b failed \(it ended[^)]*\)\.\nWhat runs is the stack file that was verified last \(\S+\.yaml\); the probes that passed before pass again \(\d+\)\./,
    );
    const [folder = ""] = failedFolders();
    const kept = readdirSync(join(state(), folder)).sort();
    expect(kept).toEqual(["Pulumi.test.yaml", "doctor.txt", `${stack.container}.log`]);
    expect(readFileSync(join(state(), folder, "Pulumi.test.yaml"), "utf8")).toBe(text);
    expect(readFileSync(join(state(), folder, `${stack.container}.log`), "utf8")).toContain(
      "RuntimeError: this one is broken",
    );
    for (const name of kept)
      expect(statSync(join(state(), folder, name)).mode & 0o777, name).toBe(0o600);
    expect(JSON.parse(stack.record() ?? "")).toMatchObject({
      failed: { kept: join(state(), folder) },
    });
  });

  it("is said first, and refused by the engine, until somebody says so", async () => {
    const before = await stack.running();
    const [plan, up, verified, preview, plain] = [
      await stack.serving("plan"),
      await stack.serving("up", "--yes"),
      await stack.serving("up", "--verified", "--yes"),
      await stack.workspace.preview(),
      await stack.workspace.up("--skip-preview"),
    ];
    expect([plan.code, up.code, verified.code]).toEqual([0, 1, 1]);
    for (const { stderr } of [plan, up, verified]) expect(stderr).toMatch(TRIED);
    expect(up.stdout).toBe("");
    expect(preview.stdout).toMatch(
      new RegExp(`\`up\` would refuse this:\\n +preflight of dgx: ${TRIED.source}`),
    );
    expect(plain.code).not.toBe(0);
    expect(plain.stdout + plain.stderr).toMatch(TRIED);
    expect(plain.steps.filter(({ type }) => !type.startsWith("pulumi:"))).toEqual([]);
    expect(await stack.running()).toEqual(before);
  });

  it("changes nothing with the verified stack file", async () => {
    stack.configure();
    const up = await stack.workspace.up("--skip-preview");
    expect([up.code, up.steps], up.stdout).toEqual([0, []]);
  });

  it("keeps a right image, from then on the verified one", async () => {
    stack.configure(right);
    const up = await stack.serving("up", "--verified", "--yes");
    expect(up.code, up.stdout + up.stderr).toBe(0);
    expect(up.stderr).toMatch(
      /The update is done, and every probe of what changed passed \(\d+\)\. The stack file is the one to go back to from now on\./,
    );
    expect((await stack.running()).image).toBe(right?.reference);
    const [verified = ""] = readdirSync(state()).filter((name) => /^verified-/.test(name));
    expect(readFileSync(join(state(), verified), "utf8")).toBe(readFileSync(stack.file, "utf8"));
    // The other settings stay what they are: put back.
    expect(JSON.parse(stack.record() ?? "")).toHaveProperty("failed");
    expect(stack.record()).not.toContain("underWay");
  });

  it("is finished by the next `serving up` where it was killed, the engine alive or not", async () => {
    stack.configure();
    for (const whom of ["command", "everything"] as const) {
      await stack.killed(/dgx-b deleting original/, whom, "up", "--verified", "--yes");
      expect(JSON.parse(stack.record() ?? "")).toMatchObject({ underWay: { step: "forward" } });
      const next = await stack.serving("up", "--yes");
      expect(next.code, next.stdout + next.stderr).toBe(0);
      expect(next.stderr).toMatch(BROKEN_OFF);
      if (whom === "command") {
        await oldAnswers();
        stack.configure(right);
      }
    }
    expect((await stack.running()).image).toBe(right?.reference);
    expect(await stack.callsTools()).toBe(true);
  });

  it("lets settings that were put back through to whoever says so", async () => {
    stack.configure(broken);
    const env = { LOCAL_SERVING_AGAIN: "1" };
    const words = ["preview", "--stack", stack.workspace.stack, "--color", "never"];
    const preview = await stack.servingWith(env, ...words);
    expect(preview.code).toBe(0);
    expect(preview.stdout).not.toContain("would refuse");
    expect(preview.stdout.split(NOTE)).toHaveLength(2);
    const up = await stack.serving("up", "--again", "--yes");
    expect(up.code, up.stdout + up.stderr).toBe(0);
    expect(up.stderr).not.toMatch(TRIED);
    // The preview says it, and the update doesn't repeat it.
    expect(up.stdout.split(NOTE)).toHaveLength(2);
    expect(up.stderr).toMatch(
      /^Next: (?:npx --no -- )?serving status --wait, then (?:npx --no -- )?serving verify \(b answers after [^\n]+\)\n$/,
    );
  });

  it("is forgotten by `serving down`", async () => {
    expect(stack.record()).not.toBeUndefined();
    const down = await stack.serving("down", "--yes");
    expect(down.code, down.stdout + down.stderr).toBe(0);
    expect(existsSync(join(stack.workspace.home, ".local/share/local-serving/dgx"))).toBe(false);
    expect(down.stderr).toMatch(
      /^Kept on dgx: \d+ images?\.\n`serving status --leftovers` lists what is left, each with the command that removes it\.\nTo remove the program too: \S+uninstall\.md\.\n$/m,
    );
  });

  it("is killed half way through a first `up`, and the next one goes on", async () => {
    await stack.killed(/Network \S+ creating/, "everything", "up", "--yes");
    const next = await stack.serving("up", "--yes");
    expect(next.code, next.stdout + next.stderr).toBe(0);
    expect(next.stderr).toMatch(/^The engine \(process \d+\) was killed: its lock is removed\.$/m);
    expect((await stack.running()).image).not.toBe("");
    const down = await stack.serving("down", "--yes");
    expect(down.code, down.stdout + down.stderr).toBe(0);
  });

  it.each([
    ["command", "SIGTERM"],
    ["everything", "SIGTERM"],
    ["everything", "SIGHUP"],
  ] as const)(
    "leaves no lock and nothing half made where %s gets %s in a first `up`",
    async (whom, signal) => {
      await stack.signalled(/Network \S+ creating/, { whom, signal }, "up", "--yes");
      expect(JSON.parse(await stack.workspace.state()).deployment).not.toHaveProperty(
        "pending_operations",
      );
      const next = await stack.serving("up", "--yes");
      expect(next.code, next.stdout + next.stderr).toBe(0);
      expect(next.stdout + next.stderr).not.toMatch(/was killed|pulumi cancel|half made/);
      const down = await stack.serving("down", "--yes");
      expect(down.code, down.stdout + down.stderr).toBe(0);
    },
  );
});
