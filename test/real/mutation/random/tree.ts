import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isScriptFile, type Placed, type Population } from "./drawn";

/**
 * Stands at each mutant in full, since some functions go to another process as text. A process reads
 * once which mutants are on, so that whatever a test starts has the same; runner.mjs writes the
 * file.
 */
const SWITCH = `(globalThis.__mutant ??= (() => {
  let state;
  let times = 0;
  const read = () => {
    const fs = process.getBuiltinModule("node:fs");
    if (!fs.existsSync("/tmp/mutants/on.json")) return { on: [], note() {} };
    const { on, reached } = JSON.parse(fs.readFileSync("/tmp/mutants/on.json", "utf8"));
    const noted = new Set();
    const note = (number) => {
      if (noted.has(number)) return;
      noted.add(number);
      try {
        fs.appendFileSync(reached, number + "\\n");
      } catch {}
    };
    return { on, note };
  };
  return (number) => {
    state ??= read();
    state.note(number);
    if (!state.on.includes(number)) return false;
    if (++times > 1_000_000) throw new Error("this would not end");
    return true;
  };
})())`.replace(/\n */g, " ");

/** Writes the mutants into the tree, each behind its switch. */
export function putInside(tree: string, population: Population, placed: readonly Placed[]): void {
  const scripts = placed.filter(({ file }) => isScriptFile(file));
  for (const { file, number, text = "" } of scripts)
    writeFileSync(join(tree, changed(file, number)), text);
  const tests = readdirSync(join(tree, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => `test/${file}`);
  const read = new Set<Placed>();
  for (const file of [...population.files, ...tests].filter((each) => !isScriptFile(each))) {
    const before = readFileSync(join(tree, file), "utf8");
    const own = placed.filter((each) => each.file === file).map(({ number }) => number);
    let text = own.length > 0 ? population.inside(file, new Set(own)) : before;
    for (const script of scripts) {
      const switched = readingChanged(file, text, script);
      if (switched !== text) read.add(script);
      text = switched;
    }
    if (text !== before)
      writeFileSync(join(tree, file), text.replaceAll("__mutant(", `${SWITCH}(`));
  }
  const unread = scripts.filter((script) => !read.has(script));
  if (unread.length > 0)
    throw new Error(`No source names ${unread.map(({ file }) => file).join(", ")}.`);
}

/** Where a changed script stands: the build takes it along. */
const changed = (file: string, number: number): string => file.replace(/(?=\.\w+$)/, `.${number}`);

/** A source that names a script's file beside it, or by its path: it reads the changed one. */
function readingChanged(file: string, text: string, { file: script, number }: Placed): string {
  const name = dirname(script) === dirname(file) ? basename(script) : `[^"\\n]*${script}`;
  return text.replace(new RegExp(`"${name.replace(/\.(?=\w+$)/, "\\.")}"`, "g"), (literal) => {
    const other = literal.replace(basename(script), basename(changed(script, number)));
    return `(__mutant(${number}) ? ${other} : ${literal})`;
  });
}
