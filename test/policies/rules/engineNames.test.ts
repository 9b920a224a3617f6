import type { Word } from "@local-serving/vllm/argv/unknown";
import {
  droppedVariables,
  engineData,
  engineVersions,
  newestEngineData,
  optionInsteadOf,
} from "@local-serving/vllm/engineData";
import { describe, expect, it } from "vitest";
import { launchArguments } from "../../../components/inference-server/launchArguments";
import { served } from "../../../components/inference-server/serve";
import { LABEL } from "../../../components/planned/container";
import { loadStackFile } from "../../../components/settings/load";
import { serversIn } from "../../../policies/lib/inferenceServer";
import { engineFaults } from "../../../policies/rules/engineNames";
import {
  CLEAN_COMMAND,
  container,
  DIGEST,
  IMAGE,
  record,
  said,
  server,
  serving,
  UNKNOWN_TEXT,
  UNTAGGED,
  verdictsOf,
} from "../declared";

const RULE = "engine-names";
const FORK = `eugr/spark-vllm-b12x:v0.30.0@${DIGEST}`;

/** The clean arguments and more, in the image of 0.30.0. */
const judged = (...more: string[]) => said(RULE, [serving(...CLEAN_COMMAND, ...more), record()]);
const withVariable = (variable: string, image?: string) =>
  said(RULE, [server({ envs: [variable], ...(image === undefined ? {} : { image }) }), record()]);

/** Labels of the server `b` of a stack file. */
const labels = [
  { label: LABEL.machine, value: "dgx" },
  { label: LABEL.server, value: "b" },
];

