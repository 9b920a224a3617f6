import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { mergeRecipes, runMerge } from "../../../cli/maintain/recipes";
import { readRecipe } from "../../../components/catalogue/readCatalogue";
import { temporaryFolder } from "../../layers/temporaryFolder";

// The checkout is made up: models that don't exist, in the form of the real files of
// vllm-project/recipes at commit 8959cf64 (2026-08-21).

const TAXONOMY = `hardware_profiles:
  h100: { brand: NVIDIA, generation: hopper, gpu_count: 8, vram_gb: 640 }
  dgx_spark_gb10: { brand: NVIDIA, generation: blackwell, gpu_count: 1, vram_gb: 128 }
`;

const FILE = "models/maker/Made-Up-30B.yaml";
const SOURCE = `vllm-project/recipes, ${FILE}, for one DGX Spark`;
const THEIRS = `meta:
  tasks: [text]
  hardware: { h100: verified, dgx_spark_gb10: verified }
model:
  model_id: "maker/Made-Up-30B"
  min_vllm_version: "0.25.0"
  base_args: ["--trust-remote-code"]
  base_env: {}
features:
  tool_calling:
    args: ["--enable-auto-tool-choice", "--tool-call-parser", "qwen3_xml"]
  spec_decoding:
    args: ["--speculative-config", '{"method":"mtp","num_speculative_tokens":3}']
opt_in_features: [spec_decoding]
variants:
  default:
    precision: bf16
    vram_minimum_gb: 72
  nvfp4:
    model_id: "maker/Made-Up-30B-NVFP4"
    precision: nvfp4
    vram_minimum_gb: 18
    extra_args: ["--kv-cache-dtype", "fp8"]
    hardware_overrides:
      hopper: { extra_args: ["--max-num-seqs", "256"] }
      dgx_spark_gb10:
        docker_image: "maker/spark-vllm:latest"
        extra_args:
          - "--gpu-memory-utilization"
          - "0.7"
          - "--max-num-seqs"
          - "8"
          - "--enable-prefix-caching"
          - "--attention-backend"
          - "flashinfer"
          - "--moe-backend"
          - "marlin"
        extra_env:
          VLLM_MADE_UP: "1"
          NCCL_IB_HCA: "$IB_IF"
hardware_overrides: {}
`;

const OURS = `# What is known of a model that doesn't exist.
id: maker/Made-Up-30B-NVFP4
servedModelName: made-up-30b
family: other
thinking: false
config: { from: model, source: "a test", date: 2026-01-01 } # cut down
minimumVllm: 0.26.0
parsers: { tool: qwen3_coder }
share: { alone: 0.6 }
settings: { maxModelLen: 32768, attentionBackend: FLASHINFER } # ours
notes:
  - "Kept: as it is."
sources:
  - { of: [settings.maxModelLen, settings.attentionBackend, share.alone], basis: measured, source: "our own log", date: 2026-01-01 }
  - { of: [parsers.tool, minimumVllm], basis: judged, source: "a guess", date: 2026-01-02 }
`;

/** Their checkout with files, each committed on 2026-08-13. */
function checkout(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder("recipes-");
  for (const [file, text] of Object.entries({ "taxonomy.yaml": TAXONOMY, ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const date = "2026-08-13T12:00:00Z";
  const env = { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=t@example.invalid", ...args], {
      ...{ cwd: folder, stdio: "pipe", env },
    });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "First");
  return folder;
}

/** A project whose catalogue is one recipe. */
function project(ours = OURS): { readonly folder: string; readonly text: () => string } {
  const folder = temporaryFolder("catalogue-");
  const file = join(folder, "models/maker--Made-Up-30B-NVFP4/recipe.yaml");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, ours);
  return { folder, text: () => readFileSync(file, "utf8") };
}

/** What is printed between the commit and the sum. */
const lines = (text: string): string[] => text.split("\n").slice(2, -2);
const sum = (text: string) => text.split("\n").at(-1);

const CONTRADICTION = `  contradicts, ours stays: share.alone: ours 0.6 (measured: our own log, 2026-01-01), theirs 0.7 (${SOURCE}, 2026-08-13)`;

