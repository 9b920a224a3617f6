import { valid } from "@renovatebot/pep440";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  releaseName,
  sameRelease,
  series,
  whyRefused,
} from "../../components/supply/releases/releases";
import { versionInTag, vllmInTag } from "../../components/supply/tagVersion";

describe("the version that a tag names", () => {
  it.each([
    ["v0.30.0", "0.30.0"],
    ["V0.10.0", "0.10.0"],
    ["0.30", "0.30"],
    ["v0.30.0-aarch64", "0.30.0"],
    ["v0.30.0-cu129-ubuntu2404", "0.30.0"],
    ["v0.30.0_b12x", "0.30.0"],
    ["vllm-0.30", "0.30"],
    ["vllm0.10.0", "0.10.0"],
    ["25.10-v0.11.0-py3", "0.11.0"],
    ["ubuntu24.04-v0.10.0", "0.10.0"],
    ["main-v1.82.7-stable", "1.82.7"],
    ["main-v1.83.14-stable.patch.1", "1.83.14.post1"],
    ["v1.84.0-rc1", "1.84.0-rc1"],
    ["v1.84.0-rc.1", "1.84.0-rc.1"],
    ["1.84.0rc1-slim", "1.84.0rc1"],
    ["v1.84.0-dev3", "1.84.0-dev3"],
    ["v1.84.0-nightly", "1.84.0.dev0"],
    ["v0.8.5.post1", "0.8.5.post1"],
    ["5.17.0.post0", "5.17.0.post0"],
    ["v0.30.0aarch64", "0.30.0"],
  ])("%s: %s", (tag, version) => {
    expect(versionInTag(tag)).toBe(version);
    expect(valid(version)).not.toBeNull();
  });

  it.each([
    "latest",
    "nightly-0123abcd",
    "cu130-nightly",
    "server-cuda",
    "1",
    "py3.11",
    "main",
    "gemma",
    "cu130-torch2.10.0",
  ])("%s names none", (tag) => expect(versionInTag(tag)).toBeUndefined());

  it("is a version for every tag that names one", () => {
    const tags = fc.stringMatching(/^[\w][\w.-]{0,30}$/);
    fc.assert(
      fc.property(tags, (tag) => {
        const version = versionInTag(tag);
        if (version !== undefined) expect(valid(version)).not.toBeNull();
      }),
    );
  });
});

describe("the vLLM that a tag names", () => {
  it.each([
    ["cu130-vllm0.30.0", "0.30.0"],
    ["vllm-0.30.0-cu130", "0.30.0"],
    ["v1.2-vllm_0.30.0", "0.30.0"],
    ["vllm.v0.30.0rc1", "0.30.0rc1"],
    ["vllm-openai-v0.30.0", "0.30.0"],
    ["rocm7.0.0_vllm_0.11.2_20251210", "0.11.2"],
  ])("behind its name, in any repository: %s", (tag, version) =>
    expect([vllmInTag(tag, false), vllmInTag(tag, true)]).toEqual([version, version]),
  );

  it.each([
    ["v0.30.0", "0.30.0"],
    ["0.30.1.dev5-g123", "0.30.1.dev5"],
    ["cu128-v0.10.0", "0.10.0"],
    ["2026.11", undefined],
    ["25.09-py3", undefined],
    ["26.05.post1-py3", undefined],
    ["26.13", "26.13"],
    ["25.123", "25.123"],
    ["vllm-2026.11", undefined],
    ["nightly", undefined],
  ])("in vLLM's own repositories only: %s is %s", (tag, version) =>
    expect([vllmInTag(tag, true), vllmInTag(tag, false)]).toEqual([version, undefined]),
  );
});

describe("releases as Python packaging compares them", () => {
  it.each([
    ["5.17", "5.17.0", true],
    ["v5.17.0", "5.17", true],
    ["0!5.17", "5.17.0", true],
    ["5.17.0+local", "5.17.0", true],
    ["5.17.0rc1", "5.17.0", false],
    ["5.17.0.post0", "5.17.0", false],
    ["1!5.17.0", "5.17.0", false],
    ["1!5.17.0rc1", "5.17.0rc1", false],
    ["5.17.0rc1", "5.18.0rc1", false],
    ["5.17.0rc1", "5.17.0rc2", false],
    ["5.17.0.post1", "5.17.0.post2", false],
    ["5.17.0.dev1", "5.17.0.dev2", false],
    ["5.17.0.1", "5.17.0.2", false],
    ["nightly", "nightly", false],
  ])("%s and %s are one: %s", (one, other, same) => expect(sameRelease(one, other)).toBe(same));

  it.each([
    ["v0.30+cu130", "0.30.0"],
    ["5.17.1", "5.17.1"],
    ["5.17.0.1.0", "5.17.0.1"],
    ["nightly", undefined],
  ])("%s is named %s", (version, name) => expect(releaseName(version)).toBe(name));

  it.each([
    "5.17",
    "5.17.0",
    "v5.17.0",
    "0!5.17",
    "5.17.0.0",
    "5.17.0+cu130",
    "5.17.0.post0",
    "5.17-1",
    "5.17.0.post1+x",
  ])("transformers %s is refused beside vLLM 0.27", (version) => {
    for (const vllm of ["0.27.1", "0.27", "v0.27.0+cu130"])
      expect(whyRefused("transformers", version, new Map([["vllm", vllm]]))).toContain(
        "it breaks vLLM 0.27",
      );
  });

  it.each(["5.17.1", "5.17.0rc1", "5.170", "1!5.17.0"])(
    "transformers %s is another release",
    (version) => {
      expect(whyRefused("transformers", version, new Map([["vllm", "0.27.1"]]))).toBeUndefined();
    },
  );

  it.each(["1.84.0-rc1", "1.84.0.dev0", "1.82.7.post1", "0!1.82.7"])(
    "litellm %s is refused",
    (version) => {
      expect(whyRefused("litellm", version)).toBeDefined();
    },
  );

  it("an epoch begins another series", () => {
    expect([series("0!0.27.1"), series("1!0.27.1")]).toEqual(["0.27", "1!0.27"]);
  });
});
