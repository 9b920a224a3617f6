import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { docker } from "@local-serving/machines/docker/docker";
import { filesOf } from "@local-serving/machines/files";
import { askOn, commandOn } from "@local-serving/machines/onMachine";
import { afterEach, describe, expect, it, vi } from "vitest";
import { commandsOn } from "../../components/host/commandsOn";
import { HOST_FILE_SCRIPT, hostFileRequest } from "../../components/host/hostFileRequest";
import { freshFolder, snapshot, URN } from "../host/hostFileRun";
import { FakeSsh } from "../layers/fakeSsh";
import { temporaryFolder } from "../layers/temporaryFolder";

const DGX = { dockerHost: "ssh://me@dgx:2222" };
afterEach(() => void vi.unstubAllEnvs());

function withSsh(says?: string): FakeSsh {
  const ssh = new FakeSsh(says);
  vi.stubEnv("PATH", ssh.path);
  return ssh;
}

describe("a command on a machine", () => {
  it("is started as it is where the machine is here", () => {
    expect(commandOn({ dockerHost: HERE }, ["stat", "a b"])).toEqual(["stat", "a b"]);
  });

  it.each([
    ["gives no answer in time", ["sleep", "60"], 0.05, "no answer within 0.05 s"],
    ["isn't there", ["/none/program"], 20, "spawn /none/program ENOENT"],
    ["fails without a word", ["false", "a b"], 20, "Command failed: false a b\n"],
    ["doesn't stop printing", ["yes"], 20, "it prints more than can be read"],
    ["says why itself", ["sh", "-c", "echo why >&2; exit 1"], 20, "why"],
    ["is well", ["true"], 20, ""],
  ])("that %s says so", async (_, words, seconds, err) => {
    const said = await filesOf({ dockerHost: HERE }).ask(words, seconds);
    expect(said.err).toBe(err);
    expect(said.code === 0).toBe(err === "");
  });

  it("goes over one shared ssh connection that asks nothing, takes no new key and gives up", () => {
    const options = [
      "BatchMode=yes",
      "StrictHostKeyChecking=yes",
      "UpdateHostKeys=no",
      "LogLevel=ERROR",
      "ConnectTimeout=10",
      "ServerAliveInterval=15",
      "ServerAliveCountMax=3",
      "ControlMaster=auto",
      "ControlPath=~/.ssh/local-serving-%C",
      "ControlPersist=60",
    ].flatMap((option) => ["-o", option]);
    expect(commandOn(DGX, ["stat", "a 'b'"])).toEqual([
      ...["ssh", "-T", ...options, "--", "ssh://me@dgx:2222"],
      "stat 'a '\\''b'\\'''",
    ]);
    expect(
      spawnSync("ssh", ["-G", ...options, "--", "ssh://me@dgx:2222"], { encoding: "utf8" }).stdout,
    ).toMatch(/^controlpersist 60$/m);
  });

  it("runs there, word for word, and never more than six at once", async () => {
    const ssh = withSsh();
    const words = ["sh", "-c", 'echo "$THERE $1"; sleep 0.2', "sh", "$(id) `id` 'x' \"y\"\n*"];
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => askOn(DGX, words, { seconds: 20 })),
    );
    expect(new Set(answers.map(({ out }) => out))).toEqual(new Set([`yes ${words[4]}\n`]));
    expect(ssh.asked()).toHaveLength(8);
  });

  it("ends in bounded time", async () => {
    withSsh();
    const { stopped } = await askOn(DGX, ["sleep", "30"], { seconds: 0.3 });
    expect(stopped).toBe("timeout");
  });

  it("is docker's too, and docker's words come back", async () => {
    const ssh = withSsh();
    writeFileSync(join(ssh.folder, "docker"), '#!/bin/sh\necho "$THERE $DOCKER_HOST $*"\n', {
      mode: 0o755,
    });
    expect(await docker(["ps", "--filter", "label=a b"], DGX.dockerHost)).toBe(
      "yes  ps --filter label=a b\n",
    );
    writeFileSync(join(ssh.folder, "docker"), "#!/bin/sh\necho no such thing >&2; exit 1\n", {
      mode: 0o755,
    });
    await expect(docker(["ps"], DGX.dockerHost)).rejects.toThrow("docker ps failed: no such thing");
  });
});

