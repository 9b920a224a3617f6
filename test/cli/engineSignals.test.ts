import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");

/**
 * Stands for the engine: it ends in order at its first INT or TERM, which it tells in the log of its
 * events as Pulumi 3.248.0 does, and says how many it got. HUP would end it at once.
 */
const ENGINE = `#!/bin/sh
[ "$1" = stack ] && exit
for last; do :; done
told() {
  signals="$signals$1"
  echo '{"stdoutEvent":{"message":"'$2' received; cancelling. If you ..."}}' >>"$last"
  ends=\${ends:-15}
}
trap 'told INT ^C' INT
trap 'told TERM SIGTERM' TERM
echo began >>"$LOG"
while [ "\${ends:-1}" -gt 0 ]; do sleep 0.1; [ -z "$ends" ] || ends=$((ends - 1)); done
echo "ended by $signals" >>"$LOG"
exit 255
`;

let folder = "";
beforeEach(() => {
  folder = temporaryFolder("engine-signals-");
  writeFileSync(join(folder, "pulumi"), ENGINE, { mode: 0o755 });
  writeFileSync(join(folder, "log"), "");
});

const log = () => readFileSync(join(folder, "log"), "utf8");

/** Begins an update, in a process group of its own, and returns it once its engine runs. */
async function begun(word: string): Promise<ChildProcess> {
  const serving = spawn("node", [join(PROJECT, "bundle/serving.cjs"), word, "--yes"], {
    cwd: PROJECT,
    detached: true,
    stdio: "ignore",
    env: {
      ...process.env,
      PATH: `${folder}:${process.env.PATH}`,
      LOG: join(folder, "log"),
      PULUMI_BACKEND_URL: `file://${folder}`,
      PULUMI_CONFIG_PASSPHRASE: "",
    },
  });
  onTestFinished(() => void serving.kill("SIGKILL"));
  await vi.waitFor(() => expect(log()).toBe("began\n"), { timeout: 60_000 });
  return serving;
}

// The engine is looked at once a second, and ends 1.5 s after its first signal: a second one would
// come before that.
describe("a signal that ends an update", () => {
  it.each([
    ["up", "SIGTERM"],
    ["up", "SIGHUP"],
    ["down", "SIGTERM"],
  ] as const)("ends the engine in order first: %s, %s", async (word, signal) => {
    const serving = await begun(word);
    serving.kill(signal);
    expect(await once(serving, "exit")).toEqual([null, signal]);
    expect(log()).toBe("began\nended by INT\n");
  });

  it.each([
    ["SIGTERM", "TERM"],
    ["SIGINT", "INT"],
  ] as const)("isn't told a second time where all of a group got it: %s", async (signal, told) => {
    const serving = await begun("up");
    process.kill(-(serving.pid ?? Number.NaN), signal);
    expect(await once(serving, "exit")).toEqual([null, signal]);
    expect(log()).toBe(`began\nended by ${told}\n`);
  });
});
