import { describe, expect, it } from "vitest";
import { inferenceImage } from "../../../policies/rules/inferenceImage";
import { findingsOf } from "../../../policies/rules/rule";
import {
  container,
  DIGEST,
  declared,
  IMAGE,
  record,
  said,
  server,
  UNKNOWN_TEXT,
  UNTAGGED,
  verdictsOf,
} from "../declared";

const RULE = "inference-image";

describe("the image's form", () => {
  it.each([
    ["a tag alone", "vllm/vllm-openai:v0.30.0"],
    ["no tag", "vllm/vllm-openai"],
    ["a short digest", "vllm/vllm-openai@sha256:8a69ffad"],
    ["a digest in capitals", `vllm/vllm-openai@${DIGEST.toUpperCase()}`],
  ])("refuses %s", (_, image) => {
    const messages = said(RULE, [server({ image, command: ["vllm", "serve", "m"] })]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^refused: b's image isn't pinned: /);
  });

  it("refuses it before it is touched, where a run judges one resource at a time", () => {
    const unpinned = server({ image: "vllm/vllm-openai:v0.20.0" });
    const found = findingsOf(inferenceImage, unpinned).map(({ message }) => message);
    expect(found).toEqual([expect.stringMatching(/^b's image can't be used: .*0\.20\.0/)]);
    expect(found.join()).not.toContain("serving pin vllm/vllm-openai:v0.20.0");
  });

  it("says what is wrong with it, and names no image in the command where it can't be read", () => {
    expect(said(RULE, [server({ image: "vllm/vllm-openai@sha256:8a69ffad" })]).join()).toMatch(
      /^refused: b's image isn't pinned: its digest is not `sha256:` with 64 hex digits in small letters\. `serving pin IMAGE:TAG` finds the digest and the versions inside\./,
    );
  });

  it("names the command that finds the digest", () => {
    expect(said(RULE, [server({ image: "vllm/vllm-openai:v0.30.0" })]).join()).toContain(
      "`serving pin vllm/vllm-openai:v0.30.0` finds the digest",
    );
  });

  const FORM = "An image is written as `repository:tag@sha256:<64 hex digits>`.";
  const OTHERS = "The floors are vllm 0.26.0 and transformers 5.8.0; pin an image that holds them.";
  const own = (versions: Record<string, string>, recordedOf = "") =>
    record(versions, "read", { recordedOf }, "b-image-record");

  it.each([
    [
      "a tag below the floor",
      "vllm/vllm-openai:v0.10.0",
      [],
      `can't be used: its tag says vllm 0.10.0, below 0.26.0. Pin vllm 0.26.0 or newer. It has no digest.`,
    ],
    [
      "another engine",
      "lmsysorg/sglang:v0.5.9",
      [],
      `can't be used: its name says SGLang. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's \`otherGpuMemoryGiB\`. It has no digest.`,
    ],
    [
      "another engine with a faulty digest",
      "lmsysorg/sglang:v0.5.9@sha256:8a69",
      [],
      `can't be used: its name says SGLang. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's \`otherGpuMemoryGiB\`. Its digest is not \`sha256:\` with 64 hex digits in small letters.`,
    ],
    [
      "NVIDIA's image of a month below the floor",
      "nvcr.io/nvidia/vllm:26.02-py3",
      [],
      `can't be used: its tag says 26.02, and nvcr.io/nvidia/vllm up to 26.05 holds vllm 0.20.1 or older, below 0.26.0. Pin vllm 0.26.0 or newer. It has no digest.`,
    ],
    [
      "NVIDIA's image of a newer month",
      "nvcr.io/nvidia/vllm:26.10-py3",
      [],
      `isn't pinned: it has no digest. \`serving pin nvcr.io/nvidia/vllm:26.10-py3\` finds the digest and the versions inside.`,
    ],
    [
      "a nightly",
      "vllm/vllm-openai:cu130-nightly-aarch64",
      [],
      `isn't pinned: its tag \`cu130-nightly-aarch64\` is a development build. Take a release, such as vllm/vllm-openai:v0.30.0, or pin this build, which is no release: nobody can build it again. \`serving pin vllm/vllm-openai:cu130-nightly-aarch64\` finds the digest and the versions inside. It has no digest.`,
    ],
    [
      "a development build below the floor",
      "ghcr.io/me/spark:vllm0.25.0.dev7",
      [],
      `can't be used: its tag says vllm 0.25.0.dev7, below 0.26.0. Pin vllm 0.26.0 or newer. Its tag \`vllm0.25.0.dev7\` is a development build. It has no digest. ghcr.io/me/spark is not known to hold vLLM.`,
    ],
    [
      "a record below the floors",
      "me/vllm:1.4.0",
      [own({ vllm: "0.20.0", transformers: "5.0.0" })],
      `can't be used: it holds vllm 0.20.0, below 0.26.0. ${OTHERS} It holds transformers 5.0.0, below 5.8.0. It has no digest. me/vllm is not known to hold vLLM.`,
    ],
    [
      "a tag and a record below the floors",
      "vllm/vllm-openai:v0.20.0",
      [own({ vllm: "0.20.0", transformers: "5.10.4" })],
      `can't be used: it holds vllm 0.20.0, below 0.26.0. ${OTHERS} It has no digest.`,
    ],
    [
      "what is denied",
      "me/vllm:1.4.0",
      [own({ vllm: "0.27.1", transformers: "5.17.0" })],
      `can't be used: it has no digest. What is recorded of it is on the deny list: pin another image. me/vllm is not known to hold vLLM.`,
    ],
    [
      "a record that may be of another image",
      "me/vllm:1.4.0",
      [own({ vllm: "0.30.0", transformers: "5.10.4" }, DIGEST)],
      `isn't pinned: it has no digest. \`serving pin me/vllm:1.4.0\` finds the digest and the versions inside. me/vllm is not known to hold vLLM.`,
    ],
    [
      "versions that are not known yet",
      "me/vllm:1.4.0",
      [own({ vllm: UNKNOWN_TEXT, transformers: UNKNOWN_TEXT })],
      `isn't pinned: it has no digest. \`serving pin me/vllm:1.4.0\` finds the digest and the versions inside. me/vllm is not known to hold vLLM.`,
    ],
  ])("says all at once, and advises a pin only where it helps: %s", (_, image, records, says) => {
    const messages = said(RULE, [server({ image }), ...records]);
    expect(messages).toEqual([`refused: b's image ${says} It is \`${image}\`. ${FORM}`]);
  });

  it("refuses an image that is not known, by its arguments or its GPUs", () => {
    for (const command of [["vllm", "serve", "m"], undefined]) {
      expect(said(RULE, [server({ image: UNKNOWN_TEXT, command })])).toEqual([
        "refused: The image of b is a value that is not known yet before the update. Give it as plain text, `repository:tag@sha256:...`, not as another resource's output: it is or may be an inference server's.",
      ]);
    }
  });

  it("refuses a server without an image, and only containers", () => {
    expect(said(RULE, [container("x", { command: ["vllm", "serve", "m"] })]).join()).toContain(
      "refused: The image of x is nothing before the update.",
    );
    expect(
      said(RULE, [declared("example:index:Server", "b", { image: "vllm/vllm-openai" })]),
    ).toEqual([]);
  });

  it("leaves other images alone", () => {
    const others = [
      container("web", { image: "nginx" }),
      container("web2", { image: UNKNOWN_TEXT }),
    ];
    expect(said(RULE, others)).toEqual([]);
  });
});

