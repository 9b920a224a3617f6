import { expect, it } from "vitest";
import { imageOf } from "../../../cli/init/command/image";
import { digestsOf } from "../../../cli/init/pinnedImages";
import { pinnedServer } from "../../../components/supply/pinned";
import { httpServer } from "../../layers/httpServer";

it.each([
  [
    "vllm/vllm-openai:v0.10.0",
    "vllm/vllm-openai:v0.10.0 can't be used: its tag says vllm 0.10.0, below 0.26.0. Pin vllm 0.26.0 or newer.",
  ],
  [
    "lmsysorg/sglang:v0.5.9",
    "lmsysorg/sglang:v0.5.9 can't be used: its name says SGLang. Only vLLM is planned here: start SGLang yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
  ],
  [
    "nvcr.io/nvidia/vllm:25.09-py3",
    "nvcr.io/nvidia/vllm:25.09-py3 can't be used: its tag says 25.09, and nvcr.io/nvidia/vllm up to 26.05 holds vllm 0.20.1 or older, below 0.26.0. Pin vllm 0.26.0 or newer.",
  ],
  [
    "vllm/vllm-openai:nightly-0123456789abcdef",
    "vllm/vllm-openai:nightly-0123456789abcdef: its tag `nightly-0123456789abcdef` is a development build. Take a release, such as vllm/vllm-openai:v0.30.0; or `serving pin vllm/vllm-openai:nightly-0123456789abcdef --write` pins this build, and reads the versions inside.",
  ],
  [
    "nvcr.io/nim/qwen/qwen3-32b:1.15",
    "nvcr.io/nim/qwen/qwen3-32b:1.15 can't be used: its name says NVIDIA NIM. A NIM starts its own engine, by variables of its own: start it yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.",
  ],
  [
    "me/vllm-spark:1.4.0",
    "me/vllm-spark:1.4.0 is kept as the command has it, and a tag can move: `serving pin me/vllm-spark:1.4.0 --write` pins it, and reads the versions inside.",
  ],
  [
    `me/vllm-spark@sha256:${"a".repeat(64)}`,
    `me/vllm-spark is kept as the command has it, and its digest is not in this program's list: \`serving pin me/vllm-spark@sha256:${"a".repeat(64)} --write\` pins it, and reads the versions inside.`,
  ],
  [
    "localhost/vllm-spark:latest",
    "localhost/vllm-spark:latest is kept as the command has it. `localhost/` is what Podman calls an image that was built on the machine, and no registry can be asked for it: push it to a registry, and pin it from there by `serving pin REGISTRY/NAME:TAG --entry inferenceServers.b --write`.",
  ],
])("a command's image %s: a pin is advised only where it helps", (image, mend) => {
  const { refused, ...read } = imageOf(image);
  expect(refused?.why).toBe(/can't be used/.test(mend) ? mend : undefined);
  expect(read).toEqual({ image: { image }, told: [], mend: [mend] });
});

it("a registry's digest pins a tag, with its versions where our list has the digest", async () => {
  const known = pinnedServer();
  const ours = known.versions.digest;
  const other = `sha256:${"b".repeat(64)}`;
  const asked: string[] = [];
  const { port } = await httpServer(({ url = "", method }, response) => {
    asked.push(`${method} ${url}`);
    const digest = { "/v2/a/b/manifests/1.0": ours, "/v2/a/b/manifests/2.0": other }[url];
    response.writeHead(digest === undefined ? 404 : 200, { "docker-content-digest": digest ?? "" });
    response.end();
  });
  const name = (tag: string) => `localhost:${port}/a/b:${tag}`;
  const pinned = `${name("4.0")}@${other}`;
  const digests = await digestsOf([name("1.0"), name("2.0"), name("3.0"), pinned, "built:here"]);
  expect([...digests]).toEqual(
    expect.arrayContaining([
      [name("1.0"), ours],
      [name("2.0"), other],
    ]),
  );
  expect([digests.size, asked.length]).toEqual([2, 3]);
  const told = `${name("1.0")} is pinned by the digest that its registry gives for the tag today`;
  const { vllm, digest } = known.versions;
  expect(imageOf(name("1.0"), { digests })).toMatchObject({
    image: {
      image: `${name("1.0")}@${ours}`,
      versions: { vllm, digest, evidence: "published" },
    },
    told: [`${told}.`],
    mend: [],
  });
  expect(imageOf(name("2.0"), { digests })).toEqual({
    image: { image: `${name("2.0")}@${other}` },
    told: [
      expect.stringMatching(
        /today; `serving up` at a terminal reads the versions inside, and until then `serving plan` refuses it\.$/,
      ),
    ],
    mend: [],
  });
  expect(imageOf(name("3.0"), { digests }).mend).toEqual([
    expect.stringContaining("is kept as the command has it, and a tag can move"),
  ]);
});
