import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { commandBlocksOf, type MadeUp, makeUp, runBlock } from "./commandBlocks";
import { blocksOf, notIn, PAGES } from "./pages";

const pages = [
  ...PAGES,
  ...readdirSync("docs/reference")
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs/reference", name)),
];
const blocks = pages.flatMap(commandBlocksOf);
const NOT_HERE = /^not run here: (.+)$/;
const ENDS_WITH_1 = /^ends with 1: .+$/;
const ELSEWHERE = /^run by (\S+\.test\.ts)$/;

let made: MadeUp;
beforeAll(async () => {
  made = await makeUp();
});

describe("every block of commands on a page", () => {
  const here = blocks.filter(({ mark }) => !NOT_HERE.test(mark) && !ELSEWHERE.test(mark));

  it.each(here.map((block) => [`${block.page}:${block.line}`, block] as const))(
    "runs on a made-up machine: %s",
    async (_, block) => {
      const runs = await runBlock(block, made);
      const last = ENDS_WITH_1.test(block.mark) ? 1 : 0;
      const wanted = runs.map((_, at) => (at === runs.length - 1 ? last : 0));
      expect(runs.length).toBeGreaterThan(0);
      expect(
        runs.map(({ code }) => code),
        runs.map(({ err }) => err).join(""),
      ).toEqual(wanted);
      expect(notIn(runs.map(({ out }) => out).join("\n"), block.printed)).toEqual([]);
    },
  );

  it("or is run by a test that reads its page", () => {
    const elsewhere = blocks.flatMap((block) => {
      const [, test] = ELSEWHERE.exec(block.mark) ?? [];
      return test === undefined ? [] : [{ test, page: block.page }];
    });
    expect(elsewhere.length).toBeGreaterThan(0);
    for (const { test, page } of elsewhere) {
      expect(existsSync(test), test).toBe(true);
      expect(readFileSync(test, "utf8")).toContain(page);
    }
  });

  it("is called one: no block of another kind begins with a command", () => {
    const others = pages.flatMap((page) =>
      blocksOf(page, "(?:text|yaml|json)").map((text) => ({ page, text })),
    );
    expect(others.length).toBeGreaterThan(20);
    const typed = /^(?:\$ |serving |npx |npm |docker |pulumi |sudo |export )/m;
    expect(others.filter(({ text }) => typed.test(text))).toEqual([]);
  });

  it("has no other mark, and of what is printed some is held", () => {
    const KNOWN = [NOT_HERE, ENDS_WITH_1, ELSEWHERE, /^$/, /^with \S+\.yaml$/];
    expect(blocks.filter(({ mark }) => !KNOWN.some((known) => known.test(mark)))).toEqual([]);
    expect(blocks.filter(({ printed }) => printed !== "").length).toBeGreaterThan(2);
  });

  it("or says why not: these, and no others", async () => {
    const list = blocks.flatMap(({ page, text, mark }) => {
      const [, why] = NOT_HERE.exec(mark) ?? [];
      return why === undefined ? [] : [`${page}: ${text.split("\n")[0]}\n    ${why}\n`];
    });
    await expect(list.join("")).toMatchFileSnapshot("notRunHere.txt");
  });
});