describe("recipes of vllm-project/recipes, merged into ours", () => {
  it("adds what ours lacks with its source, prints contradictions, and keeps all of ours", () => {
    const ours = project();
    const { text, failed } = mergeRecipes([checkout({ [FILE]: THEIRS })], ours.folder);
    expect(text).toMatch(/^vllm-project\/recipes, commit [0-9a-f]+ of 2026-08-13$/m);
    expect(lines(text)).toEqual([
      `maker/Made-Up-30B-NVFP4 (${FILE}, 2026-08-13)`,
      "  added settings.kvCacheDtype: fp8",
      "  added settings.maxNumSeqs: 8",
      "  added settings.moeBackend: marlin",
      "  added image: maker/spark-vllm",
      '  added settings.environment: {"VLLM_MADE_UP":"1"}',
      CONTRADICTION,
      "  left to you: --trust-remote-code, NCCL_IB_HCA=$IB_IF",
    ]);
    expect(sum(text)).toBe(
      "1 recipe changed, 1 contradiction, 0 entries skipped, 0 files unreadable.",
    );
    expect(failed).toBe(true);
    expect(ours.text()).toBe(
      `${OURS.replace(
        "minimumVllm: 0.26.0\n",
        "minimumVllm: 0.26.0\nimage: maker/spark-vllm\n",
      ).replace(
        "attentionBackend: FLASHINFER }",
        'attentionBackend: FLASHINFER, kvCacheDtype: fp8, maxNumSeqs: 8, moeBackend: marlin, environment: { VLLM_MADE_UP: "1" } }',
      )}  - { of: [settings.kvCacheDtype, settings.maxNumSeqs, settings.moeBackend, image, settings.environment], basis: published, source: "${SOURCE}", date: 2026-08-13 }\n`,
    );
    expect(readRecipe(ours.folder, "maker/Made-Up-30B-NVFP4")?.settings).toEqual({
      ...{ maxModelLen: 32768, attentionBackend: "FLASHINFER", kvCacheDtype: "fp8" },
      ...{ maxNumSeqs: 8, moeBackend: "marlin", environment: { VLLM_MADE_UP: "1" } },
    });
  });

  it("changes nothing the second time, and says the same of contradictions", () => {
    const ours = project();
    const theirs = checkout({ [FILE]: THEIRS });
    mergeRecipes([theirs], ours.folder);
    const once = ours.text();
    const { text } = mergeRecipes([theirs], ours.folder);
    expect(ours.text()).toBe(once);
    expect(lines(text)).toEqual([
      `maker/Made-Up-30B-NVFP4 (${FILE}, 2026-08-13)`,
      CONTRADICTION,
      "  left to you: --trust-remote-code, NCCL_IB_HCA=$IB_IF",
    ]);
    expect(sum(text)).toBe(
      "0 recipes changed, 1 contradiction, 0 entries skipped, 0 files unreadable.",
    );
  });

  it("adds blocks that are missing as a whole, in a recipe without sources", () => {
    const ours = project(
      "id: maker/Made-Up-30B-NVFP4\nservedModelName: made-up-30b\nfamily: other\nthinking: false\nconfig:\n  from: model\n  source: a test\n  date: 2026-01-01\nshare: {}\nsettings: {}\nsources: []\n",
    );
    const { text, failed } = mergeRecipes([checkout({ [FILE]: THEIRS })], ours.folder);
    expect([failed, text.match(/^ {2}added .*/gm)]).toEqual([
      false,
      [
        "  added settings.kvCacheDtype: fp8",
        "  added share.alone: 0.7",
        "  added settings.maxNumSeqs: 8",
        "  added settings.attentionBackend: flashinfer",
        "  added settings.moeBackend: marlin",
        "  added parsers.tool: qwen3_xml",
        "  added image: maker/spark-vllm",
        '  added settings.environment: {"VLLM_MADE_UP":"1"}',
      ],
    ]);
    expect(readRecipe(ours.folder, "maker/Made-Up-30B-NVFP4")).toMatchObject({
      ...{ share: { alone: 0.7 }, parsers: { tool: "qwen3_xml" }, image: "maker/spark-vllm" },
      sources: [{ basis: "published", source: SOURCE, date: "2026-08-13" }],
    });
    expect(ours.text()).not.toContain("minimumVllm");
  });

  it("names the same parser, a lower floor and each variable that differs", () => {
    const ours = project(
      OURS.replace("minimumVllm: 0.26.0", "minimumVllm: 0.23.0")
        .replace("# ours", "# mine")
        .replace("FLASHINFER }", 'FLASHINFER, environment: { VLLM_MADE_UP: "0", OWN: "1" } }')
        .replace("share.alone]", "share.alone, settings.environment]"),
    );
    const { text } = mergeRecipes([checkout({ [FILE]: THEIRS })], ours.folder);
    expect(text.match(/contradicts, ours stays: .*/g)).toEqual([
      CONTRADICTION.trim(),
      `contradicts, ours stays: parsers.tool: ours qwen3_coder (judged: a guess, 2026-01-02), theirs qwen3_xml (${SOURCE}, 2026-08-13)`,
      `contradicts, ours stays: settings.environment.VLLM_MADE_UP: ours 0 (measured: our own log, 2026-01-01), theirs 1 (${SOURCE}, 2026-08-13)`,
      `contradicts, ours stays: minimumVllm: ours 0.23.0 (judged: a guess, 2026-01-02), theirs 0.25.0 on any machine (${SOURCE}, 2026-08-13)`,
    ]);
    expect(ours.text()).toContain('environment: { VLLM_MADE_UP: "0", OWN: "1" }');
  });

  const changed = (...edits: readonly (readonly [string, string])[]) =>
    edits.reduce((text, [from, to]) => text.replace(from, to), THEIRS);
  const ID = "maker/Made-Up-30B-NVFP4";
  it.each([
    [
      "pictures, video and sound",
      changed(["tasks: [text]", "tasks: [omni]"]),
      "maker/Made-Up-30B: it makes pictures, video or sound, which no server here does",
    ],
    [
      "a diffusion model",
      changed(['- "marlin"', '- "marlin"\n          - "--diffusion-config"\n          - "{}"']),
      `${ID} (variant nvfp4): it is a diffusion model, for which no server here is planned`,
    ],
    [
      "more GPUs than one, by its own key",
      changed(["precision: nvfp4", "precision: nvfp4\n    tp: { default: 1, dgx_spark_gb10: 2 }"]),
      `${ID} (variant nvfp4): it needs 2 GPUs, and a DGX Spark has 1`,
    ],
    [
      "more GPUs than one, by its arguments",
      changed(['- "--max-num-seqs"', '- "-tp"\n          - "4"\n          - "--max-num-seqs"']),
      `${ID} (variant nvfp4): it needs 4 GPUs, and a DGX Spark has 1`,
    ],
    [
      "more memory than one has",
      changed(["vram_minimum_gb: 18", "vram_minimum_gb: 170"]),
      `${ID} (variant nvfp4): it needs 170 GB of memory, and one DGX Spark has 128`,
    ],
    [
      "one that doesn't run there yet",
      changed(["dgx_spark_gb10: verified", "dgx_spark_gb10: unsupported"]),
      "maker/Made-Up-30B: the file says that it doesn't run on a DGX Spark yet",
    ],
    [
      "one without settings for it",
      changed(["      dgx_spark_gb10:\n", "      dgx_station_gb300:\n"]),
      "maker/Made-Up-30B: no variant has settings for a DGX Spark; only the file's text may have some",
    ],
    [
      "a model that ours lacks",
      changed(["Made-Up-30B-NVFP4", "Another-NVFP4"]),
      "maker/Another-NVFP4: models/ lacks it, and the entry doesn't give what a recipe needs (servedModelName, family, thinking, config), nor the model's config.json: `serving models add maker/Another-NVFP4 --config FILE`",
    ],
  ])("skips %s in one line", (_, theirs, why) => {
    const ours = project();
    const { text, failed } = mergeRecipes([checkout({ [FILE]: theirs })], ours.folder);
    expect(lines(text)).toEqual([`skipped ${why} (${FILE})`]);
    expect([failed, sum(text), ours.text()]).toEqual([
      false,
      "0 recipes changed, 0 contradictions, 1 entry skipped, 0 files unreadable.",
      OURS,
    ]);
  });

  it("goes on behind a file that is no YAML or has another form, and says where", () => {
    const ours = project();
    const { text, failed } = mergeRecipes(
      [
        checkout({
          "models/a/broken.yaml": "dgx_spark_gb10: [\n",
          "models/a/elsewhere.yaml": "hardware: [h100\n",
          "models/a/form.yaml": THEIRS.replace("vram_minimum_gb: 18", "vram_minimum_gb: much"),
          [FILE]: THEIRS,
        }),
      ],
      ours.folder,
    );
    expect(failed).toBe(true);
    expect(text).toMatch(
      /^unreadable, of 2026-08-13: models\/a\/broken\.yaml:2:1.* not valid YAML/m,
    );
    expect(text).toMatch(/models\/a\/form\.yaml:22:22.* variants\.nvfp4\.vram_minimum_gb/);
    expect(text).not.toContain("elsewhere");
    expect(sum(text)).toBe(
      "1 recipe changed, 1 contradiction, 0 entries skipped, 2 files unreadable.",
    );
  });

  it("leaves out a value that our schema refuses", () => {
    const ours = project(OURS.replace("share: { alone: 0.6 }\n", "").replace(", share.alone", ""));
    const theirs = THEIRS.replace('- "0.7"', '- "1.7"');
    const { text } = mergeRecipes([checkout({ [FILE]: theirs })], ours.folder);
    expect(text).toContain("share.alone: 1.7 (no value of that key)");
    expect(ours.text()).not.toContain("1.7");
  });

  it("refuses whatever is no whole checkout, and touches nothing", () => {
    const ours = project();
    const theirs = checkout({ [FILE]: THEIRS });
    const run = (...args: string[]) => mergeRecipes(args, ours.folder);
    const usage = "Usage: npm run recipes -- CHECKOUT (a clone of vllm-project/recipes)";
    expect(() => run()).toThrow(usage);
    expect(() => run(theirs, theirs)).toThrow(usage);
    const none = (folder: string) => `${folder} is not a checkout of vllm-project/recipes:`;
    expect(() => run("/nowhere")).toThrow(none("/nowhere"));
    expect(() => run(join(theirs, "models"))).toThrow(
      `${none(join(theirs, "models"))} it is a folder inside of one`,
    );
    const shallow = join(temporaryFolder("shallow-"), "clone");
    execFileSync("git", ["clone", "-q", "--depth", "1", `file://${theirs}`, shallow]);
    expect(() => run(shallow)).toThrow(
      `${shallow} is a shallow clone, so the age of its files is not known: git -C ${shallow} fetch --unshallow`,
    );
    writeFileSync(join(theirs, FILE), `${THEIRS}# mine\n`);
    expect(() => run(theirs)).toThrow(
      `${theirs} has uncommitted changes, so the age of those files is not known: git -C ${theirs} stash`,
    );
    expect(ours.text()).toBe(OURS);
  });

  it("exits with 0, 1 where ours and theirs differ, and 2 for wrong use", () => {
    const said: string[] = [];
    const keep = (text: unknown) => said.push(String(text)) > 0;
    const streams = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, "write").mockImplementation(keep),
    );
    try {
      const { folder } = project();
      const agreed = checkout({ [FILE]: THEIRS.replace('- "0.7"', '- "0.6"') });
      const codes = [[agreed], [checkout({ [FILE]: THEIRS })], []];
      expect(codes.map((args) => runMerge(args, folder))).toEqual([0, 1, 2]);
    } finally {
      for (const stream of streams) stream.mockRestore();
    }
    expect(said.map((text) => text.trim().split("\n").at(-1))).toEqual([
      "1 recipe changed, 0 contradictions, 0 entries skipped, 0 files unreadable.",
      "0 recipes changed, 1 contradiction, 0 entries skipped, 0 files unreadable.",
      "Usage: npm run recipes -- CHECKOUT (a clone of vllm-project/recipes)",
    ]);
  });
});
