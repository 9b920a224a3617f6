import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { throughNpx } from "@local-serving/base/commandLine/ownCommand";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT, withMachine } from "../doctor/stack";
import { runServing } from "../runServing";
import { digestOf, partOf, standInRegistry } from "./standInRegistry";

const VLLM = "vllm/vllm-openai";
const TAGS = ["nightly", "v0.30.0", "v0.31.0"];

/** A stack file whose server runs this image; its record names the image's digest. */
function stackWith(image: string, vllm = "0.30.0", text = STACK_TEXT): string {
  const file = join(temporaryFolder("pin-check-"), "Pulumi.dgx.yaml");
  const [, digest = digestOf("none")] = image.split("@");
  const recorded = text
    .replace(/digest: sha256:\w+/, `digest: ${digest}`)
    .replace("vllm: 0.30.0", `vllm: ${vllm}`);
  writeFileSync(file, recorded.replace(/vllm\/vllm-openai:\S+/, image));
  return file;
}

const pinned = (address: string, tag: string, of = tag, repository = VLLM) =>
  `${address}/${repository}:${tag}@${digestOf(of)}`;
const short = (digest: string) => digest.slice(0, 19);

async function check(file: string) {
  // Docker that isn't there: none of this needs it.
  const env = { PATH: "/nowhere" };
  const args = ["pin", "--check", "--file", file];
  const shown = await runServing(args, env);
  const { code, out } = await runServing([...args, "--format", "json"], env);
  expect(code).toBe(shown.code);
  return { code, text: shown.out, images: JSON.parse(out).images };
}

const BOTH = "It is made for linux/amd64 and linux/arm64.";
const OPEN = "transformers 5.10.4 is what the record says: no registry tells it.";

