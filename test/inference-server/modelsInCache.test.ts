import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";
import OF_0_1_0 from "../fixtures/upgrade/0.1.0/applied-plan.json";
import { MachineOfGate } from "./machineOfGate";
import { ALL_SHELLS } from "./processes";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const OTHER = "fedcba9876543210fedcba9876543210fedcba98";
const SERVER = "floor 2048\nstarts 99\nserver b 46080 6 http://127.0.0.1:9/health\n";
/** A vLLM that says what it was told. */
const SAYS_IT = `echo "hub offline: \${HF_HUB_OFFLINE-unset}"`;
const SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
const index = (shards: readonly string[]) => ({
  metadata: { total_size: 2 },
  weight_map: Object.fromEntries(
    ["norm", "embed", "head", "last"].map((name, at) => [
      `model.${name}`,
      shards[at % shards.length],
    ]),
  ),
});
const CUSTOM = { auto_map: { AutoConfig: "configuration_x.XConfig" } };
const ELSEWHERE = { auto_map: { AutoConfig: "other-org/code--configuration_x.XConfig" } };

describe.each(ALL_SHELLS.map((shell) => [shell.join(" "), shell] as const))(
  "a start without the hub under %s",
  (_, shell) => {
    let machine: MachineOfGate;
    let hub: string;

    beforeEach(() => {
      machine = new MachineOfGate(shell);
      // One that ends at once: its gate says all that it has to say.
      machine.vllm(SAYS_IT);
      machine.available(50);
      hub = machine.at("home/.cache/huggingface/hub");
    });
    afterEach(() => machine.end());

    const repository = (id: string) => join(hub, `models--${id.replace("/", "--")}`);
    const snapshot = (id = "org/m", commit = COMMIT) => join(repository(id), "snapshots", commit);
    const write = (path: string, value: unknown) =>
      writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
    /** As huggingface_hub lays it out: links to blobs, and a reference without a newline. */
    function cache(
      id = "org/m",
      files: Readonly<Record<string, unknown>> = {
        "config.json": {},
        ...Object.fromEntries(SHARDS.map((each) => [each, "x"])),
        "model.safetensors.index.json": index(SHARDS),
      },
      { commit = COMMIT, references = ["main"] } = {},
    ): void {
      for (const each of [join(repository(id), "blobs"), join(repository(id), "refs")])
        mkdirSync(each, { recursive: true });
      mkdirSync(snapshot(id, commit), { recursive: true });
      for (const each of references) write(join(repository(id), "refs", each), commit);
      for (const [name, value] of Object.entries(files)) {
        write(join(repository(id), "blobs", name), value);
        symlinkSync(`../../blobs/${name}`, join(snapshot(id, commit), name));
      }
    }
    async function saidOf(models: string, env: Readonly<Record<string, string>> = {}) {
      machine.put("gate", `${SERVER}${models}`);
      const gate = machine.start(env);
      await gate.ended;
      return gate.said();
    }
    const offlineOf = async (...given: Parameters<typeof saidOf>) =>
      /hub offline: (.*)/.exec(await saidOf(...given))?.[1];

    it("is one whose model is whole in the cache, and is said before it opens", async () => {
      cache();
      const said = await saidOf("model b org/m\n");
      expect(said.replace(/after \d+ s, with/, "after a while, with")).toBe(
        "start gate: HF_HUB_OFFLINE=1: the cache has all of org/m, so vLLM asks no hub\n" +
          "start gate: open after 0 s, 50.00 GiB are available\n" +
          "hub offline: 1\n" +
          "start gate: vLLM ended after a while, with code 0\n",
      );
    });

    it("is no start by a file of an earlier version, or of another server's models", async () => {
      cache();
      expect(await offlineOf("")).toBe("unset");
      expect(await offlineOf("model c org/m\n")).toBe("unset");
    });

    it("is no matter for the gate of an earlier version, which its line is nothing to", async () => {
      const { entrypoint } = OF_0_1_0.machine.containers[0] ?? {};
      const script = entrypoint?.[2] ?? "";
      cache();
      machine.put("gate", `${SERVER}model b org/m\nend-when-spent b\n`);
      // Behind what writes the chat template.
      const gate = machine.start({}, script.slice(script.indexOf("DECLARED=")));
      expect(await gate.ended).toBe(0);
      expect(gate.said()).toBe(
        "start gate: open after 0 s, 50.00 GiB are available\nhub offline: unset\n",
      );
    });

    it.each(["0", "1", ""])(
      "is decided by `environment` alone if it says HF_HUB_OFFLINE=%s",
      async (value) => {
        cache();
        const said = await saidOf("model b org/m\n", { HF_HUB_OFFLINE: value });
        expect(said).toContain(`hub offline: ${value}\n`);
        expect(said).not.toContain("HF_HUB_OFFLINE");
      },
    );

    const without = (name: string) => () => rmSync(join(snapshot(), name));
    const blob = (name: string) => () => rmSync(join(repository("org/m"), "blobs", name));
    const put = (name: string, value: unknown) => () => write(join(snapshot(), name), value);
    it.each<[string, () => void]>([
      ["is empty", () => rmSync(hub, { recursive: true })],
      ["has no config", without("config.json")],
      ["lacks a shard", without(SHARDS[1] ?? "")],
      ["has a link to a shard that is gone", blob(SHARDS[0] ?? "")],
      ["has shards and no index yet", without("model.safetensors.index.json")],
      ["has an index of nothing", put("model.safetensors.index.json", "{}")],
      ["has a damaged index", put("model.safetensors.index.json", '"$(>x)"')],
      ["has no weights", () => cache("org/m", { "config.json": {} }, { commit: OTHER })],
      [
        "is still loading a file",
        () => write(join(repository("org/m"), "blobs/ab.incomplete"), ""),
      ],
      ["has a config whose code is elsewhere", put("config.json", ELSEWHERE)],
      ["has a tokenizer whose code is elsewhere", put("tokenizer_config.json", ELSEWHERE)],
      ["has no commit of main", () => rmSync(join(repository("org/m"), "refs/main"))],
      [
        "has a damaged commit of main",
        () => write(join(repository("org/m"), "refs/main"), "$(>x)"),
      ],
      ["has another commit as main", () => write(join(repository("org/m"), "refs/main"), OTHER)],
    ])("is none where the cache %s", async (_, spoil) => {
      cache();
      spoil();
      expect(await offlineOf("model b org/m\n")).toBe("unset");
    });

    it.each<[string, string, () => void]>([
      [
        "one file of weights",
        "org/m",
        () => cache("org/m", { "config.json": {}, "model.safetensors": "x" }),
      ],
      [
        "code of its own",
        "org/m",
        () => cache("org/m", { "config.json": CUSTOM, "a.safetensors": "x" }),
      ],
      [
        "an index in many lines",
        "org/m",
        () => {
          cache();
          write(
            join(snapshot(), "model.safetensors.index.json"),
            JSON.stringify(index(SHARDS), null, 2),
          );
        },
      ],
      [
        "a name without an organisation, and `-of-` in it",
        "best-of-2",
        () => cache("best-of-2", { "config.json": {}, "a.safetensors": "x" }),
      ],
      [
        "an adapter",
        "org/m",
        () => cache("org/m", { "adapter_config.json": {}, "adapter_model.safetensors": "x" }),
      ],
      [
        "the commit that is pinned",
        `org/m ${OTHER}`,
        () => cache("org/m", undefined, { commit: OTHER, references: [] }),
      ],
      [
        "the tag that is pinned",
        "org/m v1.2",
        () => cache("org/m", undefined, { references: ["v1.2"] }),
      ],
    ])("is one of a whole model with %s", async (_, model, fill) => {
      fill();
      expect(await offlineOf(`model b ${model}\n`)).toBe("1");
    });

    it("needs each of the server's models, at the commit that is named", async () => {
      cache();
      cache("org/draft");
      const both = "model b org/m\nmodel b org/draft\n";
      expect(await saidOf(both)).toContain("the cache has all of org/m org/draft, so");
      expect(await offlineOf(`${both}model b org/adapter\n`)).toBe("unset");
      expect(await offlineOf(`model b org/m ${OTHER}\n`)).toBe("unset");
    });

    it("looks where huggingface_hub looks", async () => {
      cache();
      const [home, xdg] = [machine.at("home/.cache/huggingface"), machine.at("home/.cache")];
      const model = "model b org/m\n";
      for (const env of [
        { HF_HUB_CACHE: hub, HF_HOME: "/none" },
        { HUGGINGFACE_HUB_CACHE: hub, HF_HOME: "/none" },
        { HF_HOME: home, HOME: "/none" },
        { XDG_CACHE_HOME: xdg, HOME: "/none" },
      ])
        expect(await offlineOf(model, env)).toBe("1");
      for (const env of [{ HF_HUB_CACHE: "/none" }, { HF_HOME: "/none" }, { HOME: "/none" }])
        expect(await offlineOf(model, env)).toBe("unset");
    });

    it("ends with a model that is gone when the server starts again in its container", async () => {
      cache();
      machine.put("gate", `${SERVER}model b org/m\n`);
      machine.vllm(`${SAYS_IT}; exec /bin/sleep 60`);
      const gate = machine.start();
      const says = (words: string) => expect.poll(gate.said, { interval: 5 }).toContain(words);
      await says("hub offline: 1");
      machine.available(1);
      await says("waiting for 45.00 GiB");
      rmSync(hub, { recursive: true });
      machine.available(50);
      await says("hub offline: unset");
    });
  },
);

