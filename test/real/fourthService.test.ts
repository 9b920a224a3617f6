import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { linkModules } from "../layers/modules";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";

/**
 * A service that this project doesn't have: a search engine with a port, a secret, a volume and
 * memory.
 */
const PATCH = resolve("test/fixtures/fourth-service/search.patch");

/** What a service may touch beside its own tests, the pages and what is generated. */
const MOST_FILES = 4;

describe("a fourth service", () => {
  const copy = temporaryFolder("fourth-service-");
  const within = (command: string, ...args: string[]) =>
    run(command, args, { cwd: copy, limitSeconds: 600 });

  beforeAll(async () => {
    const tracked = await mustRun("git", [
      "ls-files",
      "--cached",
      "--others",
      "--exclude-standard",
    ]);
    for (const file of tracked.split("\n")) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      cpSync(file, join(copy, file));
    }
    linkModules(copy);
    await mustRun("git", ["apply", "-C1", "--unsafe-paths", `--directory=${copy}`, PATCH], {
      cwd: copy,
    });
  });

  it(`touches at most ${MOST_FILES} files outside tests, pages and generated reference`, () => {
    const touched = [...readFileSync(PATCH, "utf8").matchAll(/^diff --git a\/(\S+)/gm)].map(
      ([, file = ""]) => file,
    );
    const counted = touched.filter((file) => !/^(test|docs)\//.test(file));
    expect(counted.length).toBeGreaterThan(0);
    expect(counted.length).toBeLessThanOrEqual(MOST_FILES);
  });

  it("is taken by the compiler, and by the walls of the rooms", async () => {
    expect(await within("npx", "tsc")).toMatchObject({ code: 0, stdout: "" });
    expect(
      await within(
        "npx",
        "depcruise",
        "--no-progress",
        "packages",
        "components",
        "policies",
        "cli",
      ),
    ).toMatchObject({
      code: 0,
    });
  });

  it("is known by plan, policies, drift, logs, pin, leftovers and verify", async () => {
    expect(await within("npm", "run", "--silent", "build")).toMatchObject({ code: 0 });
    const tests = await within(
      "npx",
      ...[
        "vitest",
        "run",
        "--config",
        "test/vitest.config.mts",
        "--project",
        "pure",
        "test/search",
      ],
    );
    expect(tests).toMatchObject({ code: 0, stdout: expect.stringMatching(/Tests.*\d+ passed/) });
  });
});
