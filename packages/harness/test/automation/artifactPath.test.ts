import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { containedArtifact } from "../../automation/artifactPath";

let root = "";
beforeAll(() => {
  root = temporaryFolder("artifact-");
  mkdirSync(join(root, "out/deep"), { recursive: true });
  mkdirSync(join(root, "locked"));
  writeFileSync(join(root, "file"), "");
  symlinkSync(join(root, "out"), join(root, "inside"));
  symlinkSync(tmpdir(), join(root, "outside"));
  symlinkSync("file", join(root, "link"));
  symlinkSync("nowhere", join(root, "dangling"));
  symlinkSync("loop", join(root, "loop"));
});
afterAll(() => {
  chmodSync(join(root, "locked"), 0o700);
  rmSync(root, { recursive: true });
});

describe("where an artifact lies", () => {
  test.each([
    ["out/new.json", "out/new.json"],
    ["not/yet/there.json", "not/yet/there.json"],
    ["out/deep/../new.json", "out/new.json"],
    ["./..name", "..name"],
    ["file", "file"],
    ["inside/new.json", "inside/new.json"],
  ])("%s", (path, file) => {
    expect(containedArtifact(root, path)).toEqual({ file: join(root, file) });
  });

  test.each([
    ["/etc/passwd", "must be relative to the project, not absolute"],
    ["../up.json", "must stay inside the project; its `..` leads out"],
    ["out/", "must name a file, not a directory"],
    ["out/..", "must name a file, not a directory"],
    ["a\0b", "must not hold a NUL character"],
    [".git/config", "must not lie in .git, since it is deleted before every run"],
    ["outside/new.json", "leads out of the project through a symlink"],
    ["dangling/new.json", "runs through a symlink that leads nowhere"],
    ["loop/new.json", "runs through a symlink that leads nowhere"],
    ["link", "is a symlink itself; it must be a regular file"],
    ["dangling", "is a symlink itself; it must be a regular file"],
    ["file/new.json", "runs through `file`, which isn't a directory"],
    ["file/deep/new.json", "runs through `file`, which isn't a directory"],
    ["out/deep", "is a directory; it must be a file"],
    ["x".repeat(5000), "can't be looked at (ENAMETOOLONG)"],
  ])("%s is refused", (path, fault) => {
    expect(containedArtifact(root, path)).toEqual({ fault });
  });

  test("a project that is not there", () => {
    expect(containedArtifact(join(root, "absent"), "a.json")).toEqual({
      fault: "has no project directory around it",
    });
  });
});
