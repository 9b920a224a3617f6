import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { followedLog } from "../../../cli/sees/followedLog";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { inspected } from "../fakeDocker";

const at = (second: number, text: string) => `2026-11-30T21:20:0${second}.000000000Z ${text}\n`;

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A `docker` that is asked for one log after the other, and then for the state of the container. */
function dockerOf(logs: readonly string[], states: readonly string[]): string {
  const folder = temporaryFolder("followed-");
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
  logs.forEach((log, index) => void put(`logs${index + 1}`, log));
  states.forEach((Status, index) => {
    put(`inspect${index + 1}`, JSON.stringify([inspected({ name: "b", state: { Status } })]));
  });
  const script = `#!/bin/sh
cd '${folder}'
echo "$*" >>asked
[ "$1" = ps ] && { echo id; exit; }
cat "$1$(grep -c "^$1" asked)"
`;
  writeFileSync(join(folder, "docker"), script, { mode: 0o755 });
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
  return folder;
}

it("goes on behind the last line where Docker lets go, until the container stays ended", async () => {
  dockerOf(
    [
      `${at(1, "one")}${at(2, "two 10 %\rtwo 100 %")}`,
      `${at(2, "two 10 %\rtwo 100 %")}${at(3, "one")}`,
      at(3, "one"),
    ],
    ["running", "restarting", "exited"],
  );
  const lines: string[] = [];
  const log = { name: "b", dockerHost: "unix:///var/run/docker.sock", tail: 5 };
  const { code } = await followedLog(log, (text) => void lines.push(text), 0);
  expect([code, lines]).toEqual([0, ["one", "two 10 %", "two 100 %", "one"]]);
});
