import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BRIDGE } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";
import { clientText, launcherLines } from "./client";

const KEYED_BRIDGE = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };

describe("the variables of a chat-completions client", () => {
  it("are a base URL with /v1, a placeholder and the served name", () => {
    const lines = clientText("client-env", { clientEnv: {} }).split("\n");
    expect(lines).toContain("OPENAI_BASE_URL=http://127.0.0.1:8001/v1");
    expect(lines).toContain("OPENAI_API_KEY=local-serving-placeholder");
    expect(lines).toContain("OPENAI_MODEL=model");
  });

  it("hold no key where the key is a secret", () => {
    const file = clientText(
      "client-env",
      { clientEnv: { via: "bridge" } },
      { bridge: KEYED_BRIDGE },
    );
    expect(file).not.toMatch(/^OPENAI_API_KEY=/m);
    expect(file).toContain("BRIDGE_KEY of your shell");
  });

  it("survive a shell under any name of a model", () => {
    const folder = temporaryFolder("env-");
    for (const name of ["plain-1.0", "it's", "$HOME", "`id`", "a;b", 'say"hi"', "back\\slash"]) {
      const file = join(folder, "client.env");
      writeFileSync(file, clientText("client-env", { clientEnv: { model: name } }));
      const run = spawnSync("dash", ["-c", `. ${file}; printf %s "$OPENAI_MODEL"`], {
        encoding: "utf8",
      });
      expect(run.stdout).toBe(name);
    }
  });

  it("come with a launcher that differs from Codex's in these lines", () => {
    expect(launcherLines("client-env", { clientEnv: {} })).toEqual([
      "# Starts any chat-completions client (`local-env PROGRAM ARGUMENTS`) with the model model, once its server answers.",
      '[ $# -gt 0 ] || stop 64 "$me: say what to start: local-env PROGRAM ARGUMENTS"',
      "key=local-serving-placeholder key_name='its file'",
      "set -a",
      ". '/home/me/.local/share/local-serving/clients/client.env'",
      "set +a",
      'exec "$@"',
    ]);
  });
});
