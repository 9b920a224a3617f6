import { serverInvocations } from "@local-serving/vllm/argv/serverInvocations";
import { UNKNOWN, type Word } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { launchOf } from "../../../policies/lib/container";
import { isIdle, isIdleCommand } from "../../../policies/lib/idleCommand";
import { IMAGE } from "../declared";

const words = (text: string) => (text === "" ? [] : text.split(" "));

/** Whether a container of vLLM's own image is idle. */
function idle(props: Record<string, unknown>): boolean {
  const launch = launchOf({ image: IMAGE, ...props });
  const argv = [...(launch.entrypoint ?? []), ...launch.command];
  return isIdle(launch, serverInvocations(argv, launch.variables));
}

const runs = (...entrypoints: string[]) => ({ entrypoints });
const script = (text: string) => runs("sh", "-c", text);
const at = (...paths: string[]) => ({
  volumes: paths.map((containerPath) => ({ hostPath: "/x", containerPath })),
});

describe("a command", () => {
  it.each<[string, boolean]>([
    ["sleep 5m", true],
    ["sleep 5x", false],
    ["sleep x5", false],
    ["/usr/bin/sleep 5", true],
    ["/opt/x/sleep 5", true],
    ["/home/sleep 5", false],
    ["./sleep 5", false],
    ["/sleep 5", false],
    ["python3.12 --version", true],
    ["python3.12x --version", false],
    ["xpython3 --version", false],
    ["python -m dynamo.frontend", true],
    ["python x -m dynamo.frontend", false],
    ["exec sleep 5", true],
    ["then sleep 5", true],
    ["execute sleep 5", false],
    ["./exec sleep 5", false],
    ["A=1 sleep 5", true],
    ["./A=1 sleep 5", false],
    ["do exec sleep 5", true],
    ["done", true],
    ["undone", false],
    ["donex", false],
    ["done sleep", false],
    ["tini -g -- sleep 5", true],
    ["/sbin/tini -- sleep 5", true],
    ["tini sleep 5", false],
    ["xtini -- sleep 5", false],
    ["tinix -- sleep 5", false],
    ["timeout 60 sleep 5", true],
    ["timeout 1.5h sleep 5", true],
    ["timeout -k 5 sleep 5", false],
    ["timeout x60 sleep 5", false],
    ["timeout 60x sleep 5", false],
    ["time 60 sleep 5", false],
    ["vllm chat", true],
    ["vllm chats", false],
    ["vllm serve", false],
    ["hf download x --gpu-memory-utilization 0.9", false],
    ["nothing known", false],
  ])("%s: %s", (command, isKnown) => expect(isIdleCommand(words(command), true)).toBe(isKnown));

  it.each<[string, Word[], boolean]>([
    ["no word", [], false],
    ["a word that is not known", [UNKNOWN], false],
    ["any argument that is not known", ["ls", UNKNOWN], true],
    ["an argument that is not known of all but one", ["guidellm", UNKNOWN], false],
    ["one argument of few that is not known", ["sleep", UNKNOWN], false],
    ["a time that is not known", ["timeout", UNKNOWN, "sleep", "5"], false],
    ["an init without a command", ["tini", "--"], true],
    ["Python below an init", ["tini", "--", "python3", "-V"], true],
  ])("%s", (_, command, isKnown) => expect(isIdleCommand(command, true)).toBe(isKnown));

  it("is a shell without words, but not in a script", () => {
    expect(isIdleCommand(["bash"], false)).toBe(true);
    expect(isIdleCommand(["bash"], true)).toBe(false);
    expect(isIdleCommand(["sleep", "1"], false)).toBe(true);
  });
});

describe("a script", () => {
  it.each<[string, boolean]>([
    ["sleep 1; sleep 2", true],
    ["sleep 1; x", false],
    ["ls >/dev/null 2>&1", true],
    ["ls > /dev/stdout", true],
    ["ls 2>> /dev/stderr", true],
    ["ls >&2", true],
    ["ls 2>&-", true],
    ["ls &>/dev/null; ls", true],
    ["ls >/dev/nullx", false],
    ["ls >/dev/null/x", false],
    ["ls >/dev/sda", false],
    ["ls >x", false],
    ["ls >>x", false],
    ["ls >|x", false],
    ["ls >& x", false],
  ])("%s: %s", (text, isKnown) => expect(idle(script(text))).toBe(isKnown));
});