describe("the models that the gate is told of", () => {
  const models = (server = {}) =>
    plan(stack({ instanceA: "none" }, server), { home: "/home/me" })
      .machines[0]?.files.find(({ role }) => role === "start-gate")
      ?.text.split("\n")
      .filter((line) => line.startsWith("model "))
      .map((line) => line.replace("model vllm-model-8001 ", ""));
  const model = (more: object) => ({
    model: { id: "org/model", family: "qwen3", thinking: true, ...more },
  });

  it("are its own, its draft's, its tokenizer's and its adapters', with the commit that is pinned", () => {
    expect(models()).toEqual(["org/model"]);
    expect(models(model({ revision: COMMIT }))).toEqual([`org/model ${COMMIT}`]);
    expect(
      models({
        speculative: { method: "eagle3", numSpeculativeTokens: 3, model: "org/draft" },
        extraArgs: [
          ...[
            "--tokenizer=org/words",
            "--tokenizer-revision",
            "v2",
            "--hf-config-path",
            "org/config",
          ],
          ...["--enable-lora", "--lora-modules", "sql=org/sql", "here=/adapters/x"],
          '{"name": "c", "path": "org/c", "base_model_name": "org/model"}',
        ],
      }),
    ).toEqual(["org/model", "org/draft", "org/words v2", "org/config", "org/sql", "org/c"]);
  });

  it("are none that lie in a folder", () => {
    expect(models(model({ id: "/models/mine" }))).toEqual([]);
    expect(
      models({ ...model({ id: "/models/mine" }), extraArgs: ["--tokenizer", "org/words"] }),
    ).toEqual(["org/words"]);
  });

  it.each<[string, object]>([
    ["a file of a repository", model({ id: "org/model-GGUF:Q4_K_M" })],
    ["an address of another store", model({ id: "s3://bucket/model" })],
    ["a name that is none", { extraArgs: ["--tokenizer", "a b/c"] }],
    ["a folder for the weights", { extraArgs: ["--download-dir", "/elsewhere"] }],
    ["adapters by the kind of input", { extraArgs: ["--default-mm-loras", '{"audio":"org/a"}'] }],
    ["adapters by one kind of input", { extraArgs: ["--default-mm-loras.audio", "org/a"] }],
    ["adapters that are named later", { environment: { VLLM_ALLOW_RUNTIME_LORA_UPDATING: "1" } }],
    ["another hub", { environment: { VLLM_USE_MODELSCOPE: "1" } }],
  ])("are left out where one is not known: %s", (_, server) => {
    expect(models(server)).toEqual([]);
  });
});
