import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { describe, expect, it } from "vitest";
import { argumentChanges } from "../../components/change/containerChange";
import { plan } from "../../components/plan/plan";
import { faultLines } from "../fixtures/faults";
import { serverInput, stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";

const REVISION = "0123456789abcdef0123456789abcdef01234567";
const CONFIG = {
  peft_type: "LORA",
  r: 12,
  lora_alpha: 24,
  target_modules: ["q_proj", "v_proj"],
  base_model_name_or_path: "org/model",
};
const files = (config: object | string = {}, more: Partial<ModelFiles> = {}): ModelFiles => ({
  files: ["adapter_config.json", "adapter_model.safetensors"],
  linksOutside: [],
  adapterConfig: typeof config === "string" ? config : JSON.stringify({ ...CONFIG, ...config }),
  weightsBytes: 3 * 2 ** 20,
  digest: "d1",
  ...more,
});
/** A folder whose adapter_config.json is there and has no text that was read. */
const withoutText = (more: Partial<ModelFiles>): ModelFiles => {
  const { adapterConfig, ...rest } = files({}, more);
  return rest;
};
const TONE = { name: "tone", path: "~/runs/tone" };

const evidenceOf = (folders: Record<string, ModelFiles>) => ({
  home: "/home/me",
  folders: { dgx: folders },
});
const planOf = (server: object, folders: Record<string, ModelFiles> = { "~/runs/tone": files() }) =>
  plan(stack({}, { adapters: [TONE], ...server }), evidenceOf(folders));

const faults = (...given: Parameters<typeof planOf>) =>
  faultLines(() => planOf(...given), "machines.dgx.inferenceServers.b.");

describe("a model that the image brings", () => {
  it("is served by its path, and nothing is mounted for it", () => {
    const settings = stack({}, { model: { id: "/opt/stand-in/model", inImage: true } });
    const { machines, warnings } = plan(settings, { home: "/home/me" });
    const [server] = machines[0]?.inferenceServers ?? [];
    expect(server?.container.command?.[0]).toBe("/opt/stand-in/model");
    expect(server?.container.mounts.some(({ source }) => source?.includes("stand-in"))).toBe(false);
    expect(warnings.filter(({ code }) => code === "own-model-unchecked")).toEqual([]);
  });
});

describe("a server with adapters", () => {
  it("is started with each by its name, in slots of the smallest rank that covers them", () => {
    const hub = { name: "legal", id: "org/legal-lora", revision: REVISION, rank: 40 };
    const { machines } = planOf({ adapters: [TONE, hub], maxLoras: 1, maxCpuLoras: 2 });
    const [server] = machines[0]?.inferenceServers ?? [];
    const words = server?.container.command ?? [];
    const at = words.indexOf("--enable-lora");
    expect(words.slice(at, words.indexOf("--allowed-origins"))).toEqual([
      "--enable-lora",
      "--lora-modules",
      "tone=/adapters/tone",
      `legal=/root/.cache/huggingface/hub/models--org--legal-lora/snapshots/${REVISION}`,
      ...["--max-lora-rank", "64", "--max-loras", "1", "--max-cpu-loras", "2"],
    ]);
    expect(server?.container.mounts.slice(-1)).toEqual([
      { type: "bind", source: "/home/me/runs/tone", target: "/adapters/tone", readOnly: true },
    ]);
    expect(server?.adapters).toEqual([
      { name: "tone", path: "/home/me/runs/tone", target: "/adapters/tone" },
      {
        name: "legal",
        id: "org/legal-lora",
        revision: REVISION,
        target: `/root/.cache/huggingface/hub/models--org--legal-lora/snapshots/${REVISION}`,
        rank: 40,
      },
    ]);
    expect(server?.hubModels).toEqual([
      { id: "org/model" },
      { id: "org/legal-lora", revision: REVISION },
    ]);
    expect(server?.serve.names).toEqual(["model", "org/model"]);
    expect(server?.serve.adapters).toEqual(["tone", "legal"]);
  });

  it("has a slot for each adapter unless told otherwise, only in the layers that are named", () => {
    const words = planOf({ loraTargetModules: ["q_proj", "v_proj"] }).machines[0]?.containers[0]
      ?.command;
    const at = words?.indexOf("--max-lora-rank") ?? 0;
    expect(words?.slice(at, at + 7)).toEqual([
      ...["--max-lora-rank", "16", "--max-loras", "1"],
      ...["--lora-target-modules", "q_proj", "v_proj"],
    ]);
  });

  it("changes nothing of a server without one", () => {
    const [machine] = plan(stack(), { home: "/home/me" }).machines;
    const text = JSON.stringify(machine);
    expect(text).not.toContain("adapters");
    expect(text).not.toContain("lora");
    expect(text).not.toContain("local-serving.folders");
  });

  it("is another container once a file of its folder changes, and not once the hub's is there", () => {
    const label = (folders: Record<string, ModelFiles>, server: object = {}) =>
      planOf(server, folders).machines[0]?.containers[0]?.labels["local-serving.folders"];
    const before = label({ "~/runs/tone": files() });
    expect(before).toMatch(/^tone=[0-9a-f]{12}$/);
    expect(label({ "~/runs/tone": files() })).toBe(before);
    expect(label({ "~/runs/tone": files({}, { digest: "d2" }) })).not.toBe(before);
    const hub = { adapters: [{ name: "l", id: "org/l", revision: REVISION, rank: 8 }] };
    expect(label({ [`org/l@${REVISION}`]: files({ r: 8 }) }, hub)).toBeUndefined();
  });

  it("is replaced by a change of its files, and nothing else is", () => {
    const at = (digest: string) => {
      const two = { b: serverInput({ adapters: [TONE] }), c: serverInput({ port: 8002 }) };
      const settings = stack({ bridge: BRIDGE, inferenceServers: two });
      const { machines } = plan(settings, evidenceOf({ "~/runs/tone": files({}, { digest }) }));
      return machines[0]?.containers ?? [];
    };
    const [before, after] = [at("d1"), at("d2")];
    const changes = before.map((container, index) =>
      argumentChanges(container, after[index] ?? container).map(({ argument }) => argument),
    );
    expect(changes).toEqual([["files in the folder of the adapter tone"], [], []]);
  });

  it("is asked for its adapters by clients and the bridge, each by its own name", () => {
    const { machines } = plan(
      stack(
        {
          bridge: BRIDGE,
          clients: { codex: { model: "tone" }, claudeCode: { via: "bridge", model: "tone" } },
        },
        { adapters: [TONE] },
      ),
      evidenceOf({ "~/runs/tone": files() }),
    );
    const [machine] = machines;
    expect(machine?.bridge?.models.filter(({ name }) => name === "tone")).toEqual([
      { name: "tone", model: "hosted_vllm/tone", baseUrl: "http://vllm-model-8001:8001/v1" },
    ]);
    const of = (client: string) => machine?.clients.find((each) => each.client === client);
    expect(of("codex")?.tiers).toEqual({ model: "tone" });
    expect(of("codex")?.names).toEqual(["model", "org/model", "tone"]);
    expect(of("claude-code")?.names.slice(0, 3)).toEqual(["model", "org/model", "tone"]);
  });

  it("is said not to be checked where nothing can be read", () => {
    const there = { ...TONE, rank: 8 };
    const said = (server: object, folders: Record<string, ModelFiles>) =>
      planOf({ adapters: [there], ...server }, folders)
        .warnings.filter(({ code }) => code === "own-model-unchecked")
        .map(({ message }) => message);
    expect(said({}, {})).toEqual([
      "b: ~/runs/tone is on another computer, so it wasn't checked. Changes of its files aren't noticed either: an update keeps the container.",
    ]);
    const missing = files({}, { problem: "is not there" });
    expect(said({}, { "~/runs/tone": missing })).toEqual([
      "b: ~/runs/tone is not there, so it wasn't checked. Changes of its files aren't noticed either: an update keeps the container.",
    ]);
    const hub = { adapters: [{ name: "l", id: "org/l", revision: REVISION, rank: 8 }] };
    expect(said(hub, {})).toEqual([
      `b: org/l@${REVISION} isn't in the model cache, so it wasn't checked. Run \`serving fetch\` to download it; the server doesn't download adapters.`,
    ]);
    const nameless = files({ base_model_name_or_path: null, r: 8 });
    expect(said({}, { "~/runs/tone": nameless })).toEqual([
      "b: tone doesn't say which model it was trained on (`base_model_name_or_path`), so it wasn't checked that it fits org/model.",
    ]);
  });

  const SHOWN = files();
  it.each<[string, object, ModelFiles, string]>([
    [
      "another base",
      {},
      files({ base_model_name_or_path: "org/other" }),
      "adapters.0.path: tone was trained on `org/other`, but this server serves `org/model`. If that is another copy of the same model, such as a quantized one, write `trainedOn: org/other`. Otherwise declare the adapter on a server of its own base model.",
    ],
    [
      "another base than is declared",
      { adapters: [{ ...TONE, trainedOn: "org/third" }] },
      files({ base_model_name_or_path: "org/other" }),
      "adapters.0.trainedOn: `trainedOn: org/third` is declared, but its adapter_config.json names `org/other`: write that, or name another folder.",
    ],
    [
      "another rank than is declared",
      { adapters: [{ ...TONE, rank: 8 }] },
      SHOWN,
      "adapters.0.rank: `rank: 8` is declared, but its adapter_config.json says 12: delete this line.",
    ],
    [
      "slots that are too small",
      { maxLoraRank: 8 },
      SHOWN,
      "maxLoraRank: tone has rank 12, which doesn't fit into a slot of rank 8: write 16, or delete this line.",
    ],
    [
      "slots that this vLLM hasn't",
      { maxLoraRank: 24 },
      SHOWN,
      "maxLoraRank: This vLLM only has slots of rank 1, 8, 16, 32, 64, 128, 256, 320, 512: write 32, or delete this line.",
    ],
    [
      "a rank beyond all slots",
      {},
      files({ r: 1024 }),
      "adapters.0.rank: tone has rank 1024, but vLLM's slots go up to 512: train it again with `r: 512` or less, or serve the merged model (`model.id: FOLDER`).",
    ],
    [
      "another kind of adapter",
      {},
      files({ peft_type: "IA3" }),
      "adapters.0.path: Its `peft_type` isn't LORA, the only kind of adapter that vLLM serves: merge it, and serve the merged model.",
    ],
    [
      "DoRA",
      {},
      files({ use_dora: true }),
      "adapters.0.path: It was trained with DoRA (`use_dora`), which vLLM doesn't support: merge it, and serve the merged model.",
    ],
    [
      "whole layers",
      {},
      files({ modules_to_save: ["lm_head"] }),
      "adapters.0.path: It replaces whole layers (`modules_to_save`), which vLLM refuses: merge it, and serve the merged model.",
    ],
    [
      "biases",
      {},
      files({ bias: "all" }),
      "adapters.0.path: It has biases (`bias`), which vLLM refuses: train it with `bias: none`, or merge it.",
    ],
    [
      "biases of its own layers",
      {},
      files({ lora_bias: true }),
      "adapters.0.path: It has biases (`lora_bias`), which vLLM can't load: train it without them, or merge it.",
    ],
    [
      "tokens",
      {},
      files({ trainable_token_indices: [1] }),
      "adapters.0.path: It changes single tokens (`trainable_token_indices`), which vLLM can't load: merge it, and serve the merged model.",
    ],
    [
      "scales of single layers",
      {},
      files({ rank_pattern: { q_proj: 4 } }),
      "adapters.0.path: Its layers have different scales (`rank_pattern` or `alpha_pattern`), but vLLM scales all of them by `lora_alpha` and `r`, so its answers would be wrong. Merge it, and serve the merged model.",
    ],
    [
      "no alpha",
      {},
      files({ lora_alpha: undefined }),
      "adapters.0.path: Its adapter_config.json has no number as `lora_alpha`, which vLLM needs: name a folder that PEFT's `save_pretrained` wrote.",
    ],
    [
      "no targets",
      {},
      files({ target_modules: null }),
      "adapters.0.path: Its adapter_config.json has no `target_modules`, which vLLM needs: name a folder that PEFT's `save_pretrained` wrote.",
    ],
    [
      "no JSON",
      { maxLoraRank: 16 },
      files("{"),
      "adapters.0.path: Its adapter_config.json isn't a JSON object: copy the folder again.",
    ],
    [
      "a link to a secret",
      {},
      files({}, { linksOutside: [{ link: "vocab.json", target: "/home/me/.ssh/id_ed25519" }] }),
      "adapters.0.path: `vocab.json` in it is a link to /home/me/.ssh/id_ed25519, outside the folder: the server would not find its target, which may also be a secret. Put the file itself there (`cp -L`).",
    ],
    [
      "a folder that leads into the system",
      {},
      files({}, { leadsTo: "/etc/lora" }),
      "adapters.0.path: It is a link. `/etc/lora` lies in `/etc`, a folder of the system: move the model elsewhere, such as to `/data/models`.",
    ],
    [
      "a pickle",
      {},
      files({}, { files: ["adapter_config.json", "adapter_model.bin"] }),
      "adapters.0.path: Its weights are a Python pickle (adapter_model.bin), which can carry code; only torch's restricted loader keeps it from running in the server. Save them as safetensors (`save_pretrained(..., safe_serialization=True)`), or write `allowPickle: true` if you made them yourself.",
    ],
    [
      "no weights",
      {},
      files({}, { files: ["adapter_config.json"] }),
      "adapters.0.path: There are no weights in it: adapter_model.safetensors is missing.",
    ],
    [
      "a whole model",
      { adapters: [{ ...TONE, rank: 8 }] },
      {
        files: ["adapter_model.safetensors", "config.json"],
        linksOutside: [],
        weightsBytes: 1,
      },
      "adapters.0.path: tone is a whole model (config.json), not an adapter: serve it as `model.id` of a server of its own.",
    ],
    [
      "a folder of checkpoints",
      { adapters: [{ ...TONE, rank: 8 }] },
      { files: ["adapter_model.safetensors"], linksOutside: [], weightsBytes: 1 },
      "adapters.0.path: There is no adapter_config.json in it: name the folder that PEFT's `save_pretrained` wrote, such as `checkpoint-900`.",
    ],
    [
      "no rank that is known",
      {},
      { files: [], linksOutside: [], weightsBytes: 0, problem: "is not there" },
      "adapters.0.path: ~/runs/tone is not there: correct the path. If the folder is created later, write `rank`, the `r` of its adapter_config.json.",
    ],
    [
      "a configuration that is no JSON, and for nothing else",
      {},
      files(""),
      "adapters.0.path: Its adapter_config.json isn't a JSON object: copy the folder again.",
    ],
    [
      "a configuration that was not read",
      {},
      withoutText({ unread: ["adapter_config.json"] }),
      "adapters.0.path: Its adapter_config.json can't be read: correct its permissions.",
    ],
    [
      "a configuration that is far too large",
      {},
      withoutText({}),
      "adapters.0.path: Its adapter_config.json is larger than 1 MiB or isn't text: copy it again.",
    ],
    [
      "a socket in the folder",
      {},
      files({}, { special: ["docker.sock"] }),
      "adapters.0.path: `docker.sock` in it is a socket, a pipe or a device: the server could talk to whatever is behind it, or wait for it forever. Remove it from the folder.",
    ],
    [
      "a link to a folder of the system, whatever else is wrong there",
      {},
      files({}, { leadsTo: "/etc", files: [], special: ["x"] }),
      "adapters.0.path: It is a link. `/etc` lies in `/etc`, a folder of the system: move the model elsewhere, such as to `/data/models`.",
    ],
  ])("is refused for %s", (_, server, read, message) => {
    expect(faults(server, { "~/runs/tone": read })).toEqual([message]);
  });

  it("tells the first of many links, and how many there are", () => {
    const linksOutside = Array.from({ length: 9 }, (_, at) => ({ link: `l${at}`, target: "/x" }));
    const found = faults({}, { "~/runs/tone": files({}, { linksOutside }) });
    expect(found).toHaveLength(4);
    expect(found.at(-1)).toBe("adapters.0.path: There are 6 more links out of the folder.");
  });

  it("says that a change of files that can't be read isn't noticed", () => {
    const unread = files({}, { unread: ["adapter_model.safetensors"] });
    const { warnings } = planOf({}, { "~/runs/tone": unread });
    expect(warnings.filter(({ code }) => code === "own-model-unchecked")).toEqual([
      {
        machine: "dgx",
        code: "own-model-unchecked",
        message:
          "b: adapter_model.safetensors of ~/runs/tone can't be read here. Changes of its files aren't noticed either: an update keeps the container.",
      },
    ]);
  });

  it("takes what is said to be the same model, a pickle that is allowed, and any case", () => {
    const other = files({ base_model_name_or_path: "org/Model-BF16" });
    const folders = { "~/runs/tone": other };
    expect(faults({ adapters: [{ ...TONE, trainedOn: "org/model-bf16" }] }, folders)).toEqual([]);
    const pickle = files({}, { files: ["adapter_config.json", "adapter_model.bin"] });
    expect(faults({ allowPickle: true }, { "~/runs/tone": pickle })).toEqual([]);
    const upper = files({ base_model_name_or_path: "Org/Model" });
    expect(faults({}, { "~/runs/tone": upper })).toEqual([]);
  });
});

describe("a model that is a folder", () => {
  const MERGED = { model: { id: "~/runs/merged", family: "qwen3" }, adapters: [] };
  const read = (more: Partial<ModelFiles> = {}): ModelFiles => ({
    files: ["config.json", "model.safetensors"],
    linksOutside: [],
    weightsBytes: 1,
    digest: "m1",
    ...more,
  });

  it("is mounted read-only, and served by its name alone", () => {
    const { machines } = planOf(MERGED, { "~/runs/merged": read() });
    const [server] = machines[0]?.inferenceServers ?? [];
    expect(server?.container.command.slice(0, 4)).toEqual([
      "/models/merged",
      "--served-model-name",
      "model",
      "--host",
    ]);
    expect(server?.container.mounts.slice(-1)).toEqual([
      { type: "bind", source: "/home/me/runs/merged", target: "/models/merged", readOnly: true },
    ]);
    expect(server?.hubModels).toEqual([]);
    expect(server?.container.labels["local-serving.folders"]).toMatch(/^model\.id=[0-9a-f]{12}$/);
  });

  it("is a path inside the container below a mount or the model cache", () => {
    const mounts = [{ from: "/data/x", to: "/models/x" }];
    const id = "/models/x/merged";
    const [server] =
      planOf({ ...MERGED, model: { id, family: "qwen3" }, mounts }, {}).machines[0]
        ?.inferenceServers ?? [];
    expect(server?.container.command[0]).toBe(id);
    expect(server?.container.mounts.slice(-1)).toEqual([
      { type: "bind", source: "/data/x", target: "/models/x", readOnly: true },
    ]);
  });

  it.each<[string, ModelFiles, string]>([
    [
      "an adapter",
      read({ files: ["adapter_config.json", "adapter_model.safetensors"], adapterConfig: "{}" }),
      "model.id: It is an adapter (adapter_config.json), not a whole model: write its base model as `model.id` and this folder below `adapters`.",
    ],
    [
      "no model",
      read({ files: ["model.safetensors"] }),
      "model.id: There is no config.json in it: name the folder that `save_pretrained` of the whole model wrote.",
    ],
    [
      "a pickle",
      read({ files: ["config.json", "pytorch_model-00001-of-00002.bin"] }),
      "model.id: Its weights are a Python pickle (pytorch_model-00001-of-00002.bin), which can carry code; only torch's restricted loader keeps it from running in the server. Save them as safetensors (`save_pretrained(..., safe_serialization=True)`), or write `allowPickle: true` if you made them yourself.",
    ],
    [
      "a link out of it",
      read({ linksOutside: [{ link: "tokenizer.json", target: "/etc/shadow" }] }),
      "model.id: `tokenizer.json` in it is a link to /etc/shadow, outside the folder: the server would not find its target, which may also be a secret. Put the file itself there (`cp -L`).",
    ],
  ])("is refused for %s", (_, folder, message) => {
    expect(faults(MERGED, { "~/runs/merged": folder })).toEqual([message]);
  });
});