describe("a container", () => {
  it.each<[string, Record<string, unknown>, boolean]>([
    ["sleeps", runs("sleep", "1"), true],
    ["has no command", runs(), false],
    ["prints versions", runs("python3", "-c", "import vllm; print(vllm.__version__)"), true],
    ["has files of another container", { ...runs("ls"), volumes: [{ fromContainer: "x" }] }, false],
    ["has an entrypoint and asks for help", { ...runs("/start.sh"), command: ["--help"] }, false],
    ["is a shell alone", runs("bash"), true],
    ["has a server beside what is known", script("vllm serve m & sleep 1"), false],
    ["has a script without a command", script("# vLLM's models"), false],
    ["names a server behind what is known", runs("tee", "vllm", "serve", "m"), false],
    ["names an engine behind what is known", runs("tee", "vllm", "bench", "latency"), false],
    ["hands on what can't be read", runs("tee", "x; vllm serve m"), false],
    ["starts a server", runs("vllm", "serve", "m"), false],
    ["loads an engine", runs("vllm", "bench", "latency"), false],
    ["has a command that can't be read", script("eval 'vllm serve m'"), false],
  ])("%s", (_, props, isKnown) => expect(idle(props)).toBe(isKnown));

  it.each<[string, boolean]>([
    ...["PATH", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "SHELLOPTS"].map(
      (name) => [name, false] as [string, boolean],
    ),
    ["BASH_FUNC_ls%%", false],
    ["PYTHONPATH", false],
    ["PYTHONHOME", false],
    ["PYTHONUSERBASE", false],
    ["MY_PATH", true],
    ["PATHS", true],
    ["HF_HOME", true],
  ])("with a variable %s: %s", (name, isKnown) =>
    expect(idle({ ...runs("sleep", "1"), envs: ["A=1", `${name}=x`] })).toBe(isKnown),
  );

  it.each<[string, boolean]>([
    ["/", false],
    ["/usr", false],
    ["/usr/", false],
    ["/usr/bin/sleep", false],
    ["/usr/share", true],
    ["/user", true],
    ["/etc/localtime", true],
    ["/models", true],
    ["/vllm-workspace", true],
    ...[
      ...["/bin", "/sbin", "/lib", "/lib64", "/opt", "/usr/bin", "/usr/sbin", "/usr/lib"],
      ...["/usr/lib64", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib"],
      ...["/etc/alternatives", "/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/ld.so.conf"],
      ...["/etc/ld.so.conf.d", "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/zsh"],
    ].map((path) => [path, false] as [string, boolean]),
  ])("with files at %s: %s", (path, isKnown) =>
    expect(idle({ ...runs("sleep", "1"), ...at("/data", path) })).toBe(isKnown),
  );

  it.each<[string, Record<string, unknown>, boolean]>([
    ["in vLLM's folder", at("/vllm-workspace/x"), false],
    ["in NVIDIA's folder", at("/workspace"), false],
    ["elsewhere", at("/models"), true],
    ["elsewhere than in its own folder", { ...at("/workspace"), workingDir: "/app" }, true],
    ["in its own folder", { ...at("/app/x"), workingDir: "/app" }, false],
    ["in a folder that is not known", { ...at("/app"), workingDir: UNKNOWN }, false],
    ["nowhere, in a folder that is not known", { workingDir: UNKNOWN }, true],
  ])("with Python, and files %s", (_, more, isKnown) => {
    expect(idle({ ...runs("python3", "-m", "dynamo.frontend"), ...more })).toBe(isKnown);
    expect(idle({ ...script("ls; python3.12 -V"), ...more })).toBe(isKnown);
    expect(idle({ ...runs("sleep", "1"), ...more })).toBe(true);
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ["while true; do sleep 1; done", {}, true],
    ["sleep 1; hf download x", {}, false],
    ['sh -c "$X"', { envs: ["X=sleep 1"] }, true],
    ['sh -c "$X"', { envs: ["X=bash -lc 'sleep 1'"] }, false],
  ])("beside files of a home: %s, %o: %s", (text, more, isKnown) =>
    expect(idle({ ...script(text), ...at("/root/.profile"), ...more })).toBe(isKnown),
  );

  it.each<[string, boolean]>([
    ["python3.12 -V | tee -a /models/x", true],
    ["python3.12 -V | tee -a x", false],
  ])("with Python: %s: %s", (text, isKnown) => expect(idle(script(text))).toBe(isKnown));

  const cwd = at("/vllm-workspace");
  it.each<[string, Record<string, unknown>, boolean]>([
    ["nvidia-smi", {}, true],
    ["nvidia-smi", cwd, false],
    ["nvidia-smi", { ...at("/x"), workingDir: "/x" }, false],
    ["nvidia-smi", { ...cwd, workingDir: "/x" }, true],
    ["nvidia-smi -L", cwd, true],
    ["nvidia-smi --list-gpus", cwd, true],
    ["nvidia-smi --help", cwd, false],
    ["hf download", cwd, true],
    ["--help", cwd, true],
    ["--help=all", cwd, true],
    ["--version", cwd, true],
    ["-v", cwd, false],
    ["--help m", cwd, false],
  ])("without an entrypoint: %s, %o: %s", (command, more, isKnown) =>
    expect(idle({ command: words(command), ...more })).toBe(isKnown),
  );

  it("without an entrypoint: a script, whose words vLLM doesn't take", () => {
    expect(idle({ command: ["bash", "-c", "sleep 1"], ...cwd })).toBe(true);
    expect(idle({ command: ["bash"], ...cwd })).toBe(false);
  });
});
