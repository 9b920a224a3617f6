import { SOME_WORDS, UNKNOWN, type Word } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { launchOf } from "../../../policies/lib/container";
import {
  appearsIn,
  isInProgramFolder,
  runsItsOwn,
  steers,
} from "../../../policies/lib/replacedPrograms";

const words = (text: string) => text.split(" ");

describe("a variable", () => {
  it.each(
    words(
      "PATH LD_PRELOAD LD_DEBUG BASH_ENV PS1 PS4 PROMPT_COMMAND IFS ZDOTDIR PYTHONPATH PYTHONINSPECT PYTHONUNBUFFEREDX CURL_HOME PIP_INDEX_URL UV_INDEX",
    ),
  )("steers: %s", (name) => expect(steers(name)).toBe(true));

  it.each(
    words(
      "HF_TOKEN HOME XPATH PATHS PSX PYTHONUNBUFFERED PYTHONHASHSEED PIP_NO_CACHE_DIR VLLM_PORT",
    ),
  )("doesn't: %s", (name) => expect(steers(name)).toBe(false));
});

it.each<[string, boolean]>([
  ["/usr/bin/sleep", true],
  ["/usr//bin/sleep", true],
  ["/usr/bin/../../models/sleep", false],
  ["/usr/share/sleep", false],
])("a program's folder: %s: %s", (program, isIn) => expect(isInProgramFolder(program)).toBe(isIn));

it.each<[Word, string, boolean]>([
  ["/usr", "/usr/bin", true],
  ["/usr/bin/x", "/usr/bin", true],
  ["//usr//bin/", "/usr/bin", true],
  ["/x/../usr/bin", "/usr/bin", true],
  ["/usr/binx", "/usr/bin", false],
  ["/models", "/", true],
  ["/models", "/models/../m", false],
  [UNKNOWN, "/usr/bin", true],
])("what appears at %s in %s: %s", (place, folder, appears) =>
  expect(appearsIn([place], [folder])).toBe(appears),
);

describe("programs of the image's own", () => {
  const own = (
    command: readonly Word[] | string,
    props: Record<string, unknown> = {},
    script = "",
  ) =>
    runsItsOwn(launchOf({ entrypoints: ["bash"], command: ["-c", script || "true"], ...props }), {
      commands: [typeof command === "string" ? words(command) : command],
      scripts: script === "" ? [] : [script],
    });
  const mounts = (...paths: string[]) => ({
    volumes: paths.map((containerPath) => ({ hostPath: "/x", containerPath })),
  });

  it.each<[readonly Word[] | string, boolean]>([
    ["hf download x/y", true],
    ["hf download x/y --local-dir /models/y", true],
    ["hf download x/y --local-dir y", true],
    ["hf download x/y --local-dir /usr/bin", false],
    ["hf download x/y --local-dir=/usr/bin", false],
    ["hf download x/y --cache-dir /usr/bin", false],
    ["hf download x/y --local-dir=/models/y", true],
    ["hf download x/y --local-dir bin", true],
    ["hf download x--cache /usr/bin", true],
    ["hf download x/y --local-dir", false],
    [["hf", "download", "x/y", "--local-dir=/models\n/../usr/bin"], false],
    ["huggingface-cli download x/y --local-dir /usr/bin", false],
    ["uvx hf download x/y --local-dir /usr/bin", false],
    ["curl http://x --location", true],
    [["hf", "download", "--local-dir", UNKNOWN], false],
    ["modelscope download --model x --local_dir /opt", false],
    ["cat /usr/bin", true],
    ["tee /models/x", true],
    ["tee -a /models/x", true],
    ["tee -a /usr/bin/x", false],
    [["tee", SOME_WORDS], false],
    ["python3 -m http.server", true],
    ["python3 -m http.server --log-level info", true],
    ["python3 -m huggingface_hub.cli.hf download x --local-dir .", false],
    ["python3 -m huggingface_hub.cli.hf download x --local-dir y", false],
    ["python3 -m huggingface_hub.cli.hf download x --local-dir /usr/bin", false],
  ])("%j: %s", (command, isOwn) => expect(own(command)).toBe(isOwn));

  it.each<[string, boolean]>([
    ["ls > /models/x", true],
    ["ls >> /models/x 2>&1", true],
    ["ls > /usr/bin/x", false],
    ["ls > /usr/bi''n/x", false],
    ["ls > $X", false],
    ["ls > ~/.bashrc", false],
    ["ls > >(x)", false],
    ["ls > /dev/../usr/bin/x", false],
    ["ls > /usr/bin/dev/null", false],
    ["ls >&2x", false],
    ["ls >>&2", false],
  ])("%s: %s", (script, isOwn) => expect(own("ls", {}, script)).toBe(isOwn));

  it.each<[string, string, string, Record<string, unknown>, boolean]>([
    ["sleep", "sleep 1", "/root", {}, true],
    ["a program in Python", "hf download x", "/root", {}, false],
    ["a cache in a home", "hf download x", "/root/.cache/huggingface", {}, true],
    ["Python's own folder", "hf download x", "/home/me/.local", {}, false],
    ["all homes", "hf download x", "/home", {}, false],
    ["a home elsewhere", "hf download x", "/models", { envs: ["HOME=/models"] }, false],
    ["a folder beside a home", "hf download x", "/models", { envs: ["HOME=/m"] }, true],
    ["a login shell", "sleep 1", "/root/.profile", { command: ["-lc", "sleep 1"] }, false],
    ["a shell that somebody speaks to", "bash", "/root/.bashrc", { command: [] }, false],
    ["root's home beside that", "hf download x", "/root/.curlrc", { envs: ["HOME=/m"] }, false],
    ["Python's own folder beside the homes", "hf download x", "/.local", {}, true],
    [
      "a home that isn't known",
      "hf download x",
      "/models",
      { environment: { HOME: UNKNOWN } },
      false,
    ],
    [
      "a home below another",
      "hf download x",
      "/m/home/me/.curlrc",
      { envs: ["HOME=/m/home/me"] },
      false,
    ],
    ["a program called nearly like one that reads none", "tailscale up", "/root", {}, false],
    ["another", "unset x", "/root", {}, false],
    ["a shell with a script alone", "sleep 1", "/root/.bashrc", {}, true],
  ])("beside files of a home: %s", (_, command, path, props, isOwn) =>
    expect(own(command, { ...mounts(path), ...props })).toBe(isOwn),
  );

  it.each([
    ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshenv"],
    ...[".curlrc", ".local", ".pip", ".config/curlrc", ".config/pip", ".config/uv"],
  ])("beside a home's %s", (file) =>
    expect(own("hf download x", mounts(`/root/${file}`))).toBe(false),
  );

  it("beside files of a home: a command that isn't known, and none", () => {
    expect(own([UNKNOWN], mounts("/root"))).toBe(false);
    expect(own([], mounts("/root"))).toBe(true);
  });
});
