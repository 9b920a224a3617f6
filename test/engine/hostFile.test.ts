import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { snapshot } from "../host/hostFileRun";
import { type DeclaredFiles, engineMissing, HostFileStack } from "./hostFileProgram";

const missing = engineMissing();
const TOKEN = "hf_NoOutputMayHoldThis";
/** Each run of the engine takes some seconds, so each test looks at several things of one run. */
const LIMIT_MS = 120_000;
const options = { timeout: LIMIT_MS };

describe.skipIf(missing)(`host files under the real engine${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let stack: HostFileStack;
  const at = (name: string) => join(stack.machine, name);
  const text = (name: string) => readFileSync(at(name), "utf8");
  const DROP_IN = "ollama.service.d/50-local-serving.conf";
  /** What systemctl was asked, and what the drop-in held at that moment. */
  const asked = () => readFileSync(join(stack.root, "systemctl.log"), "utf8").trim().split("\n");
  const restartsWith = (value: string) => [
    `daemon-reload (${value})`,
    `restart -- ollama.service (${value})`,
  ];

  beforeAll(() => {
    stack = new HostFileStack({ TEST_TOKEN: TOKEN });
    writeFileSync(at("theirs.json"), "theirs\n");
    chmodSync(at("theirs.json"), 0o640);
    stack.program("sudo", '#!/bin/sh\n[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n');
    stack.program(
      "systemctl",
      `#!/bin/sh\nheld=$(grep -o 'A=[a-z0-9]*' '${at(DROP_IN)}' 2>/dev/null) || held=nothing\necho "$* ($held)" >>'${stack.root}/systemctl.log'\n`,
    );
  }, LIMIT_MS);
  afterAll(() => stack.close());

  const declared = (theirs: string, service = '[Service]\nEnvironment="A=one"\n'): DeclaredFiles => ({
    files: [
      { name: "theirs", path: at("theirs.json"), text: theirs },
      { name: "ours", path: at("a/b/ours.conf"), text: "x = 1\n", mode: "0600" },
      { name: "token", path: at("secrets/token"), variable: "TEST_TOKEN" },
    ],
    dropIn: { unit: "ollama.service", path: at(DROP_IN), text: service },
  });

  it("are written, what was there is kept, and a drop-in's unit is restarted with it", options, () => {
    stack.declare(declared("ours 1\n"));
    const up = stack.up();
    expect(up.code, up.printed).toBe(0);
    expect([text("theirs.json"), text("a/b/ours.conf"), text("secrets/token")]).toEqual([
      "ours 1\n",
      "x = 1\n",
      TOKEN,
    ]);
    expect(statSync(at("secrets/token")).mode & 0o777).toBe(0o600);
    expect(asked()).toEqual(restartsWith("A=one"));
    expect(up.printed).toContain(`${at("a/b/ours.conf")} was written.`);
    expect(up.printed).not.toContain(TOKEN);
    expect(stack.state()).not.toContain(TOKEN);
  });

  it("are left alone, and nothing restarts, when nothing changed", options, () => {
    expect(stack.up("--expect-no-changes").code).toBe(0);
    expect(asked()).toEqual(restartsWith("A=one"));
  });

  it("change alone, with the changed lines to be read, and a drop-in restarts its unit", options, () => {
    stack.declare(declared("ours 2\n", '[Service]\nEnvironment="A=two"\n'));
    expect(stack.steps().sort()).toEqual([
      "update Command drop-in-check: stdin",
      "update Command drop-in-restart: environment",
      "update Command drop-in: stdin",
      "update Command theirs: stdin",
      "update HostFile drop-in",
      "update HostFile theirs",
    ]);
    const up = stack.up("--diff");
    expect(up.code, up.printed).toBe(0);
    expect(up.printed).toMatch(/- ours 1/);
    expect(up.printed).toMatch(/\+ ours 2/);
    expect(up.printed).not.toContain("umask");
    expect(text("theirs.json")).toBe("ours 2\n");
    expect(asked()).toEqual([...restartsWith("A=one"), ...restartsWith("A=two")]);
  });

  it("edited, renamed, moved and replaced at once: nothing of anybody's is lost", options, () => {
    writeFileSync(at("theirs.json"), "ours 2, and mine\n");
    stack.declare({
      ...declared("", '[Service]\nEnvironment="A=two"\n'),
      files: [
        { name: "theirs", path: at("theirs.json"), text: "ours 3\n" },
        { name: "renamed", path: at("a/b/ours.conf"), text: "x = 1\n", mode: "0600" },
        { name: "token", path: at("elsewhere/token"), variable: "TEST_TOKEN" },
      ],
    });
    const up = stack.up(
      "--replace",
      "urn:pulumi:test::local-serving::local-serving:index:HostFile$command:local:Command::theirs",
    );
    expect(up.code, up.printed).toBe(0);
    expect(up.printed).toContain(`the edited file is kept as ${at("theirs.json.edited")}.`);
    expect([text("theirs.json"), text("theirs.json.edited")]).toEqual(["ours 3\n", "ours 2, and mine\n"]);
    expect(text("a/b/ours.conf")).toBe("x = 1\n");
    expect(up.printed).toContain(
      `${at("a/b/ours.conf")} stays: it belongs to urn:pulumi:test::local-serving::`,
    );
    expect(text("elsewhere/token")).toBe(TOKEN);
    expect(existsSync(at("secrets"))).toBe(false);
    expect(asked()).toHaveLength(4);
  });

  it("that can't be written fail in words, without the script and without the secret", options, () => {
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
    const up = stack.up("--continue-on-error");
    expect(up.code).not.toBe(0);
    expect(up.printed).toContain(`${at("link")} is a symbolic link to a. Nothing was changed`);
    expect(existsSync(at("a/token"))).toBe(false);
    expect(up.printed).toContain("Unknown section 'Servce'");
    expect(text(DROP_IN)).toBe('[Service]\nEnvironment="A=two"\n');
    expect(asked()).toHaveLength(4);
    expect(up.printed).not.toContain("umask");
    expect(up.printed).not.toContain(TOKEN);
  });

  it("are restored and removed by destroy, and the unit runs without the drop-in", options, () => {
    const down = stack.pulumi("destroy", "--yes", "--skip-preview");
    expect(down.code, down.printed).toBe(0);
    expect(snapshot(stack.machine)).toEqual({
      link: "link",
      "theirs.json": expect.stringMatching(/^640 \d+:\d+ theirs\n$/),
      "theirs.json.edited": expect.stringMatching(/ours 2, and mine\n$/),
    });
    expect(asked().slice(4)).toEqual(restartsWith("nothing"));
  });
});