describe("engine-names", () => {
  it.each([
    [["0.95"], "word", "`0.95`"],
    // A dash that a web page made of two hyphens.
    [["\u2013gpu-memory-utilization", "0.95"], "words", "`\u2013gpu-memory-utilization`, `0.95`"],
  ])("refuses words that no option takes: %j", (more, noun, named) => {
    expect(judged(...more)).toEqual([
      expect.stringContaining(
        `vLLM 0.30.0 takes no such ${noun} beside the model and its options: ${named}. An option begins with two hyphens (--), and its value is a word of its own or behind \`=\`.`,
      ),
    ]);
  });

  it("says nothing of a word that isn't known", () => {
    expect([judged(UNKNOWN_TEXT), judged("--", UNKNOWN_TEXT)]).toEqual([[], []]);
    expect(judged(UNKNOWN_TEXT, "stray").join()).toContain("takes no such word");
  });

  it("leaves words behind an option that it doesn't know to that option", () => {
    expect(judged("--new-list", "a", "b")).toEqual([
      expect.stringContaining("has no flag `--new-list`"),
    ]);
    expect(judged("--cudagraph-capture-sizes", "1", "2", "4")).toEqual([]);
  });

  it.each([
    [
      ["--tool-call-parser", "qwen3_codr"],
      "has no `qwen3_codr` for `--tool-call-parser`. Write `tools.parser: qwen3_coder`.",
    ],
    [
      ["--reasoning-parser=qwen33"],
      "has no `qwen33` for `--reasoning-parser`. Write `reasoningParser: qwen3`.",
    ],
    [
      ["--kv-cache-dtype", "fp88"],
      "has no `fp88` for `--kv-cache-dtype`. Write `kvCacheDtype: fp8`.",
    ],
    [
      ["--kv-cache-dtype", "FP8"],
      "has no `FP8` for `--kv-cache-dtype`. Write `kvCacheDtype: fp8`.",
    ],
    [
      ["--attention-backend", "FLASHINFR"],
      "has no `FLASHINFR` for `--attention-backend`. Write `attentionBackend: FLASHINFER`.",
    ],
    [
      ["--attention-config", '{"backend": "FLASHINFR"}'],
      "has no `FLASHINFR` for `--attention-config.backend`. Write `--attention-config.backend FLASHINFER`.",
    ],
    [["--moe-backend", "marln"], "has no `marln` for `--moe-backend`. Write `moeBackend: marlin`."],
    [
      ["--load-format", "fastsafetensor"],
      "has no `fastsafetensor` for `--load-format`. Write `loadFormat: fastsafetensors`.",
    ],
    [
      ["--speculative-config", '{"method": "mtpp"}'],
      "has no `mtpp` for `--speculative-config.method`. Write `speculative.method: mtp`.",
    ],
    [
      ["--speculative-config.method", "mtpp"],
      "has no `mtpp` for `--speculative-config.method`. Write `speculative.method: mtp`.",
    ],
    [
      ["--performance-mode", "zzz"],
      "has no `zzz` for `--performance-mode`. It takes balanced, interactivity, throughput.",
    ],
    [
      ["--enable-prefix-cachin-g"],
      "has no flag `--enable-prefix-cachin-g`. Write `--enable-prefix-caching`.",
    ],
    [
      ["--device-memory-utilization", "0.4"],
      "has no flag `--device-memory-utilization`. Write `--gpu-memory-utilization`.",
    ],
  ])("refuses %j", (more, what) => {
    expect(judged(...more)).toEqual([`refused: b: vLLM 0.30.0 ${what}`]);
  });

  it.each([
    [["--moe-backend", "Flashinfer-CUTLASS"]],
    [["--attention-backend", "flashinfer"]],
    [["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}']],
    [["--speculative-config", "{"]],
    [
      [
        "--gpu-mem",
        "0.4",
        "--no_enable_prefix_caching",
        "-tp",
        "1",
        "-O3",
        "--compilation-config.level",
        "3",
      ],
    ],
    [["--reasoning-parser", ""]],
    [["--middleware", "anything.at.all", "--hf-overrides", "{}"]],
  ])("has nothing against %j", (more) => {
    expect(judged(...more)).toEqual([]);
  });

  it("only warns where a plug-in may add the parser", () => {
    expect(judged("--tool-parser-plugin", "/p.py", "--tool-call-parser", "mine")).toEqual([
      expect.stringMatching(
        /^warned: b: vLLM 0.30.0 has no `mine` for `--tool-call-parser`, unless `--tool-parser-plugin` adds it\./,
      ),
    ]);
    expect(judged("--tool-parser-plugin", "/p.py", "--reasoning-parser", "mine")).toEqual([
      expect.stringMatching(/^refused: b: vLLM 0.30.0 has no `mine` for `--reasoning-parser`\./),
    ]);
  });

  it("only warns of a fork, and of a version without data", () => {
    const fork = said(RULE, [
      server({ image: FORK, command: [...CLEAN_COMMAND, "--load-format", "b12x"] }),
      record(),
    ]);
    expect(fork).toEqual([
      expect.stringMatching(
        /^warned: b: vLLM 0.30.0 has no `b12x` for `--load-format`.* Its image may differ/,
      ),
    ]);
    const later = server({
      image: UNTAGGED,
      command: [...CLEAN_COMMAND, "--moe-backend", "newest"],
    });
    expect(said(RULE, [later, record({ vllm: "0.99.0", transformers: "6" })])).toEqual([
      expect.stringMatching(/^warned: b: vLLM 0.33.0 has no `newest` for `--moe-backend`/),
    ]);
  });

  it("takes the version from the record of the digest, else from the tag", () => {
    const of033 = record({ vllm: "0.33.0", transformers: "5.17.0" });
    const command = [...CLEAN_COMMAND, "--tool-call-parser", "qwen3_json"];
    expect(said(RULE, [server({ image: UNTAGGED, command }), of033])).toEqual([]);
    // A record that contradicts the tag is refused, and believed in nothing.
    expect(said(RULE, [serving(...command), of033])).toHaveLength(1);
    expect(said(RULE, [serving(...CLEAN_COMMAND, "--tool-call-parser", "qwen3_json")])).toEqual([
      expect.stringContaining("refused: b: vLLM 0.30.0 has no `qwen3_json`"),
    ]);
  });

  it("refuses a variable that no version knows", () => {
    expect(withVariable("VLLM_MARLIN_USE_ATOMIC_AD=1")).toEqual([
      "refused: b: vLLM 0.30.0 has no variable `VLLM_MARLIN_USE_ATOMIC_AD`. Write `VLLM_MARLIN_USE_ATOMIC_ADD`.",
    ]);
    expect(withVariable("VLLM_PLE_TABLE_MEMORY=disk", FORK)).toEqual([
      expect.stringMatching(/^warned: /),
    ]);
    expect(withVariable("MY_VLLM_THING=1")).toEqual([]);
  });

  it("warns of a variable that another version knew, unless it is off", () => {
    expect(withVariable("VLLM_USE_FLASHINFER_MOE_FP4=1")).toEqual([
      expect.stringMatching(
        /^warned: b: vLLM 0.30.0 has no variable `VLLM_USE_FLASHINFER_MOE_FP4`, which .*0.23.0 had: it does nothing\. Use `moeBackend` instead\.$/,
      ),
    ]);
    expect(withVariable("VLLM_USE_FLASHINFER_MOE_FP4=0")).toEqual([]);
  });

  it.each([
    [
      "VLLM_ATTENTION_BACKEND=FLASHINFER",
      "releases up to 0.14.1",
      "Write `attentionBackend: FLASHINFER` instead.",
    ],
    [
      "VLLM_ATTENTION_BACKEND=FLASH_ATTN_VLLM_V1",
      "releases up to 0.14.1",
      "Use `attentionBackend` instead.",
    ],
    ["VLLM_ALL2ALL_BACKEND=naive", "releases up to 0.15.1", "Use `--all2all-backend` instead."],
    ["VLLM_TORCH_PROFILER_DIR=/tmp/p", "releases up to 0.15.1", "Use `--profiler-config` instead."],
    ["VLLM_NVFP4_GEMM_BACKEND=marlin", "0.23.0", "Use `--linear-backend` instead."],
    ["VLLM_FLASHINFER_MOE_BACKEND=marlin", "0.23.0", "Write `moeBackend: marlin` instead."],
    ["VLLM_USE_V1=1", "releases up to 0.11.0", "Remove it."],
  ])("notes which releases knew %s, and what took its place", (variable, releases, remedy) => {
    expect(withVariable(variable)).toEqual([
      `warned: b: vLLM 0.30.0 has no variable \`${variable.split("=")[0]}\`, which ${releases} had: it does nothing. ${remedy}`,
    ]);
    expect(withVariable(variable.replace(/=.*/, "=0"))).toEqual([]);
  });

  it.each([
    [
      ["--kernel-config", '{"moe_backend": "marln"}'],
      "`marln` for `--kernel-config.moe_backend`. Write `--kernel-config.moe_backend marlin`.",
    ],
    [
      ["--attention-config.backend", "FLASHINFR"],
      "`FLASHINFR` for `--attention-config.backend`. Write",
    ],
    [["--sed", "1"], "flag `--sed`. Write `--seed`."],
    [["--sxxd", "1"], "flag `--sxxd`. Remove it."],
    [["--mxfp4-backend", "x"], "flag `--mxfp4-backend`. Remove it."],
    [["--swap-space", "16"], "flag `--swap-space`. Remove it."],
    [["--rope_scaling", "{}"], "flag `--rope_scaling`. Use `--hf-overrides` instead."],
    [
      ["--guided-decoding-backend", "xgrammar"],
      "flag `--guided-decoding-backend`. Use `--structured-outputs-config.backend` instead.",
    ],
    [
      ["--disable-log-requests"],
      "flag `--disable-log-requests`. Write `--no-enable-log-requests`.",
    ],
    [["--enable-reasoning"], "flag `--enable-reasoning`. Remove it."],
    [["--disable-sleep-mode"], "flag `--disable-sleep-mode`. Write `--no-enable-sleep-mode`."],
    [["--lora_moduls", "a=b"], "flag `--lora_moduls`. Write `--lora-modules`."],
    [["--qqqqqqqqqqqq"], "flag `--qqqqqqqqqqqq`. Remove it."],
    [["--constructor", "1"], "flag `--constructor`. "],
  ])("says of %j that this vLLM has no such thing", (more, what) => {
    expect(judged(...more)).toEqual([
      expect.stringContaining(`refused: b: vLLM 0.30.0 has no ${what}`),
    ]);
  });

  it("lets a plug-in add a reasoning parser too, and says nothing of values that are not known", () => {
    expect(judged("--reasoning-parser-plugin", "/p.py", "--reasoning-parser", "mine")).toEqual([
      expect.stringContaining(
        "warned: b: vLLM 0.30.0 has no `mine` for `--reasoning-parser`, unless",
      ),
    ]);
    const script = 'vllm serve m --tool-call-parser "$A" --speculative-config "$B"';
    expect(said(RULE, [serving("sh", "-c", script), record()])).toEqual([]);
  });

  it.each([
    ["VLLM_QQQQQQQQQQQQQQQ=1", "has no variable `VLLM_QQQQQQQQQQQQQQQ`. Remove it."],
    ["VLLM_TEST_FORCE_FP8_MARLIN=1", "which 0.23.0 to 0.28.0 had: it does nothing."],
    ["VLLM_NVFP4_GEMM_BACKEND=1", "which 0.23.0 had: it does nothing."],
  ])("says of %s which releases had it", (variable, what) => {
    expect(withVariable(variable).join()).toContain(what);
  });

  it.each([
    [IMAGE, ["--tool-call-parser", "qwen3_codr"], "tools.parser", "qwen3_coder"],
    [IMAGE, ["--tool-call-parser", "qqqqqqqqqqqqqqqqqq"], undefined, undefined],
    [IMAGE, ["--performance-mode", "throughputt"], undefined, undefined],
    [FORK, ["--tool-call-parser", "qwen3_codr"], undefined, undefined],
  ])(
    "in %s, of %j, names a setting only where its right value is known",
    (image, more, setting, value) => {
      const [found] = verdictsOf(RULE, [
        server({ image, labels, command: [...CLEAN_COMMAND, ...more] }),
        record(),
      ]);
      const path = setting && `machines.dgx.inferenceServers.b.${setting}`;
      expect([found?.path, found?.value]).toEqual([path, value]);
    },
  );

  it.each([
    ["VLLM_FLASHINFER_MOE_BACKEND=marlin", "moeBackend", "marlin"],
    ["VLLM_NVFP4_GEMM_BACKEND=marlin", undefined, undefined],
    ["VLLM_USE_V1=1", undefined, undefined],
  ])(
    "names the setting that took the place of %s where it takes the value",
    (variable, setting, value) => {
      const [found] = verdictsOf(RULE, [server({ labels, envs: [variable] }), record()]);
      const path = setting && `machines.dgx.inferenceServers.b.${setting}`;
      expect([found?.verdict, found?.path, found?.value]).toEqual(["warned", path, value]);
    },
  );

  it("names the first 20 unknown flags, and counts the others", () => {
    const flags = Array.from({ length: 22 }, (_, index) => `--qqqqqqqqqqqq-${index}`);
    const named = flags.map((flag) =>
      expect.stringContaining(`has no flag \`${flag}\`. Remove it.`),
    );
    expect(judged(...flags.slice(0, 20))).toEqual(named.slice(0, 20));
    expect(judged(...flags.slice(0, 21))).toEqual([
      ...named.slice(0, 20),
      "refused: b: vLLM 0.30.0 doesn't know 1 more of its flags. Remove them.",
    ]);
    expect(judged(...flags).at(-1)).toContain("doesn't know 2 more of its flags.");
  });

  it("keeps dropped variables apart from those of a version, and names options that every newer version has", () => {
    expect(new Set(droppedVariables).size).toBe(droppedVariables.length);
    for (const { version, variables, values } of engineVersions().flatMap(
      (each) => engineData(each) ?? [],
    )) {
      expect(droppedVariables.filter((name) => variables.includes(name))).toEqual([]);
      const options = [...droppedVariables, ...(engineData("0.23.0")?.variables ?? [])].map(
        optionInsteadOf,
      );
      if (version !== "0.23.0")
        expect(values).toEqual(
          expect.arrayContaining(options.filter((option) => option !== undefined)),
        );
    }
  });

  it("has nothing against the default instance B", () => {
    const settings = loadStackFile("Pulumi.dgx.yaml").machines.dgx?.inferenceServers.b;
    const command =
      settings === undefined ? [] : launchArguments(settings, served("b", "container", settings));
    expect(said(RULE, [serving(...command), record()])).toEqual([]);
  });
});

/** What each fault is about, its name, and whether it is harmless. */
function faults(more: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const command = [...CLEAN_COMMAND, ...more];
  const words = new Map<string, Word>(Object.entries(variables));
  return serversIn(server({ command })).flatMap((each) =>
    engineFaults(each, words, newestEngineData()).map(({ about, name, harmless }) => [
      about,
      name,
      harmless,
    ]),
  );
}

describe("engine-names and GGUF", () => {
  const FILE = "org/M-8B-GGUF:Q4_K_M";
  const loading = (...command: string[]) =>
    verdictsOf(RULE, [serving(...command, "--max-model-len", "4096"), record()]).map(
      ({ verdict, message }) => [verdict, message.includes("GGUF")],
    );

  it("warns, and never refuses, where vLLM lacks something for it", () => {
    expect(loading("org/M-8B-GGUF")).toEqual([["warned", true]]);
    expect(loading("/models/M-8B.gguf", "--tokenizer", "org/M-8B")).toEqual([["warned", true]]);
    expect(loading(FILE, "--tokenizer", "org/M-8B")).toEqual([["warned", true]]);
  });

  it("says nothing of the safetensors repository that it proposes", () => {
    expect(loading("org/M-8B")).toEqual([["pass", false]]);
  });
});

it("engine-names says which flag, value or variable a vLLM doesn't know", () => {
  expect(faults(["--kv-cache-dtype", "fp88", "--no-such-flag"])).toEqual([
    ["flag", "--no-such-flag", false],
    ["value", "--kv-cache-dtype fp88", false],
  ]);
  expect(faults(["--tool-call-parser", "mine", "--tool-parser-plugin", "/mine.py"])).toEqual([
    ["value", "--tool-call-parser mine", true],
  ]);
  expect(faults([], { VLLM_USE_V1: "1", VLLM_NO_SUCH: "1" })).toEqual([
    ["variable", "VLLM_USE_V1", true],
    ["variable", "VLLM_NO_SUCH", false],
  ]);
});

it("engine-names counts the flags beyond those that it names", () => {
  const many = Array.from({ length: 23 }, (_, at) => `--no-such-flag-${at}`);
  expect(faults(many).at(-1)).toEqual(["flag", "3 more", false]);
});

it("says nothing of other containers, of words that are not known, and of variables that are", () => {
  expect(said(RULE, [container("web", { image: "nginx:1", command: ["--stray"] })])).toEqual([]);
  expect(said(RULE, [serving("m", UNKNOWN_TEXT)])).toEqual([]);
  const [name] = engineData("0.30.0")?.variables ?? [];
  expect(name).toMatch(/^VLLM_/);
  expect(said(RULE, [server({ envs: [`${name}=1`] })])).toEqual([]);
});

it("leads from words that are no option's value to the setting that may hold them", () => {
  const labels = [
    { label: LABEL.machine, value: "dgx" },
    { label: LABEL.server, value: "b" },
  ];
  const command = ["m", "stray", "more", ...CLEAN_COMMAND.slice(1)];
  const [found, ...others] = verdictsOf(RULE, [server({ labels, command })]);
  expect(others).toEqual([]);
  expect(found?.message).toContain(
    "takes no such words beside the model and its options: `stray`, `more`",
  );
  expect(found?.path).toBe("machines.dgx.inferenceServers.b.extraArgs");
  const [engine] = [engineData("0.30.0") ?? newestEngineData()];
  const faults = serversIn(server({ command })).flatMap((each) =>
    engineFaults(each, new Map(), engine),
  );
  expect(faults).toMatchObject([{ about: "flag", name: "stray" }]);
});
