// The notes of a release: its section of docs/changelog.md. Refuses a version that package.json or the
// changelog doesn't have.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

/** Text below the heading of a version; `undefined` where there is no such heading, or no text. */
function notesOf(changelog, version) {
  const [, ...sections] = changelog.split(/^## /m);
  const own = sections.find((section) => section.startsWith(`[${version}] - `));
  return own?.slice(own.indexOf("\n") + 1).trim() || undefined;
}

function main([version]) {
  const root = join(__dirname, "..");
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
  if (version !== own) throw new Error(`package.json has ${own}, not ${version}.`);
  const notes = notesOf(readFileSync(join(root, "docs/changelog.md"), "utf8"), version);
  if (notes === undefined) throw new Error(`docs/changelog.md has no section of ${version}.`);
  console.log(notes);
}

if (require.main === module) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
module.exports = { notesOf };
