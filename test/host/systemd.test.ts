import { execFileSync, spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SYSTEMD_CHECK } from "../../components/host/systemdDropIn";
import { dropInPath, environmentLine } from "../../components/host/systemdText";
import { temporaryFolder } from "../layers/temporaryFolder";

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
const why = hasSystemd ? "" : " (skipped: no systemd-analyze on PATH)";

function check(text: string, env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", SYSTEMD_CHECK], {
    input: text,
    encoding: "utf8",
    env,
  });
  return { status, said: stdout.trim(), refused: stderr.trim() };
}

describe("a line of a unit file", () => {
  it.each([
    ["A", "b", 'Environment="A=b"'],
    ["A", "two words", 'Environment="A=two words"'],
    ["A", 'say "hi"', 'Environment="A=say \\"hi\\""'],
    ["A", "C:\\models", 'Environment="A=C:\\\\models"'],
    ["A", "100%", 'Environment="A=100%%"'],
    ["A", "", 'Environment="A="'],
    ["A", "$HOME ; # 'x'", "Environment=\"A=$HOME ; # 'x'\""],
  ])("%s=%s is %s", (name, value, line) => {
    expect(environmentLine(name, value)).toBe(line);
  });

  it("can't hold a line break", () => {
    expect(() => environmentLine("A", "b\nExecStart=/bin/sh")).toThrow(
      "The value of A has a line break",
    );
  });

  it("lies in the unit's own folder, where an operator's later name wins", () => {
    expect(dropInPath("/etc/systemd/system", "ollama.service")).toBe(
      "/etc/systemd/system/ollama.service.d/50-local-serving.conf",
    );
  });
});

describe.runIf(hasSystemd)(`what systemd says of a drop-in${why}`, () => {
  const scratch = temporaryFolder("systemd-");

  it("is nothing for one that is right", () => {
    expect(check('[Service]\nEnvironment="OLLAMA_HOST=0.0.0.0:11434"\n')).toEqual({
      status: 0,
      said: "",
      refused: "",
    });
  });

  it.each([
    ["a misspelt section", '[Servce]\nEnvironment="A=b"\n', "Unknown section 'Servce'"],
    ["a misspelt key", '[Service]\nEnvironmnt="A=b"\n', "Unknown key 'Environmnt'"],
    ["a missing quote", '[Service]\nEnvironment="A=b\n', 'Invalid syntax, ignoring: "A=b'],
    [
      "a line before the section",
      'Environment="A=b"\n[Service]\n',
      "Assignment outside of section",
    ],
    [
      "an unknown specifier",
      '[Service]\nEnvironment="A=%z"\n',
      "Failed to resolve specifiers in A=%z",
    ],
    [
      "an unquoted blank",
      "[Service]\nEnvironment=A=a b\n",
      "Invalid environment assignment, ignoring: b",
    ],
  ])("refuses %s, which its exit code would not", (_, text, words) => {
    const { status, refused } = check(text);
    expect(status).toBe(1);
    expect(refused).toContain("systemd does not accept the drop-in, and nothing was changed:");
    expect(refused).toContain(words);
  });

  it("leaves nothing behind", () => {
    check("[Service]\n", { ...process.env, TMPDIR: scratch });
    check("[Servce]\n", { ...process.env, TMPDIR: scratch });
    expect(execFileSync("ls", ["-A", scratch], { encoding: "utf8" })).toBe("");
  });

  it("is nothing for any value that we quote", () => {
    const value = fc.string({ unit: fc.constantFrom(..."ab \\\"'%$;#=[]{}é\t"), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 20 }), (values) => {
        const lines = values.map((each, index) => environmentLine(`V${index}`, each));
        expect(check(`[Service]\n${lines.join("\n")}\n`).refused).toBe("");
      }),
      { numRuns: 30 },
    );
  });
});

describe("a machine without systemd-analyze", () => {
  it("is told that nothing was checked", () => {
    expect(check("[Servce]\n", { PATH: "/nonexistent" })).toEqual({
      status: 0,
      said: "There is no systemd-analyze here: the drop-in was not checked.",
      refused: "",
    });
  });
});
