import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { HOST_FILE_SCRIPT } from "../../components/host/hostFileRequest";
import { snapshot } from "../host/hostFileRun";
import { describeEngine } from "./available";
import { type DeclaredFiles, HostFileStack } from "./hostFileStack";
import type { Update } from "./update";

const TOKEN = "hf_NoOutputMayHoldThis";

// Each run of the engine takes some seconds, so each test looks at several things of one run.
describeEngine("host files", () => {
  let stack: HostFileStack;
  const at = (name: string) => join(stack.machine, name);
  const text = (name: string) => readFileSync(at(name), "utf8");
  const DROP_IN = "ollama.service.d/50-local-serving.conf";
  /** What systemctl was asked, and what the drop-in held at that moment. */
  const asked = () => readFileSync(stack.log("systemctl.log"), "utf8").trim().split("\n");
  const restartsWith = (value: string) => [
    `daemon-reload (${value})`,
    `restart -- ollama.service (${value})`,
  ];

  const up = (...flags: string[]) => stack.workspace.up("--skip-preview", ...flags);
  const printed = (update: Update) => update.stdout + update.stderr;
  beforeAll(async () => {
    stack = await HostFileStack.open({ TEST_TOKEN: TOKEN });
    writeFileSync(at("theirs.json"), "theirs\n");
    chmodSync(at("theirs.json"), 0o640);
    stack.program("sudo", '#!/bin/sh\n[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n');
    stack.program(
      "systemctl",
      `#!/bin/sh\nheld=$(grep -o 'A=[a-z0-9]*' '${at(DROP_IN)}' 2>/dev/null) || held=nothing\necho "$* ($held)" >>'${stack.log("systemctl.log")}'\n`,
    );
  });
  afterAll(() => stack.close());

  const declared = (
    theirs: string,
    service = '[Service]\nEnvironment="A=one"\n',
  ): DeclaredFiles => ({
    files: [
      { name: "theirs", path: at("theirs.json"), text: theirs },
      { name: "ours", path: at("a/b/ours.conf"), text: "x = 1\n", mode: "0600" },
      { name: "token", path: at("secrets/token"), variable: "TEST_TOKEN" },
    ],
    dropIn: { unit: "ollama.service", path: at(DROP_IN), text: service },
  });

  it("are written, what was there is kept, and a drop-in's unit is restarted with it", async () => {
    stack.declare(declared("ours 1\n"));
    const done = await up();
    expect(done.code, printed(done)).toBe(0);
    expect([text("theirs.json"), text("a/b/ours.conf"), text("secrets/token")]).toEqual([
      "ours 1\n",
      "x = 1\n",
      TOKEN,
    ]);
    expect(statSync(at("secrets/token")).mode & 0o777).toBe(0o600);
    expect(asked()).toEqual(restartsWith("A=one"));
    expect(printed(done)).toContain(`${at("a/b/ours.conf")} was written.`);
    expect(printed(done)).not.toContain(TOKEN);
    expect(await stack.workspace.state()).not.toContain(TOKEN);
  });

  it("are left alone, and nothing restarts, when nothing changed", async () => {
    expect((await up("--expect-no-changes")).code).toBe(0);
    expect(asked()).toEqual(restartsWith("A=one"));
  });

  it("of an earlier version's script: each is updated, none is written, and nothing restarts", async () => {
    const { workspace } = stack;
    const earlier = join(workspace.root, "earlier.json");
    const script = JSON.stringify(HOST_FILE_SCRIPT);
    const state = await workspace.state();
    expect(state).toContain(script);
    writeFileSync(earlier, state.replaceAll(script, JSON.stringify("exit 1 # earlier\n")));
    expect((await workspace.pulumi("stack", "import", "--file", earlier)).code).toBe(0);
    const paths = ["theirs.json", "a/b/ours.conf", "secrets/token", DROP_IN].map(at);
    const before = paths.map((path) => [statSync(path).ino, statSync(path).mtimeMs]);
    const done = await up("--diff");
    expect(
      done.steps.map(({ op, name, diffs }) => `${op} ${name}: ${diffs}`).sort(),
      printed(done),
    ).toEqual(["drop-in", "ours", "theirs", "token"].map((name) => `update ${name}: environment`));
    expect(paths.map((path) => [statSync(path).ino, statSync(path).mtimeMs])).toEqual(before);
    expect(paths.filter((path) => !printed(done).includes(`${path} is as it should be.`))).toEqual(
      [],
    );
    expect(asked()).toEqual(restartsWith("A=one"));
  });

  it("change alone, with the changed lines to be read, and a drop-in restarts its unit", async () => {
    stack.declare(declared("ours 2\n", '[Service]\nEnvironment="A=two"\n'));
    const done = await up("--diff");
    expect(
      done.steps
        .map(({ op, type, name, diffs }) => `${op} ${type.split(":").at(-1)} ${name}: ${diffs}`)
        .sort(),
    ).toEqual([
      "update Command drop-in-check: stdin",
      "update Command drop-in-restart: environment",
      "update Command drop-in: stdin",
      "update Command theirs: stdin",
    ]);
    expect(done.code, printed(done)).toBe(0);
    expect(printed(done)).toMatch(/- ours 1/);
    expect(printed(done)).toMatch(/\+ ours 2/);
    expect(printed(done)).not.toContain("umask");
    expect(text("theirs.json")).toBe("ours 2\n");
    expect(asked()).toEqual([...restartsWith("A=one"), ...restartsWith("A=two")]);
  });

  it("edited, renamed, moved and replaced at once: nothing of anybody's is lost", async () => {
    writeFileSync(at("theirs.json"), "ours 2, and mine\n");
    stack.declare({
      ...declared("", '[Service]\nEnvironment="A=two"\n'),
      files: [
        { name: "theirs", path: at("theirs.json"), text: "ours 3\n" },
        { name: "renamed", path: at("a/b/ours.conf"), text: "x = 1\n", mode: "0600" },
        { name: "token", path: at("elsewhere/token"), variable: "TEST_TOKEN" },
      ],
    });
    const done = await up(
      "--replace",
      "urn:pulumi:test::local-serving::local-serving:index:HostFile$command:local:Command::theirs",
    );
    expect(done.code, printed(done)).toBe(0);
    expect(printed(done)).toContain(`the edited file is kept as ${at("theirs.json.edited")}.`);
    expect([text("theirs.json"), text("theirs.json.edited")]).toEqual([
      "ours 3\n",
      "ours 2, and mine\n",
    ]);
    expect(text("a/b/ours.conf")).toBe("x = 1\n");
    expect(printed(done)).toContain(
      `${at("a/b/ours.conf")} stays: it belongs to urn:pulumi:test::local-serving::`,
    );
    expect(text("elsewhere/token")).toBe(TOKEN);
    expect(existsSync(at("secrets"))).toBe(false);
    expect(asked()).toHaveLength(4);
  });

  it("that can't be written fail in words, without the script and without the secret", async () => {
    symlinkSync("a", at("link"));
    stack.declare({
      ...declared("", '[Servce]\nEnvironment="A=three"\n'),
      files: [
        { name: "theirs", path: at("theirs.json"), text: "ours 3\n" },
        { name: "renamed", path: at("a/b/ours.conf"), text: "x = 1\n", mode: "0600" },
        { name: "token", path: at("elsewhere/token"), variable: "TEST_TOKEN" },
        { name: "through-a-link", path: at("link/token"), variable: "TEST_TOKEN" },
      ],
    });
    const done = await up("--continue-on-error");
    expect(done.code).not.toBe(0);
    expect(printed(done)).toContain(`${at("link")} is a symbolic link to a. Nothing was changed`);
    expect(existsSync(at("a/token"))).toBe(false);
    expect(printed(done)).toContain("Unknown section 'Servce'");
    expect(text(DROP_IN)).toBe('[Service]\nEnvironment="A=two"\n');
    expect(asked()).toHaveLength(4);
    expect(printed(done)).not.toContain("umask");
    expect(printed(done)).not.toContain(TOKEN);
  });

  it("are restored and removed by destroy, and the unit runs without the drop-in", async () => {
    const down = await stack.workspace.destroy("--skip-preview");
    expect(down.code, printed(down)).toBe(0);
    expect(snapshot(stack.machine)).toEqual({
      link: "link",
      "theirs.json": expect.stringMatching(/^640 \d+:\d+ theirs\n$/),
      "theirs.json.edited": expect.stringMatching(/ours 2, and mine\n$/),
    });
    expect(asked().slice(4)).toEqual(restartsWith("nothing"));
  });
});
