import { describe, expect, it } from "vitest";
import { LABEL } from "../../../components/planned/container";
import {
  container,
  said,
  server,
  serving,
  UNKNOWN_LIST,
  UNKNOWN_TEXT,
  verdictsOf,
} from "../declared";

const CLEAN = ["m", "--served-model-name", "qwen", "--gpu-memory-utilization", "0.45"];
const SNAPSHOT = "/root/.cache/huggingface/hub/models--org--lora/snapshots/abc";

describe("adapter-names", () => {
  const RULE = "adapter-names";
  const SLASH =
    "refused: b serves an adapter as `org/tone`, which has a slash. Name it `tone`: coding clients can't address a slash.";

  it.each<[string, unknown[]]>([
    ["two words", ["--lora-modules", "org/tone=/a"]],
    ["one word", ["--lora-modules=org/tone=/a"]],
    ["underscores", ["--lora_modules", "org/tone=/a"]],
    ["an abbreviation", ["--lora-m", "org/tone=/a"]],
    ["several", ["--lora-modules", "good=/a", "org/tone=/b"]],
    ["JSON", ["--lora-modules", '{"name": "org/tone", "path": "/a", "base_model_name": "m"}']],
    ["JSON in one word", ['--lora-modules={"name":"org/tone","path":"/a"}']],
    ["the last of two flags", ["--lora-modules", "a=/a", "--lora-modules", "org/tone=/a"]],
  ])("reads %s", (_, words) => {
    expect(said(RULE, [serving(...CLEAN, "--enable-lora", ...words)])).toEqual([SLASH]);
  });

  it("reads a shell's command and a health check", () => {
    const words = [
      "sh",
      "-c",
      "exec vllm serve m --served-model-name q --lora-modules org/tone=/a",
    ];
    expect(said(RULE, [server({ entrypoints: words, command: [] })])).toEqual([SLASH]);
  });

  it.each<[string, unknown[], string]>([
    [
      "a name of the model",
      ["qwen=/a"],
      "refused: b serves an adapter as `qwen`, also a name of its model. Give the adapter another name: requests could not tell them apart.",
    ],
    [
      "a name twice",
      ["a=/a", "a=/b"],
      "refused: b serves two adapters as `a`. Give one of them another name.",
    ],
    [
      "no name",
      ["=/a"],
      "refused: b has an adapter without a name. Put a name before the `=` of `--lora-modules =/a`.",
    ],
    [
      "what vLLM can't read",
      ["a=/a,b"],
      "refused: b has `--lora-modules a=/a,b`, which vLLM can't read. Write NAME=PATH, or JSON with `name` and `path`.",
    ],
  ])("refuses %s", (_, words, message) => {
    expect(said(RULE, [serving(...CLEAN, "--lora-modules", ...words)])).toEqual([message]);
  });

  it("refuses the model's id where it has no other name, and finds a name for one that ends in a slash", () => {
    expect(said(RULE, [serving("qwen", "--lora-modules", "qwen=/a")])).toEqual([
      "refused: b serves an adapter as `qwen`, also a name of its model. Give the adapter another name: requests could not tell them apart.",
    ]);
    expect(said(RULE, [serving(...CLEAN, "--lora-modules", "org/=/a")])).toEqual([
      "refused: b serves an adapter as `org/`, which has a slash. Name it `adapter`: coding clients can't address a slash.",
    ]);
  });

  it("leads to the setting of the server that has them", () => {
    const labels = [
      { label: LABEL.machine, value: "dgx" },
      { label: LABEL.server, value: "b" },
    ];
    const command = [...CLEAN, "--lora-modules", "org/tone=/a"];
    expect(verdictsOf(RULE, [server({ labels, command })])).toMatchObject([
      { path: "machines.dgx.inferenceServers.b.adapters" },
    ]);
  });

  it("refuses what is not known, and passes clean names and other containers", () => {
    expect(said(RULE, [serving(...CLEAN, "--lora-modules", UNKNOWN_TEXT)])).toEqual([
      "refused: b has a value of --lora-modules that is not known before the update; give it as plain text.",
    ]);
    expect(said(RULE, [serving(...CLEAN, "--lora-modules", "tone=/a", "legal=org/lora")])).toEqual(
      [],
    );
    expect(said(RULE, [container("web", { command: ["--lora-modules", "a/b=/c"] })])).toEqual([]);
  });
});

