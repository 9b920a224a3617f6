import {
  hubName,
  imageReference,
  pathOf,
  referenceFault,
} from "@local-serving/machines/docker/imageReference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DIGEST } from "../fixtures/machine";

describe("an image reference", () => {
  it.each([
    ["nginx", { repository: "nginx" }],
    ["nginx:1.27", { repository: "nginx", tag: "1.27" }],
    ["localhost:5000/x/y", { repository: "localhost:5000/x/y" }],
    ["localhost/x", { repository: "localhost/x" }],
    ["Mirror/x", { repository: "Mirror/x" }],
    ["[::1]:5000/x:1", { repository: "[::1]:5000/x", tag: "1" }],
    ["a/b__c/d---e.f_g:_T", { repository: "a/b__c/d---e.f_g", tag: "_T" }],
    [`a/b:1@${DIGEST}`, { repository: "a/b", tag: "1", digest: DIGEST }],
    [`a/b@${DIGEST}`, { repository: "a/b", digest: DIGEST }],
    [
      `${"a".repeat(255)}:${"t".repeat(128)}`,
      { repository: "a".repeat(255), tag: "t".repeat(128) },
    ],
  ])("%s", (image, parts) => {
    expect(imageReference(image)).toEqual(parts);
    expect(referenceFault(image)).toBeUndefined();
  });

  it.each([
    ["VLLM", "its repository has capitals"],
    ["vllm/VLLM-openai:v0.30.0", "its repository has capitals"],
    ["vllm/vllm openai:v0.30.0", "it has a blank or a control character"],
    ["vllm/vllm-openai:v0.30.0 ", "it has a blank or a control character"],
    ["vllm/vllm-openai\u0000:v0.30.0", "it has a blank or a control character"],
    ["vllm/vllm-openai\n", "it has a blank or a control character"],
    ["vllm//vllm-openai", "a part of its name is empty"],
    ["/vllm", "a part of its name is empty"],
    ["vllm/", "a part of its name is empty"],
    ["", "a part of its name is empty"],
    [`@${DIGEST}`, "a part of its name is empty"],
    ["https://vllm/vllm-openai", "a part of its name is empty"],
    ["vllm/-openai", "a part of its name is not letters and digits"],
    ["vllm/a..b", "a part of its name is not letters and digits"],
    ["vllm/a___b", "a part of its name is not letters and digits"],
    ["vllm/ünicode", "a part of its name is not letters and digits"],
    ["../../packages/vllm/test", "a part of its name is not letters and digits"],
    ["-host.x/vllm", "a part of its name is not letters and digits"],
    [`${"a".repeat(256)}`, "its name is longer than 255 characters"],
    ["vllm/vllm-openai:", "its tag is not 1 to 128 letters"],
    ["vllm/vllm-openai:-1", "its tag is not 1 to 128 letters"],
    ["vllm/vllm-openai:v0.30.0+cu130", "its tag is not 1 to 128 letters"],
    [`x:${"t".repeat(129)}`, "its tag is not 1 to 128 letters"],
    ["x@sha256:abc", "its digest is not `sha256:` with 64 hex digits"],
    [`x@${DIGEST.toUpperCase()}`, "its digest is not `sha256:` with 64 hex digits"],
    [`x@${DIGEST}0`, "its digest is not `sha256:` with 64 hex digits"],
    [`x@sha512:${"0".repeat(128)}`, "its digest is not `sha256:` with 64 hex digits"],
    ["x@", "its digest is not `sha256:` with 64 hex digits"],
    [`x@${DIGEST}@${DIGEST}`, "it has two digests"],
    [DIGEST, "it is an image id"],
    ["0123456789ab", "it is an image id"],
  ])("%j is none", (image, why) => {
    expect(imageReference(image)).toBeUndefined();
    expect(referenceFault(image)).toContain(why);
  });

  // The grammar as the distribution project prints it (reference/regexp.go), one piece at a time.
  const part = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
  const label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
  const domain = `(?:${label}(?:\\.${label})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`;
  const grammar = new RegExp(`^(?:${domain}/)?${part}(?:/${part})*(?::[\\w][\\w.-]{0,127})?$`);

  it("is what the grammar takes, whatever the letters", () => {
    const texts = fc.string({ unit: fc.constantFrom(..."aZ0._-:/[]é @".split("")), maxLength: 12 });
    fc.assert(
      fc.property(texts, (text) => {
        if (text.includes("@")) return;
        expect(imageReference(text) !== undefined).toBe(grammar.test(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("is put together again from its parts", () => {
    const references = fc.stringMatching(grammar);
    fc.assert(
      fc.property(references, fc.boolean(), (name, pinned) => {
        fc.pre(referenceFault(name) === undefined);
        const { repository, tag, digest } =
          imageReference(pinned ? `${name}@${DIGEST}` : name) ?? {};
        expect(digest).toBe(pinned ? DIGEST : undefined);
        expect(`${repository}${tag === undefined ? "" : `:${tag}`}`).toBe(name);
      }),
    );
  });

  it.each([
    ["docker.io/vllm/vllm-openai", "vllm/vllm-openai", "vllm/vllm-openai"],
    ["index.docker.io/library/nginx", "nginx", "nginx"],
    ["library/nginx", "nginx", "nginx"],
    ["mirror.local/vllm/vllm-openai", "mirror.local/vllm/vllm-openai", "vllm/vllm-openai"],
    ["localhost:5000/x", "localhost:5000/x", "x"],
  ])("%s is %s on Docker Hub, and %s on a mirror", (repository, onHub, path) => {
    expect([hubName(repository), pathOf(repository)]).toEqual([onHub, path]);
  });
});
