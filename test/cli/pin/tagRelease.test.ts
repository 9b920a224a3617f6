import { describe, expect, it } from "vitest";
import { newerTags, tagRelease } from "../../../cli/pin/tagRelease";

describe("the release that a tag names", () => {
  it.each([
    ["v0.30.0", "0.30.0", ""],
    ["0.12.4", "0.12.4", ""],
    ["main-v1.84.0-stable", "1.84.0", ""],
    ["v1.84.0-stable.patch.2", "1.84.0.post2", ""],
    ["v0.30.0-cu130", "0.30.0", "-cu130"],
    ["v0.30.0-aarch64-cu130", "0.30.0", "-aarch64-cu130"],
    ["v0.11.3-slim", "0.11.3", "-slim"],
    ["0.12.4-ollama", "0.12.4", "-ollama"],
  ])("%s is %s%s", (tag, version, variant) =>
    expect(tagRelease(tag)).toEqual({ version, variant }),
  );

  it.each([
    ...[
      "latest",
      "main",
      "main-latest",
      "nightly",
      "git-0a1b2c3",
      "0.12",
      "v1",
      "cuda",
      "nightly-0.30.0",
    ],
    ...[
      "v0.31.0rc1",
      "v1.84.0-rc.1",
      "v1.84.0.rc.1",
      "v1.84.0-nightly",
      "v0.31.0-dev",
      "v0.31.0-cu130-rc1",
    ],
    ...["v1.84.0.dev3", "v0.30.0.1", "sha256-0a1b.sig", "v0.30.0-alpha2", "v0.30.0-beta"],
  ])("%s names none", (tag) => expect(tagRelease(tag)).toBeUndefined());
});

describe("newer tags", () => {
  const newer = (current: string, tags: readonly string[]) =>
    newerTags(current, tags).map(({ tag }) => tag);

  it("come newest first, by their numbers", () => {
    expect(
      newer("v0.9.2", ["v0.9.1", "v0.9.2", "v0.10.0", "v0.9.10", "latest", "v0.11.0rc1", "v1.0.0"]),
    ).toEqual(["v1.0.0", "v0.10.0", "v0.9.10"]);
  });

  it("are of the same variant", () => {
    const tags = ["v0.31.0", "v0.31.0-cu130", "v0.32.0-cu130", "v0.32.0-aarch64", "v0.33.0-cu129"];
    expect(newer("v0.30.0", tags)).toEqual(["v0.31.0"]);
    expect(newer("v0.30.0-cu130", tags)).toEqual(["v0.32.0-cu130", "v0.31.0-cu130"]);
  });

  it("are written as the current one is, where a release has two tags", () => {
    const tags = [
      "main-v1.84.0-stable",
      "v1.84.0",
      "v1.84.0-stable",
      "v1.103.0",
      "v1.84.0-stable.patch.1",
    ];
    expect(newer("main-v1.83.0-stable", tags)).toEqual([
      "v1.103.0",
      "v1.84.0-stable.patch.1",
      "main-v1.84.0-stable",
    ]);
    expect(newer("v1.83.0", tags)).toEqual(["v1.103.0", "v1.84.0-stable.patch.1", "v1.84.0"]);
    expect(newer("0.11.3", ["v0.12.0", "0.12.0", "v0.12.1"])).toEqual(["v0.12.1", "0.12.0"]);
  });

  it("of a tag that names no release are none", () => {
    expect(newer("latest", ["v0.31.0"])).toEqual([]);
    expect(newer("v0.31.0", ["v0.31.0", "v0.31.0-stable"])).toEqual([]);
  });
});
