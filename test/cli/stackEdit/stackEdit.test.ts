import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { applyEdits, unifiedDiff } from "../../../cli/stackEdit/applyEdits";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { SERVER, STACK_TEXT } from "../doctor/stack";

const at = (...path: string[]) => [...SERVER, ...path];

function changedLines(before: string, after: string): string[] {
  return unifiedDiff("f", before, after)
    .split("\n")
    .filter((line) => /^[+-](?![+-])/.test(line));
}

describe("an edit of a stack file", () => {
  it.each<
    [
      string,
      { path: string[]; value: string | number | boolean | { [key: string]: string } | undefined },
      string[],
    ]
  >([
    [
      "replaces a value and keeps its comment",
      { path: ["machines", "dgx", "instanceA", "gpuMemoryUtilization"], value: 0.3 },
      [
        "-        gpuMemoryUtilization: 0.36 # lowered by hand",
        "+        gpuMemoryUtilization: 0.3 # lowered by hand",
      ],
    ],
    [
      "adds a key with its neighbours' indentation",
      { path: at("compileJobs"), value: 1 },
      ["+          compileJobs: 1"],
    ],
    [
      "makes the maps that are missing on the way",
      { path: at("environment", "TORCH_CUDA_ARCH_LIST"), value: "12.1a" },
      ["+          environment:", "+            TORCH_CUDA_ARCH_LIST: 12.1a"],
    ],
    [
      "quotes what YAML would take for something else",
      { path: at("environment", "X"), value: "0" },
      ["+          environment:", '+            X: "0"'],
    ],
    [
      "removes a key with its line",
      { path: at("moeBackend"), value: undefined },
      ["-          moeBackend: marlin"],
    ],
    ["leaves alone what is not there", { path: at("kvCacheMemoryBytes"), value: undefined }, []],
    [
      "adds a map behind another one, and leaves the file's other lines alone",
      { path: ["machines", "dgx", "inferenceServers", "c"], value: { port: "8002" } },
      ["+        c:", '+          port: "8002"'],
    ],
    [
      "adds a map",
      { path: ["machines", "dgx", "clients", "claudeCode"], value: { via: "native" } },
      ["+      clients:", "+        claudeCode:", "+          via: native"],
    ],
  ])("%s", (_name, edit, lines) => {
    expect(changedLines(STACK_TEXT, applyEdits(STACK_TEXT, [edit])).sort()).toEqual(
      [...lines].sort(),
    );
  });

  /** As a person may write it, and no printer would. */
  const BY_HAND = STACK_TEXT.replace("totalGiB: 121.63", "totalGiB:   121.63    # aligned by hand")
    .replace("instanceA:\n", "instanceA:\n\n\n")
    .replace(
      "tools:\n            parser: qwen3_coder # the family's own",
      "tools: {}   # by default",
    )
    .replace(
      /\{ vllm: 0\.30\.0, transformers: .* \}/,
      "{vllm: 0.30.0,   source: test,evidence: read}",
    );

  type Given = string | { [key: string]: string } | undefined;
  it.each<[string, string[], Given, [string, string]]>([
    ["replaces a value", ["versions", "vllm"], "0.31.0", ["{vllm: 0.30.0,", "{vllm: 0.31.0,"]],
    [
      "adds a key",
      ["versions", "transformers"],
      "5.16.1",
      ["evidence: read}", "evidence: read, transformers: 5.16.1}"],
    ],
    ["adds the first key", ["tools", "parser"], "qwen3_xml", ["{}", "{ parser: qwen3_xml }"]],
    [
      "adds a map",
      ["versions", "inside"],
      { a: "1", b: "c, {d}" },
      ["evidence: read}", 'evidence: read, inside: { a: "1", b: "c, {d}" }}'],
    ],
    [
      "quotes what would end the value",
      ["versions", "source"],
      "a, {b}",
      ["source: test,", 'source: "a, {b}",'],
    ],
    [
      "removes the first key",
      ["versions", "vllm"],
      undefined,
      ["{vllm: 0.30.0,   source", "{source"],
    ],
    ["removes the last key", ["versions", "evidence"], undefined, [",evidence: read}", "}"]],
  ])("between braces %s, and leaves every other byte alone", (_, path, value, [old, fresh]) => {
    expect(BY_HAND).toContain(old);
    expect(applyEdits(BY_HAND, [{ path: at(...path), value }])).toBe(BY_HAND.replace(old, fresh));
  });

  it("removes the only key of a map and leaves an empty map", () => {
    const one = applyEdits(BY_HAND, [{ path: at("environment", "MAX_JOBS"), value: "16" }]);
    const none = applyEdits(one, [{ path: at("environment", "MAX_JOBS"), value: undefined }]);
    expect(none).toBe(
      one.replace('environment:\n            MAX_JOBS: "16"\n', "environment: {}\n"),
    );
  });

  it("keeps the line ends of Windows", () => {
    const windows = (text: string) => text.replaceAll("\n", "\r\n");
    const edits = [
      { path: at("maxModelLen"), value: 131072 },
      { path: at("environment", "X"), value: "1" },
      { path: at("moeBackend"), value: undefined },
    ];
    expect(applyEdits(windows(STACK_TEXT), edits)).toBe(windows(applyEdits(STACK_TEXT, edits)));
  });

  it("holds for any key, number and text, and removing the key undoes it", () => {
    const key = fc
      .stringMatching(/^[a-zA-Z][a-zA-Z0-9_]{0,12}$/)
      .filter((name) => !STACK_TEXT.includes(`${name}:`));
    const value = fc.oneof(
      fc.integer(),
      // Adding 0 turns a negative zero, which JSON doesn't have, into 0.
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      fc.boolean(),
      fc.string(),
    );
    fc.assert(
      fc.property(key, value, (name, given) => {
        const changed = applyEdits(STACK_TEXT, [{ path: at(name), value: given }]);
        const server = parse(changed).config["local-serving:machines"].dgx.inferenceServers.b;
        expect(server[name]).toEqual(given);
        expect(applyEdits(changed, [{ path: at(name), value: undefined }])).toBe(STACK_TEXT);
      }),
      { numRuns: 150 },
    );
  });

  it("keeps the file of this project as it is but for the one line", () => {
    const text = readFileSync(join(__dirname, "../../../Pulumi.dgx.yaml"), "utf8");
    const changed = applyEdits(text, [{ path: at("maxModelLen"), value: 131072 }]);
    expect(changedLines(text, changed)).toEqual([
      "-          maxModelLen: 262144",
      "+          maxModelLen: 131072",
    ]);
  });
});

describe("a unified diff", () => {
  it("is nothing for the same text", () => expect(unifiedDiff("f", "a\n", "a\n")).toBe(""));

  it("is taken by git apply, whatever the texts", () => {
    const folder = temporaryFolder("diff-");
    const line = fc.constantFrom("a", "b", "c", "", "- x", "+ y", "key: 1");
    const text = fc
      .tuple(fc.array(line, { minLength: 1, maxLength: 30 }), fc.boolean())
      .map(([lines, ends]) => lines.join("\n") + (ends ? "\n" : ""))
      .filter((each) => each !== "");
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff("f.yaml", before, after);
        writeFileSync(join(folder, "f.yaml"), before);
        if (before !== after)
          execFileSync("git", ["apply", "-"], { cwd: folder, input: diff, stdio: "pipe" });
        expect(readFileSync(join(folder, "f.yaml"), "utf8")).toBe(after);
      }),
      { numRuns: 60 },
    );
  });
});
