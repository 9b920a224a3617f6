import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { stoppedContainers } from "../../components/preflight/preflight";
import { serverInput } from "../fixtures/machine";
import { twoMachines } from "../fixtures/ranks";
import { BRIDGE, CHAT_UI, planned } from "../fixtures/services";
import { FakeSsh } from "../layers/fakeSsh";
import { httpServer } from "../layers/httpServer";
import { atKeyboard } from "../layers/keyboard";
import { lookSooner } from "../layers/lookSooner";
import { temporaryFolder } from "../layers/temporaryFolder";
import { markApplied } from "./applied";
import { type Answers, FakeDocker, inspectedAsPlanned } from "./fakeDocker";
import { runServing } from "./runServing";

lookSooner();

const B = "vllm-model-8001";
const ONE = {
  dgx: {
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: 0.4 },
    inferenceServers: { b: serverInput() },
    ...{ bridge: BRIDGE, chatUi: CHAT_UI, simpleServer: { mode: "host" } },
  },
};

/**
 * Runs a command over these machines, with a Docker that answers so, and an ssh that leads here.
 */
async function serving(args: readonly string[], answers: Answers, machines: object = ONE) {
  const folder = temporaryFolder("start-stop-");
  const file = join(folder, "Pulumi.dgx.yaml");
  writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
  const [docker, ssh] = [new FakeDocker(answers), new FakeSsh()];
  const [word = "", name = "", ...options] = args;
  const env = { PATH: `${docker.folder}:${ssh.folder}:${process.env.PATH}`, HOME: folder };
  markApplied(folder, ...Object.keys(machines));
  const ran = await runServing([word, name, "--file", file, ...options], env);
  const asked = readFileSync(docker.asked, "utf8").split("\n").filter(Boolean);
  const plain = (text: string) => text.replaceAll(` --file ${file}`, "");
  return {
    ...ran,
    out: plain(ran.out),
    err: plain(ran.err),
    asked: asked.map((line) => line.replace(/^\S* /, "")),
  };
}

const GONE = { err: `Error response from daemon: No such container: ${B}\n`, code: 1 };
const { code: _, ...FINE } = { code: 0, out: `${B}\n` };

