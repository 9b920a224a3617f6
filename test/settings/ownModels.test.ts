import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseStackFile } from "../../components/settings/load";
import { faultLines } from "../fixtures/faults";
import { stackInput } from "../fixtures/machine";

const REVISION = "0123456789abcdef0123456789abcdef01234567";
const TONE = { name: "tone", path: "~/runs/tone", rank: 8 };

/** The faults of a server, by path below it. */
function faults(server: object, machine: object = {}): string[] {
  const input = stackInput({ ...machine }, { ...server });
  const text = stringify({ config: { "local-serving:machines": input.machines } });
  return faultLines(
    () => parseStackFile("Pulumi.t.yaml", text),
    "machines.dgx.inferenceServers.b.",
  );
}

const NAME =
  "Expected a name of ASCII letters, digits, dots, dashes and underscores: coding clients can't address one with a slash, and vLLM splits it at `=` and `,`. (Name that clients ask for, in addition to the server's own names.)";
const PLAIN =
  "Expected a plain path: no `..`, `.` or empty part, no comma, no line break or other control character, and nothing below /dev, /proc or /sys";
const FOLDER =
  "(Folder on the machine that holds `adapter_config.json` and `adapter_model.safetensors`, as PEFT's `save_pretrained` writes them.)";

describe("adapters, mounts and folders of a server", () => {
  it("are taken in every form", () => {
    const hub = { name: "legal", id: "org/legal-lora", revision: REVISION, rank: 16 };
    const mounts = [{ from: "~/tokenizers", to: "/models/tokenizers" }];
    expect(faults({ adapters: [TONE, hub], maxLoras: 1, maxCpuLoras: 2, mounts })).toEqual([]);
    expect(faults({ model: { id: "~/runs/merged" } })).toEqual([]);
    for (const drafts of [
      { method: "eagle3", model: "org/draft" },
      { method: "mtp" },
      { method: "ngram" },
    ])
      expect(faults({ speculative: { ...drafts, numSpeculativeTokens: 2 } })).toEqual([]);
    expect(faults({ model: { id: "/opt/model", inImage: true } })).toEqual([]);
    expect(
      faults({ model: { id: "/models/x/merged" }, mounts: [{ from: "/data/x", to: "/models/x" }] }),
    ).toEqual([]);
  });

  it.each<[string, object, string]>([
    [
      "a name with a slash",
      { adapters: [{ ...TONE, name: "org/tone" }] },
      `adapters.0.name: ${NAME}`,
    ],
    ["a name with `=`", { adapters: [{ ...TONE, name: "a=b" }] }, `adapters.0.name: ${NAME}`],
    ["a name with a comma", { adapters: [{ ...TONE, name: "a,b" }] }, `adapters.0.name: ${NAME}`],
    ...["./merged", "../merged", "~merged", "runs/support/merged"].map(
      (id): [string, object, string] => [
        `the relative path ${id}`,
        { model: { id } },
        `model.id: \`${id}\` isn't a hub id (\`organisation/name\`). For a folder of the machine, write the whole path, which starts with \`/\` or \`~/\`.`,
      ],
    ),
    [
      "a name of Ollama's",
      { model: { id: "qwen3:8b" } },
      "model.id: `qwen3:8b` is a name of Ollama's: write the model's hub id (`organisation/name`), or declare it in `simpleServer.models`.",
    ],
    [
      "drafts by an address",
      { speculative: { method: "eagle3", numSpeculativeTokens: 2, model: "hf.co/org/draft" } },
      "speculative.model: `hf.co/org/draft` is an address of the hub: write `org/draft`.",
    ],
    ...["eagle", "eagle3", "dflash", "draft_model", "medusa", "mlp_speculator"].map(
      (method): [string, object, string] => [
        `drafts of ${method} without their model`,
        { speculative: { method, numSpeculativeTokens: 2 } },
        `speculative.model: \`method: ${method}\` drafts with a model of its own: write the hub id of one that was made for org/model as \`model\`. Or delete \`speculative\`.`,
      ],
    ),
    [
      "an adapter by an address",
      { adapters: [{ name: "tone", id: "hf.co/org/tone", revision: REVISION, rank: 8 }] },
      "adapters.0.id: `hf.co/org/tone` is an address of the hub: write `org/tone`. (Hub id of the adapter, instead of `path`.)",
    ],
    [
      "a model of the hub inside the image",
      { model: { id: "org/model", inImage: true } },
      "model.inImage: `model.id` isn't a path inside the image: write one that starts with `/`, or delete this line.",
    ],
    [
      "the server's own name",
      { adapters: [{ ...TONE, name: "model" }] },
      "adapters.0.name: `model` is a name of the server's own model: clients could not tell them apart. Choose another.",
    ],
    [
      "an alias",
      { aliases: ["tone"], adapters: [TONE] },
      "adapters.0.name: `tone` is a name of the server's own model: clients could not tell them apart. Choose another.",
    ],
    [
      "a name twice",
      { adapters: [TONE, { ...TONE, path: "/data/other" }] },
      "adapters.1.name: `adapters.0` also has the name `tone`: choose another.",
    ],
    [
      "no place",
      { adapters: [{ name: "tone" }] },
      "adapters.0.path: Say where the adapter is: `path`, a folder of the machine, or its hub `id`.",
    ],
    [
      "two places",
      { adapters: [{ ...TONE, id: "org/tone" }] },
      "adapters.0.id: An adapter has either a `path` or an `id`: delete one of them.",
    ],
    [
      "no commit",
      { adapters: [{ name: "tone", id: "org/tone" }] },
      "adapters.0.revision: vLLM would load whatever the main branch of org/tone holds: write the commit, `revision: <40 hex digits>`, as its page on the hub shows it.",
    ],
    [
      "a commit of a folder",
      { adapters: [{ ...TONE, revision: REVISION }] },
      "adapters.0.revision: A folder has no revision: delete this line.",
    ],
    [
      "a branch",
      { adapters: [{ name: "tone", id: "org/tone", revision: "main" }] },
      "adapters.0.revision: Expected a commit of the hub: 40 hex digits. (Commit of the adapter's repository on the hub.)",
    ],
    [
      "a relative path",
      { adapters: [{ ...TONE, path: "runs/tone" }] },
      `adapters.0.path: Expected an absolute path, or one that starts with \`~/\`. ${FOLDER}`,
    ],
    [
      "a path that climbs",
      { adapters: [{ ...TONE, path: "/data/../etc" }] },
      `adapters.0.path: ${PLAIN}. ${FOLDER}`,
    ],
    [
      "slots for nobody",
      { adapters: [TONE], maxLoras: 2 },
      "maxLoras: Only one adapter can be in use, and any further slot wastes memory: write 1, or delete this line.",
    ],
    [
      "fewer in the host's memory than slots",
      { adapters: [TONE, { ...TONE, name: "legal" }], maxCpuLoras: 1 },
      "maxCpuLoras: vLLM refuses fewer than `maxLoras` (2): write 2 or more, or delete this line.",
    ],
    [
      "more in the host's memory than there are",
      { adapters: [TONE], maxCpuLoras: 3 },
      "maxCpuLoras: No more than one adapter can be kept: write 1, or delete this line.",
    ],
    [
      "slots without adapters",
      { maxLoraRank: 16 },
      "maxLoraRank: There are no `adapters`: delete this line, or declare some.",
    ],
    [
      "a flag that has a setting",
      { extraArgs: ["--lora-modules", "tone=/adapters/tone"] },
      "extraArgs.0: `--lora-modules` has a setting of its own: use `adapters`.",
    ],
    [
      "the Docker socket",
      { mounts: [{ from: "/var/run/docker.sock", to: "/models/s" }] },
      "mounts.0.from: The Docker socket gives whoever has it the whole machine: name the folder of a model.",
    ],
    [
      "the whole machine",
      { mounts: [{ from: "/", to: "/models/s" }] },
      `mounts.0.from: ${PLAIN}. (Folder on the machine.)`,
    ],
    [
      "all homes",
      { mounts: [{ from: "/home", to: "/models/s" }] },
      "mounts.0.from: `/home` holds more than models: name the folder of the model alone.",
    ],
    [
      "a whole home",
      { mounts: [{ from: "/home/me", to: "/models/s" }] },
      "mounts.0.from: `/home/me` is a whole home, with its keys: name the folder of the model alone.",
    ],
    [
      "keys",
      { mounts: [{ from: "~/.ssh/keys", to: "/models/s" }] },
      "mounts.0.from: `~/.ssh/keys` is where programs keep keys: move the model elsewhere, such as to `~/models`.",
    ],
    [
      "keys of a program",
      { mounts: [{ from: "/home/me/.codex/", to: "/models/s" }] },
      "mounts.0.from: `/home/me/.codex/` is where programs keep keys (Codex's): move the model elsewhere, such as to `~/models`.",
    ],
    [
      "what holds keys",
      { model: { id: "~/.cargo" } },
      "model.id: `~/.cargo` holds `~/.cargo/credentials`, where programs keep keys (cargo's): name the folder of the model alone.",
    ],
    [
      "a folder of the system",
      { adapters: [{ ...TONE, path: "/etc/lora" }] },
      "adapters.0.path: `/etc/lora` lies in `/etc`, a folder of the system: move the model elsewhere, such as to `/data/models`.",
    ],
    [
      "the chat UI's data",
      { model: { id: "/var/lib/docker/volumes/local-serving-chat-ui/_data" } },
      "model.id: `/var/lib/docker/volumes/local-serving-chat-ui/_data` lies in `/var/lib/docker`, a folder of the system: move the model elsewhere, such as to `/data/models`.",
    ],
    [
      "what holds the state",
      { mounts: [{ from: "~/.local/share", to: "/models/s" }] },
      "mounts.0.from: `~/.local/share` and `stateDirectory` (~/.local/share/local-serving) overlap, and `stateDirectory` holds our own state, with files of secrets: name the folder of the model alone.",
    ],
    [
      "the model cache",
      { mounts: [{ from: "~/.cache/huggingface/hub", to: "/models/s" }] },
      "mounts.0.from: `~/.cache/huggingface/hub` and `modelCache` (~/.cache/huggingface) overlap, and `modelCache` holds downloaded models, which servers can already read and write: name the folder of the model alone.",
    ],
    [
      "the model cache by its whole path",
      { adapters: [{ ...TONE, path: "/home/me/.cache/huggingface/hub/x" }] },
      "adapters.0.path: `/home/me/.cache/huggingface/hub/x` and `modelCache` (~/.cache/huggingface) overlap, and `modelCache` holds downloaded models, which servers can already read and write: name the folder of the model alone.",
    ],
    [
      "a target in the image",
      { mounts: [{ from: "/data/x", to: "/usr/local/lib/python3.12" }] },
      "mounts.0.to: This would hide the image's own `/usr`: write `/models/NAME`.",
    ],
    [
      "a target of ours",
      { mounts: [{ from: "/data/x", to: "/jit-cache/x" }] },
      "mounts.0.to: `/jit-cache` inside the container is in use: write `/models/NAME` with another name.",
    ],
    [
      "all targets of ours",
      { mounts: [{ from: "/data/x", to: "/models" }] },
      "mounts.0.to: `/models` inside the container is in use: write `/models/NAME` with another name.",
    ],
    [
      "targets in each other",
      {
        mounts: [
          { from: "/data/x", to: "/models/x" },
          { from: "/data/y", to: "/models/x/y" },
        ],
      },
      "mounts.1.to: This path and `mounts.0` (`/models/x`) overlap: choose another path.",
    ],
    [
      "a commit of the model's folder",
      { model: { id: "/data/merged", revision: REVISION } },
      "model.revision: A folder has no revision: delete this line.",
    ],
  ])("refuse %s", (_, server, message) => {
    expect(faults(server)).toEqual([message]);
  });

  it("refuse a model cache that holds keys, which servers could write", () => {
    const text = (modelCache: string) => {
      const { machines } = stackInput({ modelCache });
      return stringify({ config: { "local-serving:machines": machines } });
    };
    const said = (modelCache: string) =>
      faultLines(() => parseStackFile("Pulumi.t.yaml", text(modelCache)), "machines.dgx.");
    expect(said("~/.claude")).toEqual([
      "modelCache: `~/.claude` is where programs keep keys (Claude Code's): move the model elsewhere, such as to `~/models`.",
    ]);
    expect(said("/home/me")).toEqual([
      "modelCache: `/home/me` is a whole home, with its keys: name the folder of the model alone.",
    ]);
    for (const cache of ["/home/me/.cache/huggingface", "~/.cache", "/mnt/hub"])
      expect(said(cache)).toEqual([]);
  });
});