describe("a machine's files", () => {
  it("are read there as they are here", async () => {
    withSsh();
    const folder = temporaryFolder("files $(x) ");
    writeFileSync(join(folder, "a"), "text\n\n");
    mkdirSync(join(folder, "run"), { mode: 0o750 });
    const [here, there] = [filesOf({ dockerHost: HERE }), filesOf(DGX)];
    const at = (name: string) => join(folder, name);
    expect(await there.state(at("run"))).toMatchObject({ kind: "folder", mode: 0o750 });
    expect(await there.state(at("a"))).toMatchObject({ kind: "file" });
    for (const path of [
      at("a"),
      at("run"),
      at("absent"),
      `${at("a")}/x`,
      "/proc/self/mem",
      "/dev/null",
    ]) {
      for (const asked of ["text", "state", "isPlain", "realPath"] as const) {
        if (asked === "text" && path.startsWith("/proc")) continue;
        if (asked === "realPath" && path.startsWith("/proc")) continue;
        expect([path, asked, await there[asked](path)]).toEqual([
          path,
          asked,
          await here[asked](path),
        ]);
      }
      for (const right of ["write", "run"] as const)
        expect([path, right, await there.may(path, right)]).toEqual([
          path,
          right,
          await here.may(path, right),
        ]);
    }
  });
});

/** What the engine would run of a command's inputs, with this stdin. */
function runInputs(props: Record<string, unknown>, stdin: string) {
  const [transform] = commandsOn(DGX).transformations ?? [];
  const changed = transform?.({
    type: "command:local:Command",
    name: "x",
    props,
    opts: {},
    resource: undefined as never,
  });
  const { create, environment } = changed?.props ?? {};
  return {
    changed,
    ...spawnSync("sh", ["-c", create], {
      input: stdin,
      encoding: "utf8",
      env: { ...process.env, ...environment },
    }),
  };
}

describe("the engine's commands", () => {
  const write = {
    create: 'sh -c "$HOST_FILE_SCRIPT" host-file write',
    environment: { HOST_FILE_SCRIPT, HOST_FILE_PATH: "/x" },
  };

  it("stay as they are on a machine that is here", () => {
    expect(commandsOn({ dockerHost: HERE })).toEqual({});
  });

  it("run there, with their variables and their stdin", () => {
    const ssh = withSsh();
    const path = join(freshFolder(), "file");
    const content = "ü %s \\n 'q' \"d\" $(id)\r\n";
    const { changed, status, stdout } = runInputs(
      write,
      hostFileRequest({ path, mode: "0600", holder: URN, content }),
    );
    expect([status, stdout]).toEqual([0, `${path} was written.\n`]);
    expect(readFileSync(path, "utf8")).toBe(content);
    expect(ssh.asked()).toEqual(['ssh://me@dgx:2222 sh -c "$HOST_FILE_SCRIPT" host-file write']);
    expect(changed?.props).toEqual({
      create: expect.stringMatching(
        /^ssh -T .* -- ssh:\/\/me@dgx:2222 "\$ON_MACHINE"'sh -c "\$HOST_FILE_SCRIPT" host-file write'$/,
      ),
      delete: undefined,
      environment: {
        HOST_FILE_PATH: "/x",
        MACHINE: "ssh://me@dgx:2222",
        ON_MACHINE: expect.stringContaining("export HOST_FILE_PATH=/x\n"),
      },
    });
    expect(changed?.opts).toEqual({ replaceOnChanges: ["environment.MACHINE"] });
  });

  it("have nothing in their arguments but what is not secret", () => {
    const { changed } = runInputs({ create: "cat", environment: {}, stdin: "token" }, "token");
    expect(JSON.stringify([changed?.props.create, changed?.props.environment])).not.toContain(
      "token",
    );
  });
});

describe("a request that did not come whole", () => {
  const holder = URN;
  const folder = freshFolder();
  const whole = hostFileRequest({
    path: join(folder, "deep/file"),
    mode: "0600",
    holder,
    content: "first\nsecond\n",
  });
  const run = (input: string) =>
    spawnSync("sh", ["-c", HOST_FILE_SCRIPT, "host-file", "write"], { input, encoding: "utf8" });

  it("is refused at whichever byte it ends, and leaves nothing half written", () => {
    for (let end = 0; end < whole.length; end += end < whole.indexOf("\n\n") ? 17 : 1) {
      const { status, stderr } = run(whole.slice(0, end));
      expect(status, `${end}: ${stderr}`).toBe(1);
      expect(
        Object.keys(snapshot(folder)).filter(
          (name) => !/^deep\/(\.local-serving-made)?$/.test(name),
        ),
      ).toEqual([]);
    }
    expect(run(whole.slice(0, -1)).stderr).toBe(
      `Of the content of ${folder}/deep/file, 12 of 13 bytes came. Nothing was changed: try again.\n`,
    );
    expect(run(whole).status).toBe(0);
    expect(run(whole.replace("second", "other").slice(0, -1)).status).toBe(1);
    expect(readFileSync(join(folder, "deep/file"), "utf8")).toBe("first\nsecond\n");
  });
});
