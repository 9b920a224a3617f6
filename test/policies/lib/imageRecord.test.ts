import { UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { engineData, newestEngineData } from "@local-serving/vllm/engineData";
import { describe, expect, it } from "vitest";
import { imageRecordName } from "../../../components/inference-server/plannedServer";
import { TYPE } from "../../../components/planned/type";
import images from "../../../components/supply/images.json";
import {
  engineDataOf,
  imageRecord,
  type RecordedImage,
  recordsIn,
} from "../../../policies/lib/imageRecord";
import { DIGEST, IMAGE, UNTAGGED } from "../declared";

const recorded = (props: Record<string, unknown>, name = "r") => ({
  type: TYPE.imageRecord,
  name,
  props,
});
const HEX = DIGEST.slice("sha256:".length);

describe("a record of an image", () => {
  it.each<[string, Record<string, unknown>, Partial<RecordedImage>]>([
    ["a digest without its algorithm", { digest: HEX }, { digest: DIGEST, of: DIGEST }],
    ["a whole digest", { digest: DIGEST }, { digest: DIGEST, of: DIGEST }],
    ["a digest that is not known", { digest: UNKNOWN }, { digest: UNKNOWN, of: undefined }],
    ["no digest", {}, { digest: undefined, of: undefined }],
    [
      "the digest that it names itself",
      { digest: HEX, recordedOf: "sha256:x" },
      { digest: DIGEST, of: "sha256:x" },
    ],
    ["that it names none", { digest: HEX, recordedOf: "" }, { digest: DIGEST, of: undefined }],
    [
      "packages in any letters",
      { versions: { VLLM: "0.30.0", Transformers: UNKNOWN } },
      {
        versions: new Map<string, string | typeof UNKNOWN>([
          ["vllm", "0.30.0"],
          ["transformers", UNKNOWN],
        ]),
      },
    ],
    ["its evidence", { evidence: "read" }, { evidence: "read" }],
  ])("is read with %s", (_, props, read) =>
    expect(imageRecord(recorded(props))).toMatchObject(read),
  );
});

describe("the records of a container's image", () => {
  const container = (image: unknown, name = "b") => ({
    type: TYPE.container,
    name,
    props: { image },
  });
  const found = (image: unknown, ...records: Record<string, unknown>[]) =>
    recordsIn(records.map((props) => recorded(props)))(container(image)).map(({ versions }) =>
      Object.fromEntries(versions),
    );
  const one = { vllm: "1" };

  it.each<[string, unknown, Record<string, unknown>[], unknown[]]>([
    ["its digest", UNTAGGED, [{ digest: DIGEST, versions: one, evidence: "read" }], [one]],
    [
      "one version without evidence",
      UNTAGGED,
      [{ digest: DIGEST, versions: one, evidence: "none" }],
      [one],
    ],
    ["evidence without versions", UNTAGGED, [{ digest: DIGEST, evidence: "read" }], [{}]],
    ["no word", UNTAGGED, [{ digest: DIGEST, evidence: "none" }], []],
    ["another digest", UNTAGGED, [{ digest: `sha256:${"0".repeat(64)}`, versions: one }], []],
    ["no digest, beside an image without one", "vllm/vllm-openai:v1", [{ versions: one }], []],
    [
      "a digest, beside an image that is not known",
      UNKNOWN,
      [{ digest: DIGEST, versions: one }],
      [],
    ],
    ["the same twice", UNTAGGED, [1, 2].map(() => ({ digest: DIGEST, versions: one })), [one]],
    [
      "the same by other evidence",
      UNTAGGED,
      ["read", "published"].map((evidence) => ({ digest: DIGEST, versions: one, evidence })),
      [one, one],
    ],
    [
      "other packages in the same letters",
      UNTAGGED,
      [{ vllm: "1", x: "2" }, { vllm: "1x2" }].map((versions) => ({ digest: DIGEST, versions })),
      [{ vllm: "1", x: "2" }, { vllm: "1x2" }],
    ],
  ])("are those with %s", (_, image, records, versions) =>
    expect(found(image, ...records)).toEqual(versions),
  );

  it("are its server's own, too", () => {
    const own = recorded({ versions: one }, imageRecordName("b"));
    expect(recordsIn([own])(container(UNTAGGED))).toHaveLength(1);
    expect(recordsIn([own])(container(UNTAGGED, "c"))).toEqual([]);
  });

  it("are two where the server's own is of another image, whatever else they say", () => {
    const own = recorded(
      { digest: `sha256:${"0".repeat(64)}`, versions: one },
      imageRecordName("b"),
    );
    const ofImage = recorded({ digest: DIGEST, versions: one });
    expect(recordsIn([own, ofImage])(container(UNTAGGED))).toHaveLength(2);
  });

  it("come in the order in which they are declared, the server's own among them", () => {
    const ofDigest = (vllm: string) => recorded({ digest: DIGEST, versions: { vllm } });
    const own = recorded({ versions: one }, imageRecordName("b"));
    const versionsIn = (...records: Parameters<typeof recordsIn>[0]) =>
      recordsIn(records)(container(UNTAGGED)).map(({ versions }) => versions.get("vllm"));
    expect(versionsIn(ofDigest("2"), own, ofDigest("3"))).toEqual(["2", "1", "3"]);
    expect(versionsIn(own, ofDigest("3"), ofDigest("2"))).toEqual(["1", "3", "2"]);
  });
});

describe("what an image's vLLM takes", () => {
  const read = (vllm: string): RecordedImage => ({
    digest: DIGEST,
    of: DIGEST,
    versions: new Map([["vllm", vllm]]),
    evidence: "read",
  });
  const seen = images.releases.find(({ image }) => image.startsWith("vllm/vllm-openai:v0.30.0"));
  const newest = { data: newestEngineData(), exact: false };
  const of023 = { data: engineData("0.23.0"), exact: false };
  const of030 = { data: engineData("0.30.0"), exact: true };

  it.each<[string, unknown, RecordedImage[], object]>([
    ["its tag", IMAGE, [], of030],
    ["its record", UNTAGGED, [read("0.30.0")], of030],
    ["the record of a local build", UNTAGGED, [read("0.30.0+cu130")], of030],
    ["a release that nobody has read", UNTAGGED, [read("0.34.0")], newest],
    ["its tag, as the nearest before it", "vllm/vllm-openai:v0.24.0", [], of023],
    ["its tag, as the oldest that is known", "vllm/vllm-openai:v0.9.1", [], of023],
    ["nothing", UNTAGGED, [], newest],
    ["nothing, as it is no image", "vLLM", [read("0.30.0")], newest],
    ["nothing, as it has none", undefined, [read("0.30.0")], newest],
    ["nothing, as it is not known", UNKNOWN, [read("0.30.0")], newest],
    ["vLLM's name in its tag", "own/x:cu130-vllm0.30.0", [], { ...of030, exact: false }],
    ["nothing, as its maker counts otherwise", "own/vllm:v0.30.0", [], newest],
    ["its digest, in a mirror", `own/x@${seen?.digest}`, [], of030],
  ])("is told by %s", (_, image, records, engine) =>
    expect(engineDataOf(image, records)).toMatchObject(engine),
  );

  it("says what it was compared with where that is another version, or another's build", () => {
    const doubts = [IMAGE, "vllm/vllm-openai:v0.24.0", UNTAGGED, "own/x:cu130-vllm0.30.0"];
    expect(doubts.map((image) => engineDataOf(image).doubt)).toEqual([
      "",
      "Its image may differ: its vLLM is 0.24.0, of which there is no data here, and it was compared with 0.23.0.",
      `Its image may differ: which vLLM it has isn't known, and it was compared with ${newest.data.version}.`,
      "Its image may differ: it is not vLLM's own in this version.",
    ]);
  });
});