describe("serving stop and start", () => {
  it.each(["stop", "start", "logs"])("%s without a name says which there are", async (word) => {
    const file = join(temporaryFolder("unnamed-"), "Pulumi.dgx.yaml");
    const said = async (machines: object) => {
      writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
      return runServing([word, "--file", file]);
    };
    const refused = (err: string) => ({ code: 2, out: "", err });
    expect(await said(ONE)).toEqual(refused("Say which one: b, bridge, chat-ui.\n"));
    const bare = { totalGiB: 121.63, instanceA: "none" };
    expect(await said({ dgx: bare })).toEqual(
      refused("Nothing in the stack file runs in a container.\n"),
    );
    expect(await said({ dgx: ONE.dgx, dgx2: { ...bare, dockerHost: "ssh://me@dgx2" } })).toEqual(
      refused("Say which one: dgx.b, dgx.bridge, dgx.chat-ui.\n"),
    );
  });

  it("gives the daemon's reason for a start that failed, and names doctor", async () => {
    const reason =
      "Error response from daemon: Bind for 0.0.0.0:8787 failed: port is already allocated";
    const err = `${reason}\nError: failed to start containers: litellm-8787\n`;
    const start = await serving(["start", "bridge"], { "start ": { err, code: 1 } });
    expect([start.code, start.err]).toEqual([
      1,
      `docker start failed: ${reason}. \`serving doctor\` looks for the cause.\n`,
    ]);
  });

  it("gives the reason and not the hint at the help, by which Docker's newer client ends", async () => {
    const reason = 'Error response from daemon: could not select device driver "nvidia"';
    const err = `docker: ${reason}\n\nRun 'docker start --help' for more information\n`;
    const start = await serving(["start", "bridge"], { "start ": { err, code: 125 } });
    expect(start.err).toBe(
      `docker start failed: ${reason}. \`serving doctor\` looks for the cause.\n`,
    );
  });

  it("stops a server, and says what is free and how it starts again", async () => {
    const { code, out, asked } = await serving(["stop", "b"], { "stop ": FINE });
    expect([code, asked]).toEqual([0, [`stop ${B}`]]);
    expect(out).toMatch(
      new RegExp(
        `^${B} is stopped\\. MemAvailable is [\\d.]+ GiB\\.\n\`serving start b\` starts it again\\.\n$`,
      ),
    );
  });

  it("lets a server's requests end before it stops it, unless they get no time", async () => {
    let looks = 0;
    const { port } = await httpServer((_, response) => {
      looks += 1;
      response.end(`vllm:num_requests_running{model_name="m"} ${looks < 3 ? 1 : 0}.0\n`);
    });
    const dgx = { ...ONE.dgx, inferenceServers: { b: serverInput({ port }) } };
    const stop = async (more: object) => {
      looks = 0;
      const { code, err, asked } = await serving(
        ["stop", "b"],
        { "stop ": FINE },
        { dgx: { ...dgx, ...more } },
      );
      return { code, err, asked, looks };
    };
    expect(await stop({})).toEqual({
      code: 0,
      err: expect.stringMatching(
        /^dgx\.b: waiting for 1 of its requests to end, at most \d+ s more .*\ndgx\.b: its requests have ended\.\n$/,
      ),
      asked: [`stop vllm-model-${port}`],
      looks: 3,
    });
    expect(await stop({ waitForRequestsMinutes: 0 })).toMatchObject({ code: 0, err: "", looks: 0 });
  });

  it("starts a server, and says what follows it", async () => {
    const { code, out, asked } = await serving(["start", B], { "start ": FINE });
    expect([code, asked]).toEqual([0, [`start ${B}`]]);
    expect(out).toBe(`${B} is started.\n\`serving status --wait\` follows it.\n`);
  });

  it("gives JSON", async () => {
    const { out } = await serving(["stop", "bridge", "--format", "json"], { "stop ": FINE });
    expect(JSON.parse(out)).toEqual({
      version: 1,
      stop: [{ machine: "dgx", container: "litellm-8787", availableGiB: expect.any(Number) }],
    });
  });

  describe("where two machines have what is named", () => {
    const each = { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: serverInput() } };
    const dgx = { ...each, bridge: BRIDGE };
    const home = temporaryFolder("two-bridges-");
    const two = { dgx1: { ...dgx, home }, dgx2: { ...dgx, home, dockerHost: "ssh://me@dgx2" } };
    markApplied(home, "dgx1", "dgx2");

    it.each([["start"], ["stop"], ["logs"]])("%s names the command for each", async (word) => {
      const { code, out, err, asked } = await serving([word, "bridge"], {}, two);
      expect([code, out, asked]).toEqual([2, "", []]);
      expect(err).toBe(
        `bridge is on several machines. Type one of these:\n  serving ${word} dgx1.bridge\n  serving ${word} dgx2.bridge\n`,
      );
    });

    it("these commands work", async () => {
      for (const name of ["dgx1.bridge", "dgx2.bridge"]) {
        const stopped = await serving(["stop", name, "--format", "json"], { "stop ": FINE }, two);
        expect(JSON.parse(stopped.out).stop).toMatchObject([
          { machine: name.split(".")[0], container: "litellm-8787" },
        ]);
        const started = await serving(["start", name], { "start ": FINE }, two);
        expect([started.code, started.out]).toEqual([0, "litellm-8787 is started.\n"]);
        const log = { "logs ": { out: "a line\n" } };
        expect((await serving(["logs", name], log, two)).out).toBe("a line\n");
      }
    });

    it("asks at a terminal, and goes on with the one that is chosen", async () => {
      const { code, out, err } = await atKeyboard(["3", "2"], () =>
        serving(["stop", "bridge"], { "stop ": FINE }, two),
      );
      expect(stripVTControlCharacters(err).replaceAll("\r", "")).toBe(
        "bridge is on several machines.\n  1  dgx1.bridge\n  2  dgx2.bridge\nWhich one? 3\n`3` is none of these.\nWhich one? 2\n",
      );
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(
          /^litellm-8787 is stopped\. .*\n`serving start dgx2\.bridge` starts it again\.\n$/,
        ),
      ]);
    });
  });

  it("takes all ranks: stops the head first, starts the workers first", async () => {
    const home = temporaryFolder("start-stop-home-");
    const machines = twoMachines({}, { home }, { home });
    markApplied(home, ...Object.keys(machines));
    const [head, worker] = [B, `${B}-rank1`];
    const stop = await serving(["stop", "b"], { "stop ": FINE }, machines);
    expect([stop.code, stop.asked]).toEqual([0, [`stop ${head}`, `stop ${worker}`]]);
    const start = await serving(["start", worker], { "start ": FINE }, machines);
    expect([start.code, start.asked]).toEqual([0, [`start ${worker}`, `start ${head}`]]);
  });

  it.each([
    ["start", "b", `There is no container ${B} on dgx: \`serving up --refresh\` makes it.\n`],
    ["stop", "b", `There is no container ${B} on dgx: \`serving up --refresh\` makes it.\n`],
    ["stop", "ollama", "Ollama is systemd's: run `sudo systemctl stop ollama.service`.\n"],
    [
      "start",
      "instanceA",
      "Instance A isn't ours: nothing here starts or stops it. Whoever runs it does that.\n",
    ],
  ])("refuses: %s %s", async (word, name, said) => {
    const { code, err, asked } = await serving([word, name], { "stop ": GONE, "start ": GONE });
    expect([code, err]).toEqual([1, said]);
    expect(asked.length).toBe(name === "b" ? 1 : 0);
  });

  it("says of an Ollama in the chat UI how both are stopped", async () => {
    const machines = { dgx: { ...ONE.dgx, simpleServer: { mode: "integrated" } } };
    const { code, err, asked } = await serving(["stop", "ollama"], {}, machines);
    expect([code, asked]).toEqual([1, []]);
    expect(err).toBe("Ollama runs inside open-webui-8080: `serving stop chat-ui` stops both.\n");
  });

  it("says what Docker says where it fails otherwise, and names that it doesn't know", async () => {
    const { code, err } = await serving(["stop", "b"], {
      "stop ": { err: "permission denied\n", code: 1 },
    });
    expect([code, err]).toEqual([1, "docker stop failed: permission denied\n"]);
    expect((await serving(["stop", "x"], {})).code).toBe(2);
  });
});

