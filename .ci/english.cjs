// Refuses phrases that no English sentence has, in the code and the pages of a folder: `node
// .ci/english.cjs [FOLDER]`. Each is printed with its place and what to write instead; the exit
// code is 1 if there is any.
const { readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

/** Folders of others, and what programs have written. */
const LEFT_OUT = new Set([
  ".git",
  "node_modules",
  "dist",
  ".pulumi-state",
  "golden",
  "recorded",
  "engine-data",
]);

const READ = /\.(ts|mts|cjs|sh|py|md)$/;

/**
 * Between two words: blanks, or the end of a line with the sign of a comment or a quotation before
 * the next.
 */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|//|#|>)?[ \t]*)`;

/** The words of each phrase, and what to write instead. A capital counts: it begins a sentence. */
const NEVER = [
  ["[Vv]iable by", "say that it should fit, or why"],
  ["[Ss]peaks against", "`the reasons against`, or say why not"],
  ["[Hh]as against", "`why it refuses`, or `its complaint about`"],
  ["[Ww]here that has", "name what `that` is: `if the server has`"],
  ["[Nn]o more than what", "`only what`"],
  ["Of (?:a|what|its)", "begin with the subject: `The log of a server is`"],
].map(([words, instead]) => ({
  form: new RegExp(`\\b${words.replaceAll(" ", GAP)}\\b`, "g"),
  instead,
}));

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : filesIn(path);
    return entry.isFile() && READ.test(entry.name) ? [path] : [];
  });
}

function faultsIn(path) {
  const text = readFileSync(path, "utf8");
  return NEVER.flatMap(({ form, instead }) =>
    [...text.matchAll(form)].map((found) => {
      const line = text.slice(0, found.index).split("\n").length;
      const phrase = found[0].replaceAll(/\s+(?:(?:\*|\/\/|#|>)\s+)?/g, " ");
      return `${path}:${line}: \`${phrase}\` is not English. Write instead: ${instead}.`;
    }),
  );
}

const faults = filesIn(process.argv[2] ?? ".").flatMap(faultsIn);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