describe("serving pin --check", () => {
  it("passes where the registry has the digest, the tag points to it, and the versions agree", async () => {
    const { address, asked } = await standInRegistry(VLLM, TAGS, { wants: "token" });
    const image = pinned(address, "v0.30.0");
    const { code, text, images } = await check(stackWith(image));
    expect(text).toBe(
      [
        `ok    dgx.inferenceServers.b: ${image.replace(/sha256:.*/, short(digestOf("v0.30.0")))}`,
        `      The registry has this digest, and v0.30.0 points to it. ${BOTH}`,
        "      vllm is as recorded, by its tag.",
        `      ${OPEN}\n`,
      ].join("\n"),
    );
    expect([code, images]).toEqual([
      0,
      [
        {
          entry: "dgx.inferenceServers.b",
          image,
          points: digestOf("v0.30.0"),
          platforms: ["linux/amd64", "linux/arm64"],
          confirmed: { vllm: "its tag" },
          faults: [],
          open: [OPEN],
        },
      ],
    ]);
    expect(asked.filter((each) => each.includes("/blobs/"))).toEqual([]);
  });

  it("takes the image's own variable where no tag says it, and follows it elsewhere without a token", async () => {
    const variables = ["PATH=/bin", `VLLM_IMAGE_TAG=${VLLM}:v0.30.0`];
    const { address, asked } = await standInRegistry(VLLM, TAGS, { wants: "token", variables });
    const file = stackWith(`${address}/${VLLM}@${digestOf("v0.30.0")}`);
    const { code, images } = await check(file);
    expect([code, images[0].confirmed]).toEqual([0, { vllm: "the image's own variable" }]);
    expect(asked.filter((each) => each.includes("/elsewhere/"))[0]).not.toContain("(token)");
  });

  it("fails where that variable names another version, if nobody else built the image", async () => {
    const said = "The image's own variable says vllm 0.31.0, and its record vllm 0.30.0.";
    const variables = ["VLLM_IMAGE_TAG=v0.31.0"];
    for (const [repository, code] of [
      [VLLM, 1],
      ["me/vllm", 0],
    ] as const) {
      const { address } = await standInRegistry(repository, TAGS, { variables });
      const found = await check(stackWith(`${address}/${repository}@${digestOf("v0.30.0")}`));
      expect(found.code).toBe(code);
      expect(found.images[0].faults).toEqual(code === 1 ? [said] : []);
      expect(found.images[0].open[0]).toBe(
        code === 1 ? OPEN : `${said} It may be of the image that this one was built from.`,
      );
    }
  });

  it("fails for an image of another processor, and for the record of no image in it", async () => {
    const one = await standInRegistry(VLLM, TAGS, { platforms: ["linux/amd64"] });
    const { code, images } = await check(stackWith(pinned(one.address, "v0.30.0")));
    expect([code, images[0].faults]).toEqual([
      1,
      [
        "It is made for linux/amd64, and servers here run on an NVIDIA GPU and an Arm processor (aarch64): linux/arm64.",
      ],
    ]);
    const { address } = await standInRegistry(VLLM, TAGS);
    const withPart = (digest: string) =>
      check(
        stackWith(
          pinned(address, "v0.30.0"),
          "0.30.0",
          STACK_TEXT.replace(/digest: sha256:\w+/, `$&, platformDigest: ${digest}`),
        ),
      );
    const none = await withPart(digestOf("x"));
    expect([none.code, none.images[0].faults]).toEqual([
      1,
      [
        `\`versions.platformDigest\` is ${short(digestOf("x"))}, and no image of this digest is that (linux/amd64 and linux/arm64).`,
      ],
    ]);
    const laptop = await withPart(partOf("v0.30.0", "linux/amd64"));
    expect([laptop.code, laptop.images[0].open]).toEqual([
      0,
      [
        "The versions were read in the image for linux/amd64, not in the one for linux/arm64.",
        OPEN,
      ],
    ]);
    expect((await withPart(partOf("v0.30.0", "linux/arm64"))).images[0].open).toEqual([OPEN]);
  });

  it.each<[string, (address: string) => string, readonly string[]]>([
    [
      "a digest that somebody made up, and a tag that points elsewhere",
      (address) => pinned(address, "v0.30.0", "other"),
      [
        `ADDRESS/${VLLM} has no image with the digest ${short(digestOf("other"))}.`,
        `v0.30.0 points to ${short(digestOf("v0.30.0"))} now: somebody moved the tag. Find out why before you pin it anew.`,
      ],
    ],
    [
      "a tag that was moved",
      (address) => pinned(address, "v0.31.0", "v0.30.0"),
      [
        `v0.31.0 points to ${short(digestOf("v0.31.0"))} now: somebody moved the tag. Find out why before you pin it anew.`,
      ],
    ],
    [
      "a tag that is gone",
      (address) => pinned(address, "v0.29.0", "v0.30.0"),
      [`ADDRESS/${VLLM} has no v0.29.0 any more: the image may vanish, too.`],
    ],
    [
      "an image without a digest",
      (address) => `${address}/${VLLM}:v0.30.0`,
      ["It has no digest: `serving pin IMAGE:TAG --write` gives it one."],
    ],
    [
      "an image without a digest that can't be used",
      (address) => `${address}/${VLLM}:v0.10.0`,
      [
        "It can't be used: its tag says vllm 0.10.0, below 0.26.0. Pin vllm 0.26.0 or newer. It has no digest.",
      ],
    ],
  ])("fails for %s", async (_, image, faults) => {
    const { address } = await standInRegistry(VLLM, TAGS);
    const [, version = "0.30.0"] = /:v(\d+\.\d+\.\d+)/.exec(image(address)) ?? [];
    const { code, text, images } = await check(stackWith(image(address), version));
    const said = faults.map((each) => each.replace("ADDRESS", address));
    expect([code, images[0].faults]).toEqual([1, said]);
    const [first = ""] = text.split("\n");
    expect(first).toMatch(/^FAULT dgx\.inferenceServers\.b: /);
    expect(text).toContain(said.map((each) => `      ${throughNpx(each)}\n`).join(""));
  });

  it.each<[string, (address: string) => string, string]>([
    [
      "doesn't answer",
      () => pinned("localhost:1", "v0.30.0"),
      "localhost:1 is not reachable: nothing listens there (connection refused).",
    ],
    [
      "gives no digest of a tag",
      (address) => pinned(address, "nightly"),
      `ADDRESS gives no digest of ${VLLM}:nightly.`,
    ],
  ])("exits with 2 where a registry %s: that is no fault, and no proof", async (_, image, why) => {
    const { address } = await standInRegistry(VLLM, TAGS, { without: ["nightly"] });
    const { code, text, images } = await check(stackWith(image(address)));
    const said = why.replace("ADDRESS", address);
    expect([code, images[0].faults, images[0].notChecked]).toEqual([2, [], said]);
    expect(text).toMatch(/^NOT CHECKED dgx\.inferenceServers\.b: /);
    expect(text).toContain(
      `      ${said}\n\n1 image was not checked at the registry: that is neither a fault nor a proof. Run this again where the registry can be reached.\n`,
    );
  });

  it("fails for what is denied meanwhile, though a registry doesn't answer", async () => {
    const litellm = "berriai/litellm";
    const { address } = await standInRegistry(litellm, ["v1.82.8"]);
    const bridge = withMachine([
      "bridge",
      { image: `${address}/${litellm}:v1.82.8@${digestOf("v1.82.8")}` },
    ]).replace("transformers: 5.10.4", "transformers: 5.7.0");
    const image = `localhost:1/${VLLM}@${digestOf("x")}`;
    const { code, images } = await check(stackWith(image, "0.30.0", bridge));
    expect(code).toBe(1);
    expect(images.map(({ entry }: { entry: string }) => entry)).toEqual([
      "dgx.inferenceServers.b",
      "dgx.bridge",
    ]);
    expect(images[0].faults[0]).toContain("it holds transformers 5.7.0, below 5.8.0");
    expect(images[0].notChecked).toContain("is not reachable");
    expect(images[1].faults[0]).toContain("these releases were compromised");
  });

  it("leaves the stack file as it is", async () => {
    const { address } = await standInRegistry(VLLM, TAGS);
    const file = stackWith(pinned(address, "v0.30.0"));
    const before = readFileSync(file, "utf8");
    await check(file);
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(readdirSync(dirname(file))).toEqual(["Pulumi.dgx.yaml"]);
  });
});
