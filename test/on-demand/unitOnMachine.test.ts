import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { scriptText } from "@local-serving/machines/shell";
import { describe, expect, it } from "vitest";
import { httpServer } from "../layers/httpServer";
import { temporaryFolder } from "../layers/temporaryFolder";

const SCRIPT = scriptText("components/services/on-demand/unitOnMachine.sh");
const UNIT = "local-serving-dgx-on-demand.service";

/** Programs that answer as they are told, and write down what they were asked. */
interface Machine {
  /** Exit code and words of `systemctl --user VERB`, where it isn't 0. */
  readonly systemctl?: Readonly<Record<string, readonly [code: number, said: string]>>;
  readonly linger?: "yes" | "no" | "refused";
  /** Status of llama-swap's /health. */
  readonly health?: number;
}

async function machine({ systemctl = {}, linger = "yes", health = 200 }: Machine = {}) {
  const home = temporaryFolder("unit-");
  const log = join(home, "asked");
  writeFileSync(log, "");
  const program = (name: string, lines: readonly string[]) =>
    writeFileSync(
      join(home, name),
      ["#!/bin/sh", `echo "${name} $*" >>'${log}'`, ...lines, ""].join("\n"),
      { mode: 0o755 },
    );
  program("systemctl", [
    `echo "runtime $XDG_RUNTIME_DIR" >>'${log}.runtime'`,
    'case "$2" in',
    ...Object.entries(systemctl).map(
      ([verb, [code, said]]) => `${verb}) echo '${said}' >&2; exit ${code} ;;`,
    ),
    "esac",
  ]);
  program("loginctl", [
    `[ "$1" = show-user ] && echo ${linger === "yes" ? "yes" : "no"}`,
    linger === "refused" ? '[ "$1" = show-user ] || { echo Access denied >&2; exit 1; }' : ":",
  ]);
  program("journalctl", ["echo 'on demand: no Docker answers'"]);
  program("id", ['[ "$1" = -un ] && echo me || echo 4321']);
  program("sleep", [":"]);
  const { url } = await httpServer((_, response) => response.writeHead(health).end());
  const state = join(home, "on-demand/state");
  mkdirSync(join(home, "on-demand"));
  const run = async (word: "start" | "stop", variables: Record<string, string> = {}) => {
    writeFileSync(log, "");
    const child = spawn("sh", ["-c", SCRIPT, "unit", word], {
      env: {
        PATH: `${home}:${process.env.PATH}`,
        UNIT,
        UNIT_PATH: join(home, "user", UNIT),
        STATE: state,
        URL: url,
        ANSWER_SECONDS: "3",
        PROGRAM_SHA256: "p",
        WRAPPER_SHA256: "w",
        CONFIG_SHA256: "c",
        DECLARED_SHA256: "d",
        UNIT_SHA256: "u",
        ...variables,
      },
    });
    child.stdin.end("hash of the key");
    const [out, err] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    const asked = readFileSync(log, "utf8").trim().split("\n");
    const calls = asked.filter((line) => !/^(id|sleep) /.test(line));
    return { code: child.exitCode, out: out.trim(), err: err.trim(), calls };
  };
  return { run, state, url, home, log };
}

const START = [
  "loginctl show-user me --property=Linger --value",
  "systemctl --user show --property=Version",
  "systemctl --user daemon-reload",
  `systemctl --user enable --quiet ${UNIT}`,
  `systemctl --user restart ${UNIT}`,
  `systemctl --user is-active --quiet ${UNIT}`,
];

describe("llama-swap's unit", () => {
  it("is enabled and restarted, and left alone as long as all that it reads is the same", async () => {
    const { run, url, log } = await machine();
    const started = { code: 0, out: `llama-swap answers at ${url}.`, err: "" };
    expect(await run("start")).toEqual({ ...started, calls: START });
    expect(new Set(readFileSync(`${log}.runtime`, "utf8").trim().split("\n"))).toEqual(
      new Set(["runtime /run/user/4321"]),
    );
    expect(await run("start")).toEqual({
      ...started,
      calls: [...START.slice(0, 2), `systemctl --user is-active --quiet ${UNIT}`],
    });
    for (const changed of ["PROGRAM", "WRAPPER", "CONFIG", "DECLARED", "UNIT"])
      expect((await run("start", { [`${changed}_SHA256`]: "other" })).calls, changed).toEqual(
        START,
      );
  });

  it("gets linger where that is off, and says what to run where that is refused", async () => {
    const off = await machine({ linger: "no" });
    expect((await off.run("start")).calls.slice(0, 2)).toEqual([
      START[0],
      "loginctl enable-linger me",
    ]);
    const refused = await machine({ linger: "refused" });
    expect(await refused.run("start")).toMatchObject({
      code: 1,
      out: "",
      err: "The units of me end at logout, and that can't be changed from here (Access denied). Run `sudo loginctl enable-linger me` on this machine, then `serving up` again.",
      calls: [START[0], "loginctl enable-linger me"],
    });
  });

  it("says in one sentence that there is no user manager", async () => {
    const { run } = await machine({ systemctl: { show: [1, "Failed to connect to bus"] } });
    expect(await run("start")).toMatchObject({
      code: 1,
      err: "systemd runs no user manager for me on this machine (Failed to connect to bus): log in there by ssh or at its console, not by `su`, and see `systemctl status user@4321`. Then `serving up` again.",
    });
  });

  it("says what its journal says where it doesn't start or answer, and is restarted then", async () => {
    const broken = await machine({ systemctl: { restart: [1, "Job failed."] } });
    expect((await broken.run("start")).err).toBe(
      `llama-swap's unit does not start: Job failed.\nWhat it said last (\`journalctl --user -u ${UNIT}\`):\non demand: no Docker answers`,
    );
    const silent = await machine({ health: 503 });
    const { code, err } = await silent.run("start");
    expect([code, err]).toEqual([
      1,
      `llama-swap does not answer at ${silent.url} within 3 s. What it said last (\`journalctl --user -u ${UNIT}\`):\non demand: no Docker answers`,
    ]);
    expect((await silent.run("start")).calls).toContain(`systemctl --user restart ${UNIT}`);
  });

  it("is stopped and disabled, and its state goes", async () => {
    const { run, state, home } = await machine({ systemctl: { "is-active": [3, ""] } });
    mkdirSync(state);
    const wants = join(home, "user/default.target.wants");
    mkdirSync(wants, { recursive: true });
    writeFileSync(join(wants, UNIT), "");
    expect(await run("stop")).toMatchObject({
      code: 0,
      err: "",
      calls: [
        START[1],
        `systemctl --user disable --now --quiet ${UNIT}`,
        `systemctl --user is-active --quiet ${UNIT}`,
      ],
    });
    expect([existsSync(state), existsSync(wants)]).toEqual([false, false]);
    const stays = await machine({ systemctl: { disable: [1, "Job timed out."] } });
    expect(await stays.run("stop")).toMatchObject({
      code: 1,
      err: `${UNIT} does not stop: Job timed out.`,
    });
    const gone = await machine({ systemctl: { show: [1, "no bus"] } });
    expect(await gone.run("stop")).toMatchObject({ code: 0, calls: [START[1]] });
  });
});
