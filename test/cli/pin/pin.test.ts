import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writePin } from "../../../cli/pin/writePin";
import { plan } from "../../../components/plan/plan";
import { parseStackFile } from "../../../components/settings/load";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT, withMachine } from "../doctor/stack";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";

const DIGEST = `sha256:${"d".repeat(64)}`;
const PLATFORM = `sha256:${"e".repeat(64)}`;
const SOURCE = `serving pin, ${PLATFORM.slice(0, 19)}`;

function docker(repository: string, versions: Record<string, string>): FakeDocker {
  const manifests = [{ digest: PLATFORM, platform: { os: "linux", architecture: "arm64" } }];
  const fake = new FakeDocker({
    pull: { out: "" },
    "image inspect": { out: JSON.stringify([`${repository}@${DIGEST}`]) },
    "manifest inspect": { out: JSON.stringify({ manifests }) },
    version: { out: "linux/arm64\n" },
    "run --rm": { out: JSON.stringify(versions) },
  });
  return fake;
}

function stackFile(text: string): string {
  const folder = temporaryFolder("pin-write-");
  const file = join(folder, "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  return file;
}

const WELL = { vllm: "0.31.0", transformers: "5.16.1", torch: "2.13.0" };

async function pin(
  text: string,
  args: readonly string[],
  { repository = "vllm/vllm-openai", versions = WELL as Record<string, string> } = {},
) {
  const fake = docker(repository, versions);
  const file = stackFile(text);
  const run = await runServing(["pin", ...args, "--file", file], fake.env);
  return {
    ...run,
    file,
    after: readFileSync(file, "utf8"),
    asked: readFileSync(fake.asked, "utf8"),
  };
}

const TWO_SERVERS = withMachine([
  "inferenceServers.c",
  {
    model: { id: "org/other", family: "qwen3" },
    servedModelName: "other",
    image: `docker.io/vllm/vllm-openai:v0.29.0@sha256:${"a".repeat(64)}`,
    port: 8002,
    gpuMemoryUtilization: 0.09,
    maxModelLen: 4096,
  },
]);

describe("serving pin --write", () => {
  it("writes digest and versions into the only entry of this repository, and nothing else", async () => {
    const { code, out, file, after } = await pin(STACK_TEXT, [
      "vllm/vllm-openai:v0.31.0",
      "--write",
      "--format",
      "json",
    ]);
    expect(code).toBe(0);
    const result = JSON.parse(out);
    expect(result).toMatchObject({
      image: `vllm/vllm-openai:v0.31.0@${DIGEST}`,
      tag: "v0.31.0",
      digest: DIGEST,
      platformDigest: PLATFORM,
      versions: WELL,
      verdict: "pass",
      written: true,
      file,
      entry: "dgx.inferenceServers.b",
      backup: `${file}.bak`,
    });
    const lines = STACK_TEXT.split("\n").map((line) => {
      if (line.startsWith("          image:"))
        return `          image: vllm/vllm-openai:v0.31.0@${DIGEST}`;
      if (!line.startsWith("          versions:")) return line;
      return `          versions: { vllm: 0.31.0, transformers: 5.16.1, evidence: read, digest: ${DIGEST}, source: "${SOURCE}", platformDigest: ${PLATFORM} }`;
    });
    expect(after.split("\n")).toEqual(lines);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(STACK_TEXT);
    // The diff is what was done.
    writeFileSync(file, STACK_TEXT);
    execFileSync("patch", ["-p1", "--silent"], { cwd: join(file, ".."), input: result.diff });
    expect(readFileSync(file, "utf8")).toBe(after);
    const { imageRecord, container } =
      plan(parseStackFile(file, after), { home: "/home/me" }).machines[0]?.inferenceServers[0] ??
      {};
    expect(container?.image).toBe(`vllm/vllm-openai:v0.31.0@${DIGEST}`);
    expect(imageRecord).toMatchObject({
      digest: DIGEST,
      versions: { vllm: "0.31.0", transformers: "5.16.1" },
      evidence: "read",
      source: SOURCE,
    });
  });

  it("shows the diff to people, keeps the file's mode, and a second time finds all of it there", async () => {
    const fake = docker("vllm/vllm-openai", WELL);
    const file = stackFile(STACK_TEXT);
    chmodSync(file, 0o640);
    const once = await runServing(
      ["pin", "vllm/vllm-openai:v0.31.0", "--write", "--file", file],
      fake.env,
    );
    expect(once.out).toContain(`\n--- a/Pulumi.dgx.yaml\n+++ b/Pulumi.dgx.yaml\n`);
    expect(once.out).toContain(`the old file is ${file}.bak`);
    expect([file, `${file}.bak`].map((each) => statSync(each).mode & 0o777)).toEqual([
      0o640, 0o640,
    ]);
    rmSync(`${file}.bak`);
    const twice = await runServing(
      ["pin", "vllm/vllm-openai:v0.31.0", "--write", "--file", file],
      fake.env,
    );
    expect([twice.code, twice.out]).toEqual([
      0,
      expect.stringContaining("has all of this already (dgx.inferenceServers.b)"),
    ]);
    expect(existsSync(`${file}.bak`)).toBe(false);
  });

  it.each([
    ["below a floor", { vllm: "0.25.1", transformers: "5.16.1" }, "below 0.26.0"],
    ["without the packages", {}, "no vLLM was found inside"],
  ])("writes nothing of an image that is refused: %s", async (_, versions, reason) => {
    const { code, out, file, after } = await pin(
      STACK_TEXT,
      ["vllm/vllm-openai:latest", "--write"],
      {
        versions,
      },
    );
    expect(code).toBe(1);
    expect(out).toContain(reason);
    expect(out).toContain("Nothing was written: the image is refused.");
    expect(after).toBe(STACK_TEXT);
    expect(readdirSync(join(file, ".."))).toEqual(["Pulumi.dgx.yaml"]);
  });

  it("pulls and writes nothing of an image whose name says that it is refused", async () => {
    const fake = docker("vllm/vllm-openai", WELL);
    const file = stackFile(STACK_TEXT);
    const args = ["pin", "vllm/vllm-openai:v0.25.1", "--write", "--file", file];
    const { code, out } = await runServing(args, fake.env);
    expect([code, out]).toEqual([
      1,
      `vllm/vllm-openai:v0.25.1
  verdict: refused
    It can't be used: its tag says vllm 0.25.1, below 0.26.0. Pin vllm 0.26.0 or newer.

Nothing was pulled or written: its name says that it is refused.
`,
    ]);
    const json = await runServing([...args, "--format", "json"], fake.env);
    expect(JSON.parse(json.out)).toMatchObject({
      image: "vllm/vllm-openai:v0.25.1",
      tag: "v0.25.1",
      digest: "",
      platformDigest: "",
      versions: {},
      verdict: "refused",
      reasons: [
        "It can't be used: its tag says vllm 0.25.1, below 0.26.0. Pin vllm 0.26.0 or newer.",
      ],
      written: false,
    });
    expect(readdirSync(join(file, ".."))).toEqual(["Pulumi.dgx.yaml"]);
  });

  it("says of a nightly that it is a development build, before it is pulled", async () => {
    const fake = docker("vllm/vllm-openai", WELL);
    const { err } = await runServing(["pin", "vllm/vllm-openai:nightly"], fake.env);
    expect(err).toContain("vllm/vllm-openai:nightly: its tag `nightly` is a development build.\n");
  });

  it("writes nothing of a vLLM that is too old for the entry's model, by the catalogue", async () => {
    const text = STACK_TEXT.replace("nvidia/Qwen3.6-35B-A3B-NVFP4", "nvidia/Qwen3.8-27B-NVFP4");
    const pinned = (vllm: string) =>
      pin(text, [`vllm/vllm-openai:v${vllm}`, "--write"], {
        versions: { vllm, transformers: "5.12.1" },
      });
    const old = await pinned("0.27.1");
    expect([old.code, old.after]).toEqual([1, text]);
    expect(old.out).toContain(
      "    nvidia/Qwen3.8-27B-NVFP4 needs vLLM 0.28.0 or newer, by the catalogue.\n",
    );
    expect((await pinned("0.28.0")).code).toBe(0);
  });

  it("writes nothing without --write, and says what would be written", async () => {
    const { code, out, file, after } = await pin(STACK_TEXT, ["vllm/vllm-openai:v0.31.0"]);
    expect([code, after]).toEqual([0, STACK_TEXT]);
    expect(out).toContain(`          image: vllm/vllm-openai:v0.31.0@${DIGEST}`);
    expect(readdirSync(join(file, ".."))).toEqual(["Pulumi.dgx.yaml"]);
  });

  it("of a bridge's image the digest alone is written", async () => {
    const text = withMachine([
      "bridge",
      { image: `ghcr.io/berriai/litellm:v1.101.0@sha256:${"ab".repeat(32)}` },
    ]);
    const repository = "ghcr.io/berriai/litellm";
    const { code, out, after } = await pin(text, [`${repository}:v1.103.0`, "--write"], {
      repository,
      versions: { litellm: "1.103.0" },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/\nNext: serving fetch --file \S+, then serving up\n$/);
    expect(after).toBe(text.replace(/litellm:v1\.101\.0@sha256:\w+/, `litellm:v1.103.0@${DIGEST}`));
  });

  it("refuses a bridge's image that is known to be bad", async () => {
    const text = withMachine([
      "bridge",
      { image: `ghcr.io/berriai/litellm:v1.101.0@sha256:${"ab".repeat(32)}` },
    ]);
    const repository = "ghcr.io/berriai/litellm";
    const { code, after } = await pin(text, [`${repository}:v1.82.7`, "--write"], {
      repository,
      versions: { litellm: "1.82.7" },
    });
    expect([code, after]).toEqual([1, text]);
  });

  it.each([
    [
      "several entries",
      TWO_SERVERS,
      [],
      "dgx.inferenceServers.b, dgx.inferenceServers.c of FILE all run images of vllm/vllm-openai. Say with --entry which one is meant.",
    ],
    [
      "no entry",
      STACK_TEXT.replace("vllm/vllm-openai:", "nvcr.io/nvidia/vllm:"),
      [],
      "No entry of FILE runs an image of vllm/vllm-openai; there are: dgx.inferenceServers.b.",
    ],
    [
      "an entry that isn't there",
      STACK_TEXT,
      ["--entry", "bridge"],
      "--entry bridge: FILE has no such entry with an image; there are: dgx.inferenceServers.b.",
    ],
  ])("asks before it pulls: %s", async (_, text, args, message) => {
    const { code, out, err, file, after, asked } = await pin(text, [
      "vllm/vllm-openai:v0.31.0",
      "--write",
      ...args,
    ]);
    expect([code, out, after]).toEqual([2, "", text]);
    expect(err).toContain(message.replace("FILE", file));
    expect(asked).toBe("");
  });

  it.each([
    ["c", "dgx.inferenceServers.c"],
    ["inferenceServers.c", "dgx.inferenceServers.c"],
    ["dgx.inferenceServers.b", "dgx.inferenceServers.b"],
  ])("writes to the entry that is named: %s", async (entry, name) => {
    const args = ["vllm/vllm-openai:v0.31.0", "--write", "--entry", entry, "--format", "json"];
    const { code, out, file, after } = await pin(TWO_SERVERS, args);
    expect([code, JSON.parse(out).entry]).toEqual([0, name]);
    const images = parseStackFile(file, after).machines.dgx?.inferenceServers ?? {};
    const pinned = Object.entries(images).filter(([, { image }]) => image.includes(DIGEST));
    expect(pinned.map(([key]) => `dgx.inferenceServers.${key}`)).toEqual([name]);
    // A server without a record of versions gets one.
    expect(pinned[0]?.[1].versions).toEqual({
      vllm: "0.31.0",
      transformers: "5.16.1",
      evidence: "read",
      digest: DIGEST,
      platformDigest: PLATFORM,
      source: SOURCE,
    });
  });

  it("changes an entry to another repository where it is named", async () => {
    const text = STACK_TEXT.replace("vllm/vllm-openai:", "nvcr.io/nvidia/vllm:");
    const { code, after } = await pin(text, [
      "vllm/vllm-openai:v0.31.0",
      "--write",
      "--entry",
      "b",
    ]);
    expect(code).toBe(0);
    expect(after).toContain(`image: vllm/vllm-openai:v0.31.0@${DIGEST}\n`);
  });

  it("keeps Windows' line ends", async () => {
    const text = STACK_TEXT.replaceAll("\n", "\r\n");
    const { code, after } = await pin(text, ["vllm/vllm-openai:v0.31.0", "--write"]);
    expect(code).toBe(0);
    expect(after.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  });

  it("leaves the stack file as it is where its backup can't be made", async () => {
    const fake = docker("vllm/vllm-openai", WELL);
    const file = stackFile(STACK_TEXT);
    mkdirSync(`${file}.bak`);
    const { code, err } = await runServing(
      ["pin", "vllm/vllm-openai:v0.31.0", "--write", "--file", file],
      fake.env,
    );
    expect(code).toBe(2);
    expect(err).toContain(".bak: not a regular file, so it stays as it is");
    expect(readFileSync(file, "utf8")).toBe(STACK_TEXT);
    expect(readdirSync(join(file, "..")).sort()).toEqual([
      "Pulumi.dgx.yaml",
      "Pulumi.dgx.yaml.bak",
    ]);
  });

  it("writes into the file as it is by then, and nothing where its entry is gone", () => {
    const reading = {
      image: `vllm/vllm-openai:v0.31.0@${DIGEST}`,
      tag: "v0.31.0",
      digest: DIGEST,
      platformDigest: PLATFORM,
      versions: WELL,
    };
    const entry = {
      machine: "dgx",
      path: ["inferenceServers", "c"],
      image: "",
      recordsVersions: true,
    };
    const edited = stackFile(
      TWO_SERVERS.replace("# Instance B.", "# Edited while the image came."),
    );
    writePin(edited, entry, reading);
    expect(readFileSync(edited, "utf8")).toContain("# Edited while the image came.");
    const gone = stackFile(STACK_TEXT);
    expect(() => writePin(gone, entry, reading)).toThrow(
      "has no dgx.inferenceServers.c any more: nothing was written",
    );
    expect(readFileSync(gone, "utf8")).toBe(STACK_TEXT);
  });

  it("is wrong use without a tag, or with a stack file that isn't there", async () => {
    const fake = docker("vllm/vllm-openai", WELL);
    for (const args of [
      ["vllm/vllm-openai", "--write"],
      ["vllm/vllm-openai:v1", "--write", "--file", "/nowhere.yaml"],
    ]) {
      expect((await runServing(["pin", ...args], fake.env)).code).toBe(2);
    }
    expect(readFileSync(fake.asked, "utf8")).toBe("");
  });
});
