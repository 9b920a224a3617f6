import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT, withMachine } from "../doctor/stack";
import { runServing } from "../runServing";
import { digestOf, standInRegistry } from "./standInRegistry";

const VLLM = "vllm/vllm-openai";
const TAGS = [
  "latest",
  "nightly",
  "v0.25.1",
  "v0.30.0",
  "v0.30.0-cu129",
  "v0.31.0rc1",
  "v0.31.0",
  "v0.33.0",
  "v0.32.0",
];

/** A stack file whose server runs this image, and has read it. */
function stackWith(image: string, text = STACK_TEXT): string {
  const file = join(temporaryFolder("pin-newer-"), "Pulumi.dgx.yaml");
  const [, version = "0.30.0"] = /:v(\d+\.\d+\.\d+)/.exec(image) ?? [];
  const [, digest = digestOf("none")] = image.split("@");
  const recorded = text
    .replace(/digest: sha256:\w+/, `digest: ${digest}`)
    .replace("vllm: 0.30.0", `vllm: ${version}`);
  writeFileSync(file, recorded.replace(/vllm\/vllm-openai:\S+/, image));
  return file;
}

const pinned = (address: string, tag: string, of = tag) =>
  `${address}/${VLLM}:${tag}@${digestOf(of)}`;

async function run(args: readonly string[], file: string) {
  // Docker that isn't there: none of this needs it.
  const env = { PATH: "/nowhere" };
  const shown = await runServing(["pin", ...args, "--file", file], env);
  const { code, out } = await runServing(["pin", ...args, "--file", file, "--format", "json"], env);
  expect(code).toBe(shown.code);
  return { code, text: shown.out, images: JSON.parse(out).images };
}

