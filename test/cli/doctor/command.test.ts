import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as memory from "@local-serving/machines/memory";
import { describe, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { doctorText } from "../../../cli/rules/reportText";
import { serverInput } from "../../fixtures/machine";
import { atKeyboard } from "../../layers/keyboard";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { markApplied } from "../applied";
import { FakeDocker, inspected } from "../fakeDocker";
import { runServing } from "../runServing";
import { CONTAINER } from "./cases";
import { STACK_TEXT, withServer } from "./stack";

const folder = temporaryFolder("serving-doctor-");

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const fixture = (name: string) => join(__dirname, "fixtures", name);
const STACK = file("Pulumi.dgx.yaml", STACK_TEXT);
const json = ["--format", "json"];

describe("serving doctor, from afar", () => {
  it("prints the contract's keys, one document on stdout, and ends with 1", async () => {
    const { code, out, err } = await runServing([
      ...["doctor", "--file", STACK, "--log", fixture("window-too-long.log")],
      ...json,
    ]);
    expect([code, err]).toEqual([1, ""]);
    const { diagnoses } = JSON.parse(out);
    expect(diagnoses).toHaveLength(1);
    expect(diagnoses[0]).toEqual({
      id: "window-too-long",
      severity: "trouble",
      cause:
        "One request of 262144 tokens needs 2.64 GiB of KV cache, but only 2.05 GiB are there.",
      evidence: expect.stringContaining("the estimated maximum model length is 199120."),
      change: expect.stringContaining(
        "\n-          maxModelLen: 262144\n+          maxModelLen: 199120\n",
      ),
      edits: [{ path: ["machines", "dgx", "inferenceServers", "b", "maxModelLen"], value: 199120 }],
      advice: expect.any(String),
      command: `serving plan --file ${STACK} && serving up`,
      source: expect.stringContaining("Model loads but no KV room"),
      caughtByPlan: true,
      caughtBy: expect.stringContaining("KV plan"),
    });
  });

  it("ends with 0 where nothing is wrong, and explains what only looks wrong", async () => {
    const { code, out } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--log",
      fixture("healthy.log"),
    ]);
    expect(code).toBe(0);
    expect(out).toContain("No trouble found.");
    expect(out).toContain(
      "inert-fp4-variable (harmless): VLLM_USE_FLASHINFER_MOE_FP4 is set as specified",
    );
    expect(out.match(/^ {2}evidence /gm)).toHaveLength(1);
  });

  it("reads several files, and says what it looked at", async () => {
    const { out, code } = await runServing([
      ...[
        "doctor",
        "--file",
        STACK,
        "--log",
        fixture("admission-refused.log"),
        fixture("ollama-on-cpu.log"),
      ],
      ...["--dmesg", fixture("jit-killed.dmesg"), "--meminfo", fixture("meminfo-free")],
    ]);
    expect(code).toBe(1);
    for (const id of ["memory-released-late", "jit-killed", "ollama-on-cpu"])
      expect(out).toContain(`\n${id}: `);
    expect(out).toContain("jit-killed.dmesg (1 lines)");
    expect(out).toContain("meminfo");
  });

  it("reads a container's state and listening sockets from files", async () => {
    const state = { Status: "exited", ExitCode: 137, OOMKilled: true };
    const inspect = file(
      "inspect.json",
      JSON.stringify([
        inspected({ name: CONTAINER, state, env: ["HF_TOKEN=hf_abcdefgh12345678"] }),
      ]),
    );
    const ss = file("ss", "LISTEN 0 4096 127.0.0.1:11434 0.0.0.0:*\n");
    const { out } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--inspect",
      inspect,
      "--listeners",
      ss,
      ...json,
    ]);
    const { diagnoses } = JSON.parse(out);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual(["killed"]);
    expect(diagnoses[0].evidence).toBe(
      `container ${CONTAINER}: exited, exit code 137, OOMKilled, 6 restarts`,
    );
    expect(out).not.toContain("hf_");
  });

  it("takes what a failed probe says as evidence", async () => {
    const probes = [
      {
        name: "models",
        status: "pass",
        detail: "tool_calls is empty, the call is written as XML in `content`",
        fix: "",
      },
      {
        name: "chat-tools",
        status: "fail",
        detail:
          "tool_calls is empty, the call is written as XML in `content`: `<tool_call>\n<function=read_file>`",
        fix: "tools.parser: qwen3_xml",
      },
    ];
    const { out } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--verify",
      file("verify.json", JSON.stringify({ probes })),
      ...json,
    ]);
    const { diagnoses, looked } = JSON.parse(out);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual(["tool-parser-mismatch"]);
    expect(looked[0]).toBe("serving verify (1 passed, 1 failed)");
  });

  it("takes Ollama's own probe for an address that it lacks, and no other program's", async () => {
    const diagnosed = async (name: string) => {
      const detail = "it is declared for the network, but does not answer on 192.168.1.50";
      const probes = [{ name, status: "fail", detail, fix: "" }];
      const kept = file(`${name}.json`, JSON.stringify({ probes }));
      const { out } = await runServing(["doctor", "--file", STACK, "--verify", kept, ...json]);
      return JSON.parse(out).diagnoses.map(({ id }: { id: string }) => id);
    };
    expect(await diagnosed("ollama-listen")).toEqual(["ollama-on-loopback"]);
    expect(await diagnosed("bridge-key")).toEqual(["probe-failed"]);
  });

  it("proposes no command that a log or a copied file could have put a word into", async () => {
    const trap = "$(touch/tmp/trap);`id`";
    const log = file("trap.log", `Error: mkdir /data/models/${trap}: permission denied\n`);
    const inspect = file(
      "trap.json",
      JSON.stringify([
        inspected({ name: trap, image: "ghcr.io/berriai/litellm:v1.82.7" }),
        {
          ...inspected({ name: `ollama${trap}` }),
          Mounts: [{ Type: "volume", Name: "v", Destination: "/root/.ollama" }],
        },
      ]),
    );
    const verify = file(
      "trap-verify.json",
      JSON.stringify({ probes: [{ name: trap, status: "fail", detail: "x", fix: "" }] }),
    );
    const commands: string[] = [];
    for (const args of [
      ["--log", log],
      ["--inspect", inspect],
      ["--verify", verify],
    ]) {
      const { out } = await runServing(["doctor", "--file", STACK, ...args, ...json]);
      commands.push(
        ...JSON.parse(out).diagnoses.map(({ command }: { command: string }) => command),
      );
    }
    const trapped = commands.filter((command) => command.includes("touch"));
    expect(trapped).toHaveLength(4);
    // Each time inside single quotes.
    for (const command of trapped)
      expect(command.replace(/'[^']*'/g, "")).not.toMatch(/touch|`|\$\(/);
  });

  it("passes on what a probe says that no diagnosis explains", async () => {
    const probes = [
      { name: "chat", status: "fail", detail: "the answer is empty", fix: "Raise max_tokens." },
      {
        name: "window",
        status: "fail",
        detail: "answered with 200",
        fix: "Ask the server directly.",
      },
    ];
    const { out } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--verify",
      file("v2.json", JSON.stringify({ probes })),
      ...json,
    ]);
    const [only] = JSON.parse(out).diagnoses;
    expect(only).toMatchObject({
      id: "probe-failed",
      cause: "`serving verify` fails in 2 of its probes.",
      evidence: "probe chat: the answer is empty | probe window: answered with 200",
      change: "Raise max_tokens.\nAsk the server directly.",
      command: `serving verify --file ${STACK} --only chat,window`,
    });
  });

  it("says the cause that `verify` found, and reads no other one out of what it explains", async () => {
    const cause = { status: "fail", cause: "other-window" };
    const probes = [
      { ...cause, name: "max-model-len", detail: "2048 tokens", fix: "CAUSE. Do this." },
      {
        ...cause,
        name: "chat-tools",
        detail:
          "400: This model's maximum context length is 2048 tokens. However, you requested 4096 output tokens and your prompt contains 100 input tokens",
        fix: "See max-model-len: it has the cause.",
      },
      { name: "window", status: "fail", detail: "answered with 200", fix: "Ask it directly." },
    ];
    const verify = file("v3.json", JSON.stringify({ probes }));
    const { out } = await runServing(["doctor", "--file", STACK, "--verify", verify, ...json]);
    expect(JSON.parse(out).diagnoses).toMatchObject([
      { id: "probe-failed", change: "CAUSE. Do this.\nAsk it directly." },
    ]);
    const without = probes.map(({ name, status, detail, fix }) => ({ name, status, detail, fix }));
    const older = file("v4.json", JSON.stringify({ probes: without }));
    const before = await runServing(["doctor", "--file", STACK, "--verify", older, ...json]);
    expect(JSON.parse(before.out).diagnoses).toMatchObject([{ id: "other-window" }]);
  });

  it("prints no secret, whether the log, the stack file or a probe holds it", async () => {
    const secret = "hf_Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo";
    const log = `ERROR token=${secret} NVRM\nRuntimeError: request to https://u:${secret}@host failed, api_key=${secret}\n`;
    const stack = file(
      "secret.yaml",
      withServer(["environment", { SOME_HEADER: secret, VLLM_ENGINE_READY_TIMEOUT_S: "600" }]),
    );
    const timeout = readFileSync(fixture("engine-ready-timeout.log"), "utf8");
    for (const text of [log, `${log}${timeout}`]) {
      for (const format of [json, []]) {
        const { out, err } = await runServing([
          "doctor",
          "--file",
          stack,
          "--log",
          file("secret.log", text),
          ...format,
        ]);
        expect(out + err).not.toContain(secret);
        expect(out).toContain("<redacted>");
      }
    }
  });

  it("does not harm binary files", async () => {
    const binary = join(folder, "binary");
    writeFileSync(
      binary,
      Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7919) % 256)),
    );
    const { code } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--log",
      binary,
      "--dmesg",
      binary,
    ]);
    expect(code).toBe(0);
  });

  it("of a huge log reads the start and the newest part, and says so", async () => {
    const huge = file("huge.log", "INFO Starting to load model m\n");
    truncateSync(huge, 100 * 1024 ** 2);
    appendFileSync(huge, "\nValueError: No available memory for the cache blocks.\n");
    const { code, out, err } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--log",
      huge,
      ...json,
    ]);
    expect(code).toBe(1);
    const { diagnoses, notes } = JSON.parse(out);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual(["no-kv-room"]);
    expect(notes).toEqual([
      expect.stringMatching(
        /huge\.log: of 1048576\d\d bytes the first 8388608 and the last 58720256 were read\.$/,
      ),
    ]);
    expect(err).toContain(notes[0]);
    expect(doctorText([], [], notes)).toBe("No trouble found in what could be read.");
  });

  it.each([
    ["whole, where that is little", 0, []],
    [
      "its beginning and the newest part",
      100 * 1024 ** 2,
      [
        expect.stringMatching(
          /starts\.log: of 2097\d{5} bytes the first 8388608 since the last start and the last 58720256 were read\.$/,
        ),
      ],
    ],
  ])("of a huge log reads the last start: %s", async (_name, more, said) => {
    const opens = "start gate: open after 0 s, 99.00 GiB are available\n";
    const log = file("starts.log", `${opens}torch.OutOfMemoryError: CUDA out of memory.\n`);
    truncateSync(log, 100 * 1024 ** 2);
    appendFileSync(log, `\n${opens}ValueError: No available memory for the cache blocks.\n`);
    appendFileSync(log, `Received request 1: prompt: '${opens.trim()}'\n`);
    if (more > 0) truncateSync(log, statSync(log).size + more);
    const { out } = await runServing(["doctor", "--file", STACK, "--log", log, ...json]);
    const { diagnoses, notes } = JSON.parse(out);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual(["no-kv-room"]);
    expect(notes).toEqual(said);
  });

  it("reads a pipe, and a copy that PowerShell saved", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const writer = spawn("cp", [fixture("too-many-sequences.log"), pipe]);
    const { out } = await runServing(["doctor", "--file", STACK, "--log", pipe, ...json]);
    expect(writer.exitCode ?? 0).toBe(0);
    expect(JSON.parse(out).diagnoses.map(({ id }: { id: string }) => id)).toEqual([
      "too-many-sequences",
    ]);
    const meminfo = join(folder, "meminfo-utf16");
    writeFileSync(
      meminfo,
      Buffer.from(
        `\ufeffMemTotal:       127600592 kB\r\nMemAvailable:     1048576 kB\r\n`,
        "utf16le",
      ),
    );
    const { out: exhausted } = await runServing([
      "doctor",
      "--file",
      STACK,
      "--meminfo",
      meminfo,
      ...json,
    ]);
    expect(JSON.parse(exhausted).diagnoses.map(({ id }: { id: string }) => id)).toEqual([
      "memory-exhausted",
    ]);
  });

  it.each<[string, string[], string]>([
    ["a log that isn't there", ["--log", "/nowhere.log"], "/nowhere.log: no such file"],
    ["a folder for a log", ["--log", folder], "is a directory, not a file"],
    ["a device for a meminfo", ["--meminfo", "/dev/zero"], "is larger than 1048576 bytes"],
    [
      "a meminfo that is none",
      ["--meminfo", fixture("healthy.log")],
      "expected a copy of /proc/meminfo",
    ],
    [
      "an inspect that holds no container",
      ["--inspect", file("empty.json", "[]")],
      "holds no container",
    ],
    ["an inspect that is not JSON", ["--inspect", fixture("healthy.log")], "not valid JSON"],
    ["a verify without probes", ["--verify", file("noprobes.json", "{}")], "has no list `probes`"],
    [
      "an unknown server",
      ["--log", fixture("healthy.log"), "--server", "z"],
      "--server z: Pulumi.dgx.yaml has b.",
    ],
    [
      "an unknown machine",
      ["--log", fixture("healthy.log"), "--machine", "z"],
      "--machine z: Pulumi.dgx.yaml has dgx.",
    ],
    ["an unknown option", ["--nope"], "unknown option '--nope'"],
  ])("refuses %s with 2", async (_name, args, message) => {
    const { code, out, err } = await runServing(["doctor", "--file", STACK, ...args]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  it("needs no stack file, as long as none was asked for", async () => {
    const log = ["--log", fixture("numa-header-missing.log")];
    expect((await runServing(["doctor", "--stack", "nowhere", ...log])).code).toBe(2);
    expect((await runServing(["doctor", ...log])).code).toBe(1);
    const project = join(folder, "without-dgx");
    mkdirSync(project);
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
    try {
      const { code, err } = await runServing(["doctor", ...log]);
      const note = "There is no stack file to compare with: the log's own settings were used.\n";
      expect({ code, err }).toEqual({ code: 1, err: note });
    } finally {
      cwd.mockRestore();
    }
  });

  describe("a stack file with faults", () => {
    const FAULTY = file(
      "faulty.yaml",
      STACK_TEXT.replace("maxModelLen: 262144", "maxModelLength: 262144").replace(
        "gpuMemoryUtilization: 0.45",
        "gpuMemoryUtilization: 45",
      ),
    );
    const from = (stack: string, ...more: string[]) =>
      runServing(["doctor", "--file", stack, "--log", fixture("window-too-long.log"), ...more]);

    it("does not keep the given files from being judged: its faults are said, and no diff is made of it", async () => {
      const { code, out, err } = await from(FAULTY, ...json);
      expect([code, err]).toEqual([1, ""]);
      const { diagnoses, looked } = JSON.parse(out);
      expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual([
        "stack-file-faulty",
        "window-too-long",
      ]);
      const [faulty, window] = diagnoses;
      expect(faulty).toMatchObject({
        cause: "The stack file can't be read (2 faults), so only the given files were judged.",
        edits: [],
        command: `serving plan --file ${FAULTY}`,
      });
      const lines = faulty.evidence.split("\n");
      expect(lines).toHaveLength(2);
      expect(faulty.evidence).toMatch(
        /faulty\.yaml:\d+:\d+ machines\.dgx\.inferenceServers\.b\.maxModelLength: /,
      );
      expect(faulty.evidence).toMatch(
        /faulty\.yaml:\d+:\d+ machines\.dgx\.inferenceServers\.b\.gpuMemoryUtilization: /,
      );
      expect(window.change).toBe(
        "machines.<machine>.inferenceServers.<server>.maxModelLen: 199120",
      );
      expect(out).not.toMatch(/^--- |@@ /m);
      expect(looked).toEqual([expect.stringContaining("window-too-long.log")]);
    });

    it("is printed for a person as well, and the server that was named is kept", async () => {
      const { code, out } = await from(FAULTY, "--server", "b");
      expect(code).toBe(1);
      expect(out).toContain("stack-file-faulty: The stack file can't be read (2 faults)");
      expect(out).toContain("machines.<machine>.inferenceServers.b.maxModelLen: 199120");
    });

    it("is a fault also where the log has none", async () => {
      const { code, out } = await runServing([
        "doctor",
        "--file",
        FAULTY,
        "--log",
        fixture("healthy.log"),
        ...json,
      ]);
      expect(code).toBe(1);
      expect(JSON.parse(out).diagnoses.map(({ id }: { id: string }) => id)).toEqual([
        "stack-file-faulty",
      ]);
    });

    it("that is not YAML at all: judged too, and 2 as for every file that can't be read", async () => {
      const { code, out } = await from(file("no.yaml", "config: [\n"), ...json);
      expect(code).toBe(2);
      const { diagnoses } = JSON.parse(out);
      expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual([
        "stack-file-faulty",
        "window-too-long",
      ]);
      expect(diagnoses[0].evidence).toMatch(/no\.yaml:\d+:\d+: /);
    });

    it("prints no secret that is in it", async () => {
      const secret = "hf_Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo";
      const text = STACK_TEXT.replace(
        "maxNumSeqs: 16",
        `maxNumSeqs: ${secret}\n          ${secret}: 1`,
      );
      const { out, err } = await from(file("leaky.yaml", text));
      expect(out).toContain("stack-file-faulty");
      expect(out + err).not.toContain(secret);
    });

    it("stops who wants the machine looked at: without a plan there is nothing to look for", async () => {
      const { code, out, err } = await runServing(["doctor", "--file", FAULTY]);
      expect([code, out]).toEqual([1, ""]);
      expect(err).toContain("faulty.yaml: 2 faults");
    });
  });

  it("has help with examples", async () => {
    const { out, code } = await runServing(["doctor", "--help"]);
    expect(code).toBe(0);
    expect(out).toContain("serving doctor --file stack.yaml --log server.log");
  });
});

describe("serving doctor, on the machine", () => {
  const log = readFileSync(fixture("too-many-sequences.log"), "utf8");
  const state = { Status: "restarting", ExitCode: 1 };

  it("reads the containers of the plan and their logs, and only reads", async () => {
    const docker = new FakeDocker({
      "ps --all": { out: `${"f".repeat(64)}\n` },
      "inspect ": { out: JSON.stringify([inspected({ name: CONTAINER, state })]) },
      // Logs come over both outputs.
      "logs --tail": { out: "first\n", err: log },
    });
    const env = { ...docker.env, HOME: folder };
    markApplied(folder, "dgx");
    const { out, code } = await runServing(["doctor", "--file", STACK, ...json], env);
    expect(code).toBe(1);
    const { diagnoses, looked } = JSON.parse(out);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toContain("too-many-sequences");
    expect(diagnoses.map(({ id }: { id: string }) => id)).not.toContain("unknown");
    expect(looked).toContain(`docker logs ${CONTAINER} (${log.split("\n").length} lines)`);
    const asked = readFileSync(docker.asked, "utf8").trim().split("\n");
    // Some are asked at the same time.
    expect(asked.map((line) => line.split(" ")[1]).sort()).toEqual([
      // The containers themselves, and whether another stack has the plan's names.
      ...["inspect", "inspect", "inspect", "logs"],
      // Whether each container is on its networks.
      "network",
      ...["ps", "ps", "ps"],
    ]);
    expect(asked.every((line) => line.startsWith("unix:///var/run/docker.sock "))).toBe(true);
  });

  it("says after an `up` that another stack's network stopped whose that is", async () => {
    const labels = { "local-serving.machine": "spark" };
    const docker = new FakeDocker({
      "ps --all": { out: `${"f".repeat(64)}\n` },
      "inspect ": { out: JSON.stringify([inspected({ name: "litellm-8788", labels })]) },
    });
    const env = { ...docker.env, HOME: folder };
    const { out, err, code } = await runServing(["doctor", "--file", STACK], env);
    expect(code).toBe(1);
    expect(err).not.toContain("Nothing is applied yet");
    expect(out).toContain(
      "Another stack is applied here, which calls this machine `spark`. It has `litellm-8788`, the network `local-serving`.",
    );
    expect(out).not.toContain("No trouble found");
  });

  it("says as which machine it looked at this computer, whose memory is another", async () => {
    markApplied(folder, "dgx");
    const docker = new FakeDocker({ "ps --all": { out: "" } });
    const other = file("Pulumi.other.yaml", STACK_TEXT.replace("121.63", "4000"));
    const meminfo = "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n";
    const seen = vi.spyOn(memory, "parseMeminfo").mockReturnValue(memory.parseMeminfo(meminfo));
    const { err } = await runServing(["doctor", "--file", other], { ...docker.env, HOME: folder });
    seen.mockRestore();
    expect(err).toContain(
      "This computer was taken for dgx of Pulumi.other.yaml, since its `dockerHost` is a socket here. If dgx is another computer, run this there, set",
    );
  });

  describe("at a terminal", () => {
    const other = file("Pulumi.other.yaml", STACK_TEXT.replace("121.63", "4000"));
    const meminfo = memory.parseMeminfo("MemTotal: 16777216 kB\nMemAvailable: 8000000 kB\n");
    const QUESTION =
      "This computer has 16.0 GiB of memory, and dgx of Pulumi.other.yaml has 4000.0. Is it dgx all the same? [y/N] ";

    /** Two machines, each with as much memory as this computer. */
    function twoMachines() {
      const { config } = parse(STACK_TEXT);
      const { dgx } = config["local-serving:machines"];
      const b = serverInput({ servedModelName: "second", port: 8002 });
      const machines = {
        dgx: { ...dgx, totalGiB: 16 },
        dgx2: { ...{ totalGiB: 16, instanceA: "none", inferenceServers: { b } }, ...SOCKET },
      };
      return stringify({ config: { "local-serving:machines": machines } });
    }
    const SOCKET = { dockerHost: "unix:///run/other.sock", home: "/home/other" };

    /** `serving doctor` where somebody types this, on a machine without containers. */
    async function typed(answers: readonly string[], ...args: string[]) {
      markApplied(folder, "dgx");
      const docker = new FakeDocker({ "ps --all": { out: "" } });
      const seen = vi.spyOn(memory, "parseMeminfo").mockReturnValue(meminfo);
      try {
        return await atKeyboard(answers, () =>
          runServing(["doctor", ...args], { ...docker.env, HOME: folder }),
        );
      } finally {
        seen.mockRestore();
      }
    }

    it.each([["n"], [""]])("asks first whether this computer is the machine: `%s`", async (no) => {
      const { code, out, err } = await typed([no], "--file", other);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(QUESTION);
      expect(err).toContain(
        "Nothing was diagnosed. To look at dgx, run this there, set `dockerHost: ssh://USER@HOST`, or give copies of its logs and files (`--log`, `--meminfo`).\n",
      );
    });

    it("diagnoses once somebody says yes, and says nothing more of it", async () => {
      const { code, out, err } = await typed(["y"], "--file", other);
      expect(code).toBe(1);
      expect(out).toContain("container-not-running: ");
      expect(err).toContain(QUESTION);
      expect(err).not.toContain("This computer was taken for");
    });

    it.each([
      ["2", "dgx2"],
      ["dgx2", "dgx2"],
      ["", "dgx"],
      ["1", "dgx"],
    ])("asks which of several machines is meant: `%s`", async (answer, machine) => {
      const two = file("Pulumi.two.yaml", twoMachines());
      const { out, err } = await typed([answer], "--file", two);
      expect(err).toContain(
        "Pulumi.two.yaml has several machines.\n  1  dgx\n  2  dgx2\nWhich one? [1] ",
      );
      expect(err).not.toContain("name another with --machine");
      const container = machine === "dgx" ? CONTAINER : "vllm-second-8002";
      expect(/There is no container ([\w.-]+)/.exec(out)?.[1]).toBe(container);
      const named = await typed([], "--file", two, "--machine", machine);
      expect(named.err).not.toContain("Which one?");
      const { err: scripted } = await runServing(["doctor", "--file", two], { HOME: folder });
      expect(scripted).toContain(
        "Looked at dgx of Pulumi.two.yaml; name another with --machine: dgx2.",
      );
    });

    it("asks again where the answer names none of them", async () => {
      const two = file("Pulumi.two.yaml", twoMachines());
      const { out, err } = await typed(["3", "dgx2"], "--file", two);
      expect(err.split("Which one? [1] ")).toHaveLength(3);
      expect(out).toContain("There is no container vllm-second-8002");
    });

    it("asks nothing where the memory is the machine's, and nothing for JSON", async () => {
      const same = file("Pulumi.same.yaml", STACK_TEXT.replace("121.63", "16"));
      expect((await typed([], "--file", same)).err).not.toContain("[y/N]");
      const { code, err } = await typed([], "--file", other, ...json);
      expect([code, err.includes("[y/N]")]).toEqual([1, false]);
      expect(err).toContain("This computer was taken for dgx of Pulumi.other.yaml");
    });
  });

  it("says what to do where the plan refuses the change that a log asks for", async () => {
    const log = join(temporaryFolder("doctor-"), "server.log");
    writeFileSync(
      log,
      "ValueError: Free memory on device cuda:0 (31.5/121.63 GiB) on startup is less than desired GPU memory utilization (0.45, 54.73 GiB).\n",
    );
    const measured = {
      nonKvGiB: 30,
      kvTokens: 900_000,
      maxConcurrency: 3.4,
      at: "2026-11-21",
      image: /sha256:[0-9a-f]{64}/.exec(STACK_TEXT)?.[0] ?? "",
    };
    const stack = file("Pulumi.measured.yaml", withServer(["measured", measured]));
    const { code, out } = await runServing(["doctor", "--file", stack, "--log", log, ...json]);
    const [found] = JSON.parse(out).diagnoses;
    expect([code, found.id, found.edits]).toEqual([1, "admission-refused", []]);
    expect(found.change).toMatch(/^No change is proposed: with .* Free the memory that something/s);
    expect(found.command).not.toContain("serving up");
  });

  it("says so when no engine answers", async () => {
    const docker = new FakeDocker({
      "ps --all": { err: "Cannot connect to the Docker daemon\n", code: 1 },
    });
    const { out } = await runServing(["doctor", "--file", STACK, ...json], docker.env);
    const found = JSON.parse(out).diagnoses.find(
      ({ id }: { id: string }) => id === "docker-unreachable",
    );
    expect(found.evidence).toBe("docker ps failed: Cannot connect to the Docker daemon");
  });
});

describe("a diagnosis for people", () => {
  const report = {
    id: "an-id",
    severity: "trouble",
    cause: "It broke.",
    evidence: "a line",
    change: "Do this. No change is proposed: with a: 1 nothing changes.",
    edits: [],
    advice: "Do this.",
    command: "serving plan",
    source: "a source",
    caughtByPlan: false,
    caughtBy: "nothing catches it earlier",
  } as const;

  it("says its advice once where the change begins with it", () => {
    const said = (advice: string) =>
      doctorText([{ ...report, advice }], [])
        .split("\n")
        .slice(2, -3);
    const above = [
      "an-id: It broke.",
      "  evidence   a line",
      "  change     Do this. No change is proposed: with a: 1 nothing changes.",
    ];
    expect(said("Do this.")).toEqual(above);
    expect(said("Then that.")).toEqual([...above, "  note       Then that."]);
  });
});