describe("serving logs", () => {
  const SECRET = "hf_AbCdEfGhIjKlMnOpQrSt";

  it("prints the end of a log of both outputs, without keys and control characters", async () => {
    const err = `one\nHF_TOKEN=${SECRET} \u001b[31mtwo\n`;
    const { code, out, asked } = await serving(["logs", "b", "--tail", "7"], {
      logs: { out: "zero\n", err },
    });
    expect([code, out]).toEqual([0, "zero\none\nHF_TOKEN=<redacted> two\n"]);
    expect(asked).toEqual([`logs --tail 7 ${B}`]);
  });

  it("gives JSON", async () => {
    const { out } = await serving(["logs", "chatUi", "--format", "json"], {
      logs: { out: `a\ntoken=${SECRET}\n` },
    });
    const lines = ["a", "token=<redacted>"];
    expect(JSON.parse(out)).toEqual({
      version: 1,
      logs: [{ machine: "dgx", name: "open-webui-8080", lines }],
    });
  });

  it("follows the log of each rank, and says of which one it ends", async () => {
    const home = temporaryFolder("follow-home-");
    const machines = twoMachines({}, { home }, { home });
    markApplied(home, ...Object.keys(machines));
    const [head, worker] = [B, `${B}-rank1`];
    const { code, out, err, asked } = await serving(
      ["logs", "b", "--follow", "--tail", "3"],
      { logs: { out: "2026-11-30T21:20:01.000000000Z a line\n" }, "ps ": {} },
      machines,
    );
    const [first, second] = Object.keys(machines);
    expect([code, out.split("\n").sort()]).toEqual([
      0,
      ["", `${first}: a line`, `${second}: a line`],
    ]);
    expect(err.split("\n").sort()).toEqual([
      "",
      `${first}: ${head} isn't running: its log ends here.`,
      `${second}: ${worker} isn't running: its log ends here.`,
    ]);
    expect(asked).toContain(`logs --timestamps --follow --tail 3 ${worker}`);
  });

  it("says that there is no such container, and how one comes", async () => {
    const { code, err } = await serving(["logs", "b"], { logs: GONE });
    expect([code, err]).toEqual([
      1,
      `The log of ${B} can't be read: Error response from daemon: No such container: ${B}. \`serving up --refresh\` makes it.\n`,
    ]);
  });

  it("refuses instance A, and a stream as JSON", async () => {
    const a = await serving(["logs", "a"], {});
    expect([a.code, a.err, a.asked]).toEqual([
      2,
      "Instance A isn't ours: whoever starts it knows where its log is.\n",
      [],
    ]);
    const json = await serving(["logs", "b", "-f", "--format", "json"], {});
    expect([json.code, json.err]).toEqual([
      2,
      "--follow prints lines as they come: leave out --format json.\n",
    ]);
  });

  it("reads the journal of an Ollama that is systemd's", async () => {
    const folder = temporaryFolder("journal-");
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin/journalctl"), '#!/bin/sh\necho "$*"\n', { mode: 0o755 });
    const file = join(folder, "Pulumi.dgx.yaml");
    writeFileSync(file, stringify({ config: { "local-serving:machines": ONE } }));
    const env = { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
    const { code, out } = await runServing(["logs", "ollama", "--file", file, "--tail", "9"], env);
    expect([code, out]).toEqual([0, "--no-pager --unit ollama.service --lines 9\n"]);
  });
});

describe("a preview", () => {
  it("says which containers are stopped, and how they start", async () => {
    const machine = planned();
    const all = machine.containers.map((each) => ({
      ...inspectedAsPlanned(each, { Status: "exited" }),
      Id: each.name,
    }));
    const [b, bridge] = all;
    if (b === undefined || bridge === undefined) throw new Error("no containers");
    const other = { ...bridge, Name: "/somebody-elses" };
    const docker = new FakeDocker({
      "ps --all --quiet --no-trunc --filter status=exited": { out: "1\n2\n" },
      inspect: { out: JSON.stringify([b, other]) },
    });
    const before = process.env.PATH;
    process.env.PATH = docker.env.PATH;
    try {
      expect(await stoppedContainers(machine)).toEqual([
        {
          verdict: "warned",
          message: `${B} is stopped. An update that doesn't replace it leaves it stopped: \`serving start b\` starts it.`,
        },
      ]);
    } finally {
      process.env.PATH = before;
    }
    expect(await stoppedContainers({ ...machine, dockerHost: "unix:///nonexistent.sock" })).toEqual(
      [],
    );
  });
});
