import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { NPX } from "@local-serving/base/programFolder";
import { expect, it } from "vitest";
import { published } from "../../package.json";

/** Everything that people read of us: pages, messages, help, comments of examples. */
const SAID = [
  ...readdirSync("."),
  ...["bundle", "cli", "components", "docs", "models", "packages", "policies", ".ci", ".github"],
]
  .flatMap((name) =>
    statSync(name).isDirectory()
      ? readdirSync(name, { recursive: true }).map((file) => join(name, String(file)))
      : [name],
  )
  .filter((file) => !/(^|\/)(node_modules|dist|test|\.pulumi-state)\//.test(file))
  .filter((file) => /\.(ts|cjs|sh|py|md|ya?ml|json|svg|toml)$/.test(file))
  .filter((file, at, all) => all.indexOf(file) === at && statSync(file).isFile());

const saying = (words: RegExp) =>
  SAID.flatMap(
    (file) =>
      readFileSync(file, "utf8")
        .match(words)
        ?.map(() => file) ?? [],
  );

it("nobody is told to run `npx serving`, but with `--no --`: npm has a package of that name that isn't ours", () => {
  expect(SAID).toEqual(expect.arrayContaining(["README.md", "docs/guide/models.md"]));
  expect(SAID).toContain("cli/servingCommand.ts");
  const words =
    /\bnpx(?! --no -- )(?: +-\S+)* +serving\b|\bnpm (?:i|install)(?: +-\S+)* +serving\b/g;
  expect("npx serving plan, npx -y serving, npx --no serving".match(words)).toHaveLength(3);
  expect("npm i -g serving".match(words)).toHaveLength(1);
  expect("npx local-serving plan, npx --no -- serving plan".match(words)).toBeNull();
  expect(saying(words)).toEqual([]);
});

it("npx is told to install nothing of this program's name, but from its tarball", () => {
  const pages = SAID.filter((file) => file !== "docs/changelog.md");
  const calls = (words: RegExp) =>
    new Set(pages.flatMap((file) => readFileSync(file, "utf8").match(words) ?? []));
  expect([...calls(/\bnpx [^\n`"]*?local-serving\b/g)]).toEqual([
    published ? "npx local-serving" : "npx --package TARBALL local-serving",
  ]);
  // npx takes the options behind it for its own: `npx --no serving --help` is npm's help.
  expect([...calls(/\bnpx --no\b(?: --)? serving\b/g)]).toEqual([NPX]);
  expect(saying(/\bnpx --no -- serving\b/g)).toContain("README.md");
});

it("commands are called `serving X`; only two pages say what that is in a clone", () => {
  expect(saying(/npm run -s serving --/g)).toEqual(["README.md", "docs/guide/commands.md"]);
});

it("no message names an npm script that only a clone has", () => {
  const files = new Set(saying(/npm run (?:-s )?(?:serving|up|down|preview|plan)\b/g));
  expect([...files].sort()).toEqual([
    "README.md",
    // It reads what the script says.
    "cli/rules/subjects/memory.ts",
    // Every server starts from this text: another word in it would replace all containers.
    "components/inference-server/startGate.sh",
    "docs/changelog.md",
    "docs/contributing.md",
    "docs/guide/commands.md",
    "docs/guide/what-up-touches.md",
    // An earlier version has no `serving up` to go back by.
    "docs/upgrade.md",
  ]);
});

it("the README is read in three minutes", () => {
  expect(readFileSync("README.md", "utf8").length).toBeLessThanOrEqual(6500);
});