describe("serving pin --newer", () => {
  it("lists newer releases with their digests, page by page, and the command that takes the newest", async () => {
    const { address, asked } = await standInRegistry(VLLM, TAGS, { pageSize: 4 });
    const file = stackWith(pinned(address, "v0.30.0"));
    const { code, text, images } = await run(["--newer"], file);
    expect(code).toBe(0);
    expect(images).toEqual([
      {
        entry: "dgx.inferenceServers.b",
        image: pinned(address, "v0.30.0"),
        newer: ["v0.33.0", "v0.32.0", "v0.31.0"].map((tag) => ({
          ...{ tag, version: tag.slice(1) },
          image: pinned(address, tag),
        })),
        more: 0,
        engine: {
          machine: "dgx",
          key: "b",
          version: "0.33.0",
          known: "published",
          nearest: "0.33.0",
          gone: [],
          defaults: {
            changed: [
              { name: "disable-cascade-attn", before: true, after: null },
              { name: "mamba-cache-mode", before: "none", after: null },
            ],
            unrecorded: [],
          },
        },
      },
    ]);
    expect(text).toBe(
      [
        `dgx.inferenceServers.b runs ${address}/${VLLM}:v0.30.0.`,
        ...["v0.33.0", "v0.32.0", "v0.31.0"].map((tag) => `  ${tag}  ${digestOf(tag)}`),
        "  What vLLM 0.33.0 makes of its arguments:",
        "    vLLM 0.33.0 has every flag, value and variable that is set here.",
        "    The image isn't vLLM's own, so what is inside may differ.",
        "    `--disable-cascade-attn` isn't set here, and its default changes: `true` -> left to vLLM.",
        '    `--mamba-cache-mode` isn\'t set here, and its default changes: `"none"` -> left to vLLM.',
        `  Take it: npx --no -- serving pin ${address}/${VLLM}:v0.33.0 --write --entry dgx.inferenceServers.b --file ${file}`,
        "",
      ].join("\n"),
    );
    expect(asked.slice(0, 3)).toEqual([
      `GET /v2/${VLLM}/tags/list?n=1000`,
      `GET /v2/${VLLM}/tags/list?n=1000&last=v0.30.0`,
      `GET /v2/${VLLM}/tags/list?n=1000&last=v0.33.0`,
    ]);
    expect(asked.slice(3, 6).sort()).toEqual(
      ["v0.31.0", "v0.32.0", "v0.33.0"].map((tag) => `HEAD /v2/${VLLM}/manifests/${tag}`),
    );
  });

  it("gets the token that a registry gives to anybody", async () => {
    const { address, asked } = await standInRegistry(VLLM, TAGS, { wants: "token" });
    const { code, images } = await run(["--newer"], stackWith(pinned(address, "v0.32.0")));
    expect([code, images[0].newer.length]).toEqual([0, 1]);
    expect(asked.slice(0, 4)).toEqual([
      `GET /v2/${VLLM}/tags/list?n=1000`,
      `GET /token?service=stand-in&scope=repository%3Avllm%2Fvllm-openai%3Apull`,
      `GET /v2/${VLLM}/tags/list?n=1000 (token)`,
      `HEAD /v2/${VLLM}/manifests/v0.33.0 (token)`,
    ]);
  });

  it.each(["login", "token-refused"] as const)(
    "says of a private registry that it isn't asked: %s",
    async (wants) => {
      const { address } = await standInRegistry(VLLM, TAGS, { wants });
      const { code, images, text } = await run(["--newer"], stackWith(pinned(address, "v0.30.0")));
      expect(code).toBe(1);
      expect(images[0]).toMatchObject({
        newer: [],
        problem: `${address} shows ${VLLM} only to users with a key, and this program uses none: look there yourself.`,
      });
      expect(text).not.toContain("Take it");
    },
  );

  it("marks what the model or the supply list refuses, and takes the newest of the others", async () => {
    const litellm = "berriai/litellm";
    const tags = ["v1.81.0", "v1.82.7", "v1.83.4-stable", "v1.82.9", "v1.84.0-rc.1"];
    const { address } = await standInRegistry(litellm, tags);
    const bridge = withMachine([
      "bridge",
      { image: `${address}/${litellm}:v1.81.0@${digestOf("v1.81.0")}` },
    ]);
    const file = stackWith("vllm/vllm-openai:latest", bridge);
    const { code, images, text } = await run(["--newer", "bridge"], file);
    expect(code).toBe(0);
    expect(images).toHaveLength(1);
    expect(images[0].newer.map(({ tag }: { tag: string }) => tag)).toEqual([
      "v1.83.4-stable",
      "v1.82.9",
      "v1.82.7",
    ]);
    expect(images[0].newer[2].refused).toMatch(
      /^these releases were compromised \(.*\)\. Take 1\.84\.0 or newer/,
    );
    expect(images[0].newer[0].refused).toContain("let attackers bypass their keys");
    expect(text).toContain("\n    refused: these releases were compromised");
    expect(text).not.toContain("Take it");
  });

  it("marks a vLLM that is too old for the model, by the catalogue, or below the floor", async () => {
    const { address } = await standInRegistry(VLLM, [
      "v0.25.0",
      "v0.25.1",
      "v0.26.0",
      "v0.27.1",
      "v0.28.0",
    ]);
    const of = (id: string) =>
      stackWith(pinned(address, "v0.25.0"), STACK_TEXT.replace("nvidia/Qwen3.6-35B-A3B-NVFP4", id));
    const old = await run(
      ["--newer", "b"],
      of("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4"),
    );
    // Its family doesn't fit the model, so nothing is planned.
    expect(old.images[0]).not.toHaveProperty("engine");
    const refused = old.images[0].newer.map(({ tag, refused: why }: Record<string, string>) => [
      tag,
      why,
    ]);
    expect(refused).toEqual([
      ["v0.28.0", undefined],
      ["v0.27.1", undefined],
      [
        "v0.26.0",
        "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4 needs vLLM 0.27.1 or newer, by the catalogue.",
      ],
      ["v0.25.1", "it is below 0.26.0, the lowest that may run"],
    ]);
    expect(old.text).toContain(
      `Take it: npx --no -- serving pin ${address}/${VLLM}:v0.28.0 --write`,
    );
  });

  it("shows a handful, and how many there are beyond", async () => {
    const { address, asked } = await standInRegistry(
      VLLM,
      Array.from({ length: 20 }, (_, patch) => `v0.31.${patch}`),
    );
    const { images, text } = await run(["--newer"], stackWith(pinned(address, "v0.30.0")));
    expect([images[0].newer.length, images[0].newer[0].tag, images[0].more]).toEqual([
      6,
      "v0.31.19",
      14,
    ]);
    expect(text).toContain("  and 14 older ones\n");
    expect(asked.filter((each) => each.startsWith("HEAD"))).toHaveLength(12);
  });

  it.each<[string, (address: string) => string, RegExp]>([
    [
      "a moving tag",
      (address) => `${address}/${VLLM}:latest@${digestOf("x")}`,
      /^`latest` is not a release, so nothing is newer: pin a release with `serving pin localhost:\d+\/vllm\/vllm-openai:TAG --write`\.$/,
    ],
    [
      "a digest alone",
      (address) => `${address}/${VLLM}@${digestOf("x")}`,
      /^It has no tag, so nothing is newer: pin a release with/,
    ],
    [
      "a repository that isn't there",
      (address) => `${address}/vllm/other:v0.30.0`,
      /^localhost:\d+ has no repository vllm\/other\.$/,
    ],
    [
      "a registry that isn't there",
      () => `localhost:1/${VLLM}:v0.30.0`,
      /^localhost:1 is not reachable: nothing listens there \(connection refused\)\.$/,
    ],
  ])("says why it knows nothing: %s", async (_, image, problem) => {
    const { address } = await standInRegistry(VLLM, TAGS);
    const { code, images } = await run(["--newer"], stackWith(image(address)));
    expect(code).toBe(1);
    expect(images[0].problem).toMatch(problem);
  });

  it("is wrong use beside an image, or of an entry that isn't there", async () => {
    const file = stackWith(pinned("localhost:1", "v0.30.0"));
    for (const args of [["--newer", "--check"], ["a:1", "--check"], [], ["--newer", "chatUi"]])
      expect((await runServing(["pin", ...args, "--file", file])).code).toBe(2);
    expect((await runServing(["pin"])).err).toContain(
      "Give an IMAGE:TAG to read, or --newer, or --check.",
    );
  });
});

describe("an entry of serving pin --newer", () => {
  it.each(["b", "dgx.b", "inferenceServers.b", "dgx.inferenceServers.b"])(
    "may be called %s",
    async (name) => {
      const file = stackWith(pinned("localhost:1", "v0.30.0"));
      const { images } = await run(["--newer", name], file);
      expect(images.map(({ entry }: { entry: string }) => entry)).toEqual([
        "dgx.inferenceServers.b",
      ]);
    },
  );

  it.each(["chatUi", "chat-ui", "dgx.chat-ui"])("of a service may be called %s", async (name) => {
    const image = `localhost:1/open-webui/open-webui:v0.11.3@${digestOf("x")}`;
    const file = stackWith(pinned("localhost:1", "v0.30.0"), withMachine(["chatUi", { image }]));
    const { images } = await run(["--newer", name], file);
    expect(images.map(({ entry }: { entry: string }) => entry)).toEqual(["dgx.chatUi"]);
  });
});