describe("the versions inside", () => {
  it("pass when they were read and reach the floors", () => {
    expect(verdictsOf(RULE, [server(), record()])).toMatchObject([{ verdict: "pass" }]);
    const least = record({ vllm: "0.26.0", transformers: "5.8.0" });
    expect(verdictsOf(RULE, [server({ image: UNTAGGED }), least])).toMatchObject([
      { verdict: "pass" },
    ]);
  });

  it("are only warned about when they were published", () => {
    expect(said(RULE, [server(), record(undefined, "published")])).toEqual([
      `warned: The versions inside b's image were published, not read in it. \`serving pin vllm/vllm-openai:v0.30.0\` looks inside: declare what it finds as a local-serving:index:ImageRecord. Published are vllm \`0.30.0\` and transformers \`5.10.4\`. It is \`${IMAGE}\`.`,
    ]);
  });

  it("are refused without a record of this digest", () => {
    expect(said(RULE, [server()])).toEqual([
      `refused: b's image can't be used: the versions inside are not recorded. \`serving pin ${IMAGE}\` looks inside: declare what it finds as a local-serving:index:ImageRecord. It is \`${IMAGE}\`.`,
    ]);
    const other = server({ image: `vllm/vllm-openai@sha256:${"0".repeat(64)}` });
    expect(said(RULE, [other, record()])).toHaveLength(1);
  });

  it.each([
    [
      "vllm below",
      { vllm: "0.25.3", transformers: "5.10.4" },
      "it holds vllm 0.25.3, below 0.26.0",
    ],
    [
      "a release candidate",
      { vllm: "0.26.0rc1", transformers: "5.10.4" },
      "it holds vllm 0.26.0rc1, below 0.26.0",
    ],
    [
      "a nightly of it",
      { vllm: "0.26.0.dev3+gabc", transformers: "5.10.4" },
      "vllm 0.26.0.dev3+gabc, below 0.26.0",
    ],
    [
      "transformers below",
      { vllm: "0.30.0", transformers: "5.7.9" },
      "it holds transformers 5.7.9, below 5.8.0",
    ],
    [
      "9 is below 10 only as text",
      { vllm: "0.9.0", transformers: "5.10.4" },
      "it holds vllm 0.9.0, below 0.26.0",
    ],
    [
      "no vllm",
      { transformers: "5.10.4" },
      "no vLLM was found inside. A server runs vLLM: use a vLLM image.",
    ],
    ["no transformers", { vllm: "0.30.0" }, "its record has no version of transformers"],
    [
      "no version",
      { vllm: "nightly", transformers: "5.10.4" },
      "`nightly` is not a version of vllm that can be compared",
    ],
    [
      "unknown",
      { vllm: UNKNOWN_TEXT, transformers: "5.10.4" },
      "the version of vllm in its record is not known",
    ],
  ])("are refused: %s", (_, versions, why) => {
    const messages = said(RULE, [server({ image: UNTAGGED }), record(versions)]);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(/^refused: b's image can't be used: /);
    expect(messages[0]).toContain(why);
    if ("vllm" in versions)
      expect(messages[0]).toContain("The floors are vllm 0.26.0 and transformers 5.8.0");
  });

  it("accept a development build above the floor", () => {
    const build = record({ vllm: "0.27.1.dev3+gabc", transformers: "5.8.0" });
    expect(said(RULE, [server({ image: UNTAGGED }), build])).toEqual([]);
  });

  it("name both faults at once", () => {
    const low = record({ vllm: "0.25.0", transformers: "5.0.0" });
    expect(said(RULE, [server({ image: UNTAGGED }), low]).join()).toMatch(
      /^refused: b's image can't be used: it holds vllm 0\.25\.0, below 0\.26\.0\. The floors are vllm 0\.26\.0 and transformers 5\.8\.0; pin an image that holds them\./,
    );
  });

  it.each([undefined, "guessed", UNKNOWN_TEXT])("are refused without evidence: %s", (evidence) => {
    expect(said(RULE, [server(), record(undefined, evidence ?? null)]).join()).toMatch(
      /its evidence is .* instead of `read` or `published`/,
    );
  });

  it("are refused when one of two records of the digest is below", () => {
    const below = record({ vllm: "0.25.0", transformers: "5.10.4" });
    expect(said(RULE, [server(), record(), record(), below])).toHaveLength(1);
    expect(said(RULE, [server(), record(), record()])).toEqual([]);
  });

  it("are refused where their record is of another image, and only that", () => {
    const other = `sha256:${"0".repeat(64)}`;
    const beside = record(undefined, "read", { recordedOf: other }, "b-image-record");
    expect(said(RULE, [server(), beside])).toEqual([
      `refused: b's image can't be used: its record is for another image, ${other}. \`serving pin ${IMAGE}\` looks inside: declare what it finds as a local-serving:index:ImageRecord. It is \`${IMAGE}\`.`,
    ]);
    // Another server's record of another image is none of this one.
    expect(
      said(RULE, [
        server(),
        record(),
        record(undefined, "read", { recordedOf: other }, "c-image-record"),
      ]),
    ).toEqual([]);
  });

  it("are warned about where their record names no digest", () => {
    const unnamed = record(undefined, "read", { recordedOf: "" }, "b-image-record");
    expect(verdictsOf(RULE, [server(), unnamed])).toMatchObject([{ verdict: "warned" }]);
    expect(verdictsOf(RULE, [server(), unnamed])[0]).not.toHaveProperty("note");
    expect(said(RULE, [server({ image: UNTAGGED }), unnamed]).join()).toMatch(
      /^refused: .* its record names no digest/,
    );
    // A record that names the digest speaks for every container that runs it, and not for a record
    // that names none.
    expect(said(RULE, [server(), unnamed, server({}, "c"), record()])).toHaveLength(1);
  });

  it("name the entry where several run one repository", () => {
    const labelled = (key: string, image: string) =>
      server(
        {
          image,
          labels: [
            { label: "local-serving.machine", value: "dgx" },
            { label: "local-serving.server", value: key },
          ],
        },
        key,
      );
    const other = UNTAGGED.replace("8a69", "9a69");
    expect(said(RULE, [labelled("b", UNTAGGED)])[0]).toContain(
      `\`serving pin ${UNTAGGED} --write\` looks inside and records what it finds, as \`serving up\` at a terminal does first.`,
    );
    expect(
      said(RULE, [labelled("b", UNTAGGED), labelled("c", other)]).map(
        (each) => /`serving.*?`/.exec(each)?.[0],
      ),
    ).toEqual([
      `\`serving pin ${UNTAGGED} --write --entry dgx.inferenceServers.b\``,
      `\`serving pin ${other} --write --entry dgx.inferenceServers.c\``,
    ]);
    // Two ranks of one server have one entry.
    const rank = labelled("dgx.b", UNTAGGED);
    expect(said(RULE, [labelled("b", UNTAGGED), rank]).join()).not.toContain("--entry");
  });

  it("are a note where they were published, which is no warning", () => {
    expect(verdictsOf(RULE, [server(), record(undefined, "published")])).toMatchObject([
      { verdict: "warned", note: true },
    ]);
  });

  it("need no record where the digest is known", () => {
    const known =
      "vllm/vllm-openai@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
    expect(verdictsOf(RULE, [server({ image: known })])).toMatchObject([
      { verdict: "warned", note: true },
    ]);
    expect(said(RULE, [server({ image: known })])).toEqual([
      `warned: The versions inside b's image were published, not read in it. \`serving pin ${known}\` looks inside: declare what it finds as a local-serving:index:ImageRecord. Published are vllm \`0.30.0\` and transformers \`5.10.4\`. It is \`${known}\`.`,
    ]);
  });

  it("are not taken from a record that a known digest contradicts", () => {
    const digest = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
    const low = { vllm: "0.20.0", transformers: "5.0.0" };
    const [found = "", ...others] = said(RULE, [
      server({ image: `vllm/vllm-openai@${digest}` }),
      record(low, "read", { digest }),
    ]);
    expect(others).toEqual([]);
    expect(found).toContain("its record says vllm 0.20.0, but its digest is that of");
    expect(found).not.toContain("below");
  });

  const labels = [
    { label: "local-serving.machine", value: "dgx" },
    { label: "local-serving.server", value: "b" },
  ];
  const unnamed = record(undefined, "read", { recordedOf: "" }, "b-image-record");
  const path = "machines.dgx.inferenceServers.b";

  it.each([
    [
      "an image without a digest",
      server({ labels, image: "vllm/vllm-openai:v0.30.0" }),
      [],
      "image",
      undefined,
    ],
    ["nothing recorded", server({ labels }), [], "image", undefined],
    ["a record without a digest", server({ labels }), [unnamed], "versions.digest", DIGEST],
    [
      "what was published",
      server({ labels }),
      [record(undefined, "published")],
      "versions",
      undefined,
    ],
  ])("name the setting that mends it: %s", (_, container, records, setting, value) => {
    expect(
      verdictsOf(RULE, [container, ...records]).map((each) => [each.path, each.value]),
    ).toEqual([[`${path}.${setting}`, value]]);
  });

  it("say why a record without a digest is believed, and how it gets one", () => {
    expect(said(RULE, [server(), unnamed])).toEqual([
      `warned: The record of b's image names no digest. The record is accepted because the tag or a known digest agrees with it. It is \`${IMAGE}\`. \`serving pin ${IMAGE}\` looks inside: declare what it finds as a local-serving:index:ImageRecord.`,
    ]);
  });

  it("name every remedy, and no entry where others run other repositories", () => {
    const low = server({ image: `vllm/vllm-openai:v0.20.0@${DIGEST}` });
    expect(said(RULE, [low, record()]).join()).toMatch(
      /^refused: b's image can't be used: its tag says vllm 0\.20\.0, but its record says vllm 0\.30\.0\./,
    );
    const second = [labels[0], { label: "local-serving.server", value: "c" }];
    const other = server(
      { labels: second, image: UNTAGGED.replace("vllm-openai", "vllm-other") },
      "c",
    );
    expect(said(RULE, [server({ labels, image: UNTAGGED }), other])[0]).toContain("--write` looks");
  });

  it("are named with the tag and the engine that contradict them", () => {
    const image = `vllm/vllm-openai:v0.31.0@${DIGEST}`;
    const low = { vllm: "0.20.0", transformers: "5.0.0" };
    expect(said(RULE, [server({ image }), record(low)])).toEqual([
      `refused: b's image can't be used: its tag says vllm 0.31.0, but its record says vllm 0.20.0. Remove the tag, or pin the release that you want: \`serving pin vllm/vllm-openai:TAG --write\`. The floors are vllm 0.26.0 and transformers 5.8.0; pin an image that holds them. It holds vllm 0.20.0, below 0.26.0. It holds transformers 5.0.0, below 5.8.0. It is \`${image}\`.`,
    ]);
    const sglang = `lmsysorg/sglang:v0.5.9@${DIGEST}`;
    expect(said(RULE, [server({ image: sglang }), record(low)]).join()).toContain(
      "refused: b's image can't be used: its name says SGLang. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
    );
    // Another image's record says nothing of this one.
    const other = record(low, "read", { recordedOf: `sha256:${"0".repeat(64)}` }, "b-image-record");
    expect(said(RULE, [server(), other]).join()).not.toContain("it holds");
    expect(said(RULE, [server(), other]).join()).toContain("`serving pin ");
  });

  it("below the floors in a record that names no digest leave nothing to look for", () => {
    const low = record(
      { vllm: "0.20.0", transformers: "5.8.0" },
      "read",
      { recordedOf: "" },
      "b-image-record",
    );
    expect(said(RULE, [server({ image: UNTAGGED }), low])).toEqual([
      `refused: b's image can't be used: its record names no digest, and nothing else shows that it is for this image. The floors are vllm 0.26.0 and transformers 5.8.0; pin an image that holds them. It holds vllm 0.20.0, below 0.26.0. It is \`${UNTAGGED}\`.`,
    ]);
  });

  it("on the deny list leave nothing to look for, either", () => {
    const denied = { vllm: "0.27.1", transformers: "5.17.0" };
    const image = `me/vllm:1@${DIGEST}`;
    const NOTHING = "What is recorded of it is on the deny list: pin another image.";
    expect(said(RULE, [server({ image }), record(denied, "published")])).toEqual([
      `refused: b's image can't be used: me/vllm is not known to hold vLLM. ${NOTHING} It is \`${image}\`.`,
    ]);
    expect(said(RULE, [server({ image: UNTAGGED }), record(denied, "published")])).toEqual([
      `warned: The versions inside b's image were published, not read in it. ${NOTHING} Published are vllm \`0.27.1\` and transformers \`5.17.0\`. It is \`${UNTAGGED}\`.`,
    ]);
  });

  it("count where a tag of somebody's own says otherwise, with a note", () => {
    const image = `me/vllm-spark:1.4.0@${DIGEST}`;
    const labelled = server({ image, labels });
    expect(verdictsOf(RULE, [labelled, record()])).toEqual([
      expect.objectContaining({
        verdict: "warned",
        note: true,
        path: `${path}.image`,
        message: expect.stringContaining(
          "The tag of b's image doesn't name vLLM's version. What is recorded of its digest counts: vllm 0.30.0, and not `1.4.0`.",
        ),
      }),
    ]);
    const known =
      "me/vllm-spark:1.4.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
    expect(verdictsOf(RULE, [server({ image: known })]).map((each) => each.note)).toEqual([
      true,
      true,
    ]);
  });

  it("keep their level", () => {
    expect(verdictsOf(RULE, [server()], { all: "disabled" })).toMatchObject([
      { verdict: "refused" },
    ]);
  });
});