describe("server-mounts", () => {
  const RULE = "server-mounts";
  const mount = (source: unknown, target: string, readOnly: unknown = true) => ({
    mounts: [{ type: "bind", source, target, readOnly }],
  });
  const lora = (...path: string[]) => ({
    command: [...CLEAN, "--enable-lora", "--lora-modules", ...path],
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      "the Docker socket, even read-only",
      mount("/var/run/docker.sock", "/var/run/docker.sock"),
      "refused: b is given the Docker socket, and with it the whole machine. Remove this mount, `/var/run/docker.sock` at `/var/run/docker.sock`.",
    ],
    [
      "the Docker socket as a volume",
      { volumes: [{ hostPath: "/run/user/1000/docker.sock", containerPath: "/d" }] },
      "refused: b is given the Docker socket, and with it the whole machine. Remove this mount, `/run/user/1000/docker.sock` at `/d`.",
    ],
    [
      "the whole machine",
      mount("/", "/host"),
      "refused: b is given `/`, which holds far more than a model. Mount the model's folder alone, read-only, at `/host`.",
    ],
    [
      "what only stands for a folder",
      mount("/path/to/model", "/models/model"),
      "refused: b has `/path/to/model` of the machine at `/models/model`, which only stands for a folder. Write that folder's own path, or the model's hub id.",
    ],
    [
      "other containers' data",
      mount("/var/lib/docker/volumes/chat-ui/_data", "/models/x"),
      "refused: b is given `/var/lib/docker/volumes/chat-ui/_data`, which holds far more than a model. Mount the model's folder alone, read-only, at `/models/x`.",
    ],
    [
      "an adapter that it can write",
      { ...lora("tone=/adapters/tone"), ...mount("/data/tone", "/adapters/tone", false) },
      "refused: b can write `/data/tone`, from where it loads its model. Mount it read-only (`readOnly: true`): after a restart it could serve a `/adapters/tone` that nobody reviewed.",
    ],
    [
      "an adapter in JSON below a folder that it can write",
      {
        ...lora('{"name":"tone","path":"/adapters/tone"}'),
        volumes: [{ hostPath: "/data", containerPath: "/adapters" }],
      },
      "refused: b can write `/data`, from where it loads its model. Mount it read-only (`readOnly: true`): after a restart it could serve a `/adapters/tone` that nobody reviewed.",
    ],
    [
      "a model that it can write",
      { command: ["/models/m", ...CLEAN.slice(1)], ...mount("/data/m", "/models/m", UNKNOWN_TEXT) },
      "refused: b can write `/data/m`, from where it loads its model. Mount it read-only (`readOnly: true`): after a restart it could serve a `/models/m` that nobody reviewed.",
    ],
    [
      "mounts that are not known",
      { mounts: UNKNOWN_LIST },
      "refused: b has mounts that are not known before the update. Give `mounts` and `volumes` as plain lists.",
    ],
  ])("refuses %s", (_, changes, message) => {
    expect(said(RULE, [server(changes)])).toEqual([message]);
  });

  it.each([
    "/",
    "/etc",
    "//etc",
    "/usr/../etc/.",
    "/home",
    "/proc",
    "/root",
    "/run",
    "/sys",
    "/usr",
    "/usr//",
    "/var",
    "/var/run",
    "/var/lib/docker",
    "/var/lib//docker/volumes",
  ])("refuses the whole of %s", (source) => {
    expect(said(RULE, [server(mount(source, "/x"))])).toEqual([
      `refused: b is given \`${source}\`, which holds far more than a model. Mount the model's folder alone, read-only, at \`/x\`.`,
    ]);
  });

  it("knows the Docker socket by where it appears, and by its whole name", () => {
    const socket = "/var/run/docker.sock";
    const refused = (source: string) => [
      `refused: b is given the Docker socket, and with it the whole machine. Remove this mount, \`${source}\` at \`${socket}\`.`,
    ];
    expect(said(RULE, [server(mount("/data/s", socket))])).toEqual(refused("/data/s"));
    expect(said(RULE, [server(mount(UNKNOWN_TEXT, socket))])).toEqual(refused(""));
    expect(said(RULE, [server(mount("/data/docker.sock.d", "/x"))])).toEqual([]);
    expect(said(RULE, [server(mount("/data/my-docker.sock", "/x"))])).toEqual([]);
  });

  const written = (source: string, path: string) => [
    `refused: b can write \`${source}\`, from where it loads its model. Mount it read-only (\`readOnly: true\`): after a restart it could serve a \`${path}\` that nobody reviewed.`,
  ];

  it.each<[string, unknown[], string]>([
    [
      "a draft model",
      ["--speculative-config", '{"model": "/drafts/d", "num_speculative_tokens": 2}'],
      "/drafts/d",
    ],
    ["a tokenizer", ["--tokenizer", "/drafts/t"], "/drafts/t"],
  ])("refuses a server that can write %s", (_, words, path) => {
    const command = [...CLEAN, ...words];
    expect(said(RULE, [server({ command, ...mount("/data", "/drafts", false) })])).toEqual(
      written("/data", path),
    );
    expect(said(RULE, [server({ command, ...mount("/data", "/drafts") })])).toEqual([]);
    expect(said(RULE, [server({ command, ...mount("/data", "/other", false) })])).toEqual([]);
  });

  it("refuses a volume by its name", () => {
    const volumes = [{ volumeName: "adapters", containerPath: "/adapters" }];
    expect(said(RULE, [server({ ...lora("tone=/adapters/tone"), volumes })])).toEqual(
      written("adapters", "/adapters/tone"),
    );
  });

  it("refuses volumes that are not known, and passes over what has no place or no path", () => {
    expect(said(RULE, [server({ volumes: UNKNOWN_LIST })])).toEqual([
      "refused: b has mounts that are not known before the update. Give `mounts` and `volumes` as plain lists.",
    ]);
    const nowhere = { mounts: [{ type: "bind", source: "/", target: UNKNOWN_TEXT }] };
    expect(said(RULE, [server(nowhere)])).toEqual([]);
    const word = ["--speculative-config", UNKNOWN_TEXT];
    const cache = mount("/data", "/drafts", false);
    expect(said(RULE, [server({ command: [...CLEAN, ...word], ...cache })])).toEqual([]);
    expect(
      said(RULE, [server({ ...lora("tone=org/tone"), ...mount("/d", "org", false) })]),
    ).toEqual([]);
  });

  it("passes folders that are read-only, the model cache, and other containers", () => {
    const adapter = { ...lora("tone=/adapters/tone"), ...mount("/data/tone", "/adapters/tone") };
    expect(said(RULE, [server(adapter)])).toEqual([]);
    const cache = mount("/home/me/.cache/huggingface", "/root/.cache/huggingface", false);
    expect(said(RULE, [server({ ...lora(`tone=${SNAPSHOT}`), ...cache })])).toEqual([]);
    const agent = { image: "agent:1", ...mount("/var/run/docker.sock", "/var/run/docker.sock") };
    expect(said(RULE, [container("agent", agent)])).toEqual([]);
  });

  it.each([
    ["/home/me/.codex", "where programs keep keys (Codex's)"],
    ["/root/.ssh/", "where programs keep keys"],
    ["/root//.ssh", "where programs keep keys"],
    [
      "/home/me/.local/share",
      "which holds `~/.local/share/opencode`, where programs keep keys (opencode's)",
    ],
    ["/home/me", "a whole home, with its keys"],
  ])("warns of %s", (source, what) => {
    expect(said(RULE, [server(mount(source, "/models/x"))])).toEqual([
      `warned: b is given keys of the machine with \`${source}\`. Mount the folder of the model alone, read-only: whoever gets into the server reads what is at \`/models/x\` (${what}).`,
    ]);
  });

  it("says one thing of a whole machine, and nothing of a volume", () => {
    expect(said(RULE, [server(mount("/root/", "/x"))])).toEqual([
      "refused: b is given `/root/`, which holds far more than a model. Mount the model's folder alone, read-only, at `/x`.",
    ]);
    const volumes = [{ volumeName: "codex", containerPath: "/x" }];
    expect(said(RULE, [server({ volumes })])).toEqual([]);
  });
});
