import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { Script } from "node:vm";
import { build, type Plugin } from "esbuild";
import { expect } from "vitest";
import type { Collected } from "./collected";
import { type Mutant, withMutants } from "./mutants";

const ROOT = join(__dirname, "../../..");

/** The tests that must catch the mutants. */
const TESTS = [
  ...["test/policies", "packages/vllm/test/argv", "test/supply"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `${folder}/${file}`),
  ),
  "test/memory/fixedKvCache.test.ts",
  "test/memory/hostMemory.test.ts",
];

/** Tests of a file, each by a key that is its own. */
export type Tests = ReadonlyMap<string, Collected & { readonly file: string }>;

/** The tests and what they import of ours, with every mutant inside. */
export interface Bundle {
  readonly mutants: readonly Mutant[];
  /**
   * Evaluates it all anew. At each mutant `isOn` is asked; `isWanted` is asked for each file of
   * tests, by its text.
   */
  readonly tests: (
    isOn: (mutant: number) => boolean,
    isWanted?: (text: string) => boolean,
  ) => Tests;
}

/** Makes the mutants of the files, by their paths from the repository's root. */
export async function bundled(files: readonly string[]): Promise<Bundle> {
  const mutants: Mutant[] = [];
  const declared = TESTS.map((file) => `if (__begin("${file}")) require("./${file}");`);
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    // The same random values as in `npm test`.
    stdin: {
      contents: ['require("./test/layers/seed.ts");', ...declared].join("\n"),
      resolveDir: ROOT,
    },
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    packages: "external",
    plugins: [mutating(files, mutants)],
    logLevel: "silent",
  });
  const code = outputFiles[0]?.text ?? "";
  const script = new Script(
    `(function (require, __mutant, __begin, __collect, __expect) {${code}\n})`,
  );
  const require = createRequire(join(ROOT, "package.json"));
  return {
    mutants,
    tests(isOn, isWanted = () => true) {
      const tests = new Map<string, Collected & { readonly file: string }>();
      let file = "";
      let count = 0;
      const begin = (next: string): boolean => {
        [file, count] = [next, 0];
        return isWanted(textOf(next));
      };
      const collect = (test: Collected) => tests.set(`${file} ${count++}`, { ...test, file });
      script.runInThisContext()(require, isOn, begin, collect, expect);
      return tests;
    },
  };
}

/** The text of a file of ours. */
export const textOf = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/**
 * Puts the mutants into their files, our collector in vitest's place, and each file's own folder
 * where it asks for it.
 */
function mutating(files: readonly string[], mutants: Mutant[]): Plugin {
  return {
    name: "mutating",
    setup(to) {
      to.onResolve({ filter: /^vitest$/ }, () => ({ path: join(__dirname, "collected.ts") }));
      to.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(ROOT, path);
        const source = readFileSync(path, "utf8").replaceAll(
          "__dirname",
          JSON.stringify(dirname(path)),
        );
        if (!files.includes(file)) return { contents: source, loader: "ts" };
        const mutated = withMutants(file, source, mutants.length);
        mutants.push(...mutated.mutants);
        return { contents: mutated.code, loader: "ts" };
      });
    },
  };
}
