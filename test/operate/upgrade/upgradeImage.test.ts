import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { parseStackFile } from "../../../components/settings/load";
import { readStack } from "../../../operate/stack/readStack";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT, withMachine } from "../doctor/stack";
import { FakeDocker } from "../fakeDocker";
import { digestOf, standInRegistry } from "../pin/standInRegistry";
import { runServing } from "../runServing";

const VLLM = "vllm/vllm-openai";
/** Known digests of vLLM's own images. */
const OWN = {
  "v0.29.0": "sha256:c2914767605584b6d8f45686b82de173ecc99e781897aa3d0a66dacd72c51ae1",
  "v0.30.0": "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
};
const PLATFORM = `sha256:${"e".repeat(64)}`;
/** Docker that isn't there: a page needs none. */
const NO_DOCKER = { PATH: "/nowhere" };

/** A Docker that pulls each image, with these versions inside. */
const docker = (versions: object) =>
  new FakeDocker({
    pull: { out: "" },
    "manifest inspect": {
      out: JSON.stringify({
        manifests: [{ digest: PLATFORM, platform: { os: "linux", architecture: "arm64" } }],
      }),
    },
    version: { out: "linux/arm64\n" },
    "run --rm": { out: JSON.stringify(versions) },
  });

/** A stack file in a folder of its own, which is the operator's home, too. */
function stackFile(text: string) {
  const home = temporaryFolder("upgrade-image-");
  const file = join(home, "Pulumi.dgx.yaml");
  writeFileSync(file, text);
  return { home, file, text };
}

/** The stack file with vLLM's image in a registry of these tags. */
async function withVllm(
  tags: readonly string[],
  { pinned = "v0.30.0", text = STACK_TEXT }: { pinned?: keyof typeof OWN; text?: string } = {},
) {
  const { address } = await standInRegistry(VLLM, tags, { digests: OWN });
  const image = `${address}/${VLLM}:${pinned}@${OWN[pinned]}`;
  const own = text
    .replace(/vllm\/vllm-openai:\S+/, image)
    .replace(/digest: sha256:\w+/, `digest: ${OWN[pinned]}`)
    .replace("vllm: 0.30.0", `vllm: ${pinned.slice(1)}`);
  return { address, image, ...stackFile(own) };
}

type Scene = ReturnType<typeof stackFile>;

const upgrade = ({ file, home }: Scene, args: readonly string[], env = {}) =>
  runServing(["upgrade", ...args, "--file", file], { ...NO_DOCKER, HOME: home, ...env });

async function data(scene: Scene, args: readonly string[], env = {}) {
  const { code, out } = await upgrade(scene, [...args, "--format", "json"], env);
  return { code, ...JSON.parse(out) };
}

/** The lines of a page below a title. */
function below(out: string, title: string): string[] | undefined {
  const [, ...lines] =
    out
      .split("\n\n")
      .find((part) => part.startsWith(title))
      ?.split("\n") ?? [];
  return lines.length === 0 ? undefined : lines.map((line) => line.trim());
}

/** The command below a line of a page, as words behind `serving`. */
function commandIn(out: string, start: string): string[] {
  const line = out.split("\n").find((each) => each.startsWith(`  serving ${start} `)) ?? "";
  return line.trim().split(" ").slice(1);
}

describe("serving upgrade NAME", () => {
  it("is one page of what a newer vLLM would change, and changes nothing", async () => {
    const scene = await withVllm(["v0.29.0", "v0.30.0", "v0.32.0", "v0.33.0"]);
    const { code, out } = await upgrade(scene, ["b"]);
    const newest = `${scene.address}/${VLLM}:v0.33.0@${digestOf("v0.33.0")}`;
    expect(code).toBe(0);
    expect(below(out, "dgx.inferenceServers.b: 0.30.0 -> 0.33.0")).toEqual([
      `It runs \`${scene.image}\`. The newest release that may run is \`${newest}\`.`,
    ]);
    expect(below(out, "What is inside")).toEqual([
      "The image has not been read: vllm 0.33.0 is taken from its tag, and transformers 5.16.1 is assumed. `--write` pulls the image and reads both.",
      "Transformers: vLLM 0.33.0 asks for >=5.16.1,<5.21; vLLM 0.30.0 asks for >=5.10.4.",
    ]);
    expect(below(out, "What vLLM 0.33.0 makes of its arguments")?.[0]).toBe(
      "vLLM 0.33.0 has every flag, value and variable that is set here.",
    );
    expect(below(out, "What vLLM 0.33.0 makes of its arguments")?.slice(-2)).toEqual([
      "`--disable-cascade-attn` isn't set here, and its default changes: `true` -> left to vLLM.",
      '`--mamba-cache-mode` isn\'t set here, and its default changes: `"none"` -> left to vLLM.',
    ]);
    expect(below(out, "Nothing is applied yet")).toHaveLength(1);
    expect(below(out, "What changes on dgx")?.[0]).toContain("is replaced: `image` ");
    // The rules of the KV cache are others from 0.33 on.
    expect(out).toMatch(
      /KV cache of b: ([\d.]+ to [\d.]+) GiB, [\d.]+ to [\d.]+ windows of 262144 tokens -> \1 GiB, [\d.]+ to [\d.]+ windows/,
    );
    expect(below(out, "Findings on the changed stack file")).toEqual([
      "None is new, and none is gone.",
    ]);
    expect(below(out, "Refused")).toBeUndefined();
    expect(out).toMatch(
      /\nNext:\n {2}serving upgrade --file \S+ b --write\n {2}serving up .*--verified\n$/,
    );
    expect(readFileSync(scene.file, "utf8")).toBe(scene.text);
  });

  it("has all of it as data", async () => {
    const scene = await withVllm(["v0.30.0", "v0.33.0"]);
    const { code, change, ...found } = await data(scene, ["b"]);
    expect({ code, ...found }).toEqual({
      code: 0,
      version: 1,
      name: "b",
      entry: "dgx.inferenceServers.b",
      image: scene.image,
      pinned: "0.30.0",
      newest: "0.33.0",
      isNewer: true,
      newImage: `${scene.address}/${VLLM}:v0.33.0@${digestOf("v0.33.0")}`,
      denied: [],
      versions: { vllm: "0.33.0", transformers: "5.16.1" },
      evidence: "tag",
      transformers: { before: ">=5.10.4", after: ">=5.16.1,<5.21" },
      engine: {
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
      applied: null,
      verdict: "pass",
      reasons: [],
      refused: [],
      written: false,
      diff: "",
      backup: "",
    });
    const [{ kv, containers }] = change.machines;
    expect(containers.map(({ key, kind }: Record<string, string>) => [key, kind])).toEqual([
      ["b", "replaced"],
    ]);
    expect(kv.b.before.fullWindows.least).toBeGreaterThan(kv.b.after.fullWindows.least);
    expect(change.findings).toEqual({ new: [], gone: [] });
  });

  it("says what is replaced of what is applied", async () => {
    const scene = await withVllm(["v0.30.0", "v0.31.0"]);
    const older = parseStackFile(scene.file, scene.text.replace("port: 8000", "port: 8009"));
    const [machine] = plan(older, { home: scene.home }).machines;
    for (const { role, path, text } of machine?.files ?? []) {
      if (role !== "applied-plan") continue;
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    const { out } = await upgrade(scene, ["b"]);
    expect(below(out, "Nothing is applied yet")).toBeUndefined();
    expect(below(out, "What changes on dgx")?.[0]).toContain("is replaced: `image` ");
    const { applied } = await data(scene, ["b"]);
    expect(applied[0].containers[0]).toMatchObject({ key: "b", kind: "replaced" });
  });

  it("with --write pulls it, writes what was read, and names the way on", async () => {
    const scene = await withVllm(["v0.30.0", "v0.31.0"]);
    const page = await upgrade(scene, ["b"]);
    const fake = docker({ vllm: "0.31.0", transformers: "5.17.1", torch: "2.13.0" });
    // The command as the page says it.
    const { code, out } = await runServing(commandIn(page.out, "upgrade"), {
      ...fake.env,
      HOME: scene.home,
    });
    expect(code).toBe(0);
    const image = `${scene.address}/${VLLM}:v0.31.0@${digestOf("v0.31.0")}`;
    expect(readFileSync(fake.asked, "utf8")).toContain(
      `pull ${scene.address}/${VLLM}@${digestOf("v0.31.0")}`,
    );
    expect(below(out, "What is inside")?.[0]).toBe(
      "Read inside it: vllm 0.31.0, transformers 5.17.1.",
    );
    const { settings } = readStack(scene.file);
    const b = settings.machines.dgx?.inferenceServers.b;
    expect([b?.image, b?.versions]).toEqual([
      image,
      {
        vllm: "0.31.0",
        transformers: "5.17.1",
        evidence: "read",
        digest: digestOf("v0.31.0"),
        platformDigest: PLATFORM,
        source: `serving pin, ${PLATFORM.slice(0, 19)}`,
      },
    ]);
    expect(readFileSync(`${scene.file}.bak`, "utf8")).toBe(scene.text);
    expect(out).toContain(
      `${scene.file} is written (dgx.inferenceServers.b); the old file is ${scene.file}.bak.`,
    );
    expect(out).toMatch(/\n\nNext:\n {2}serving up .*--verified\n$/);
    const again = await upgrade(scene, ["b"]);
    expect([again.code, again.out]).toEqual([
      0,
      `dgx.inferenceServers.b runs ${scene.address}/${VLLM}:v0.31.0, the newest release.\n`,
    ]);
  });

  it("writes nothing that would be refused, and names the command that does", async () => {
    const text = STACK_TEXT.replace(
      "          moeBackend: marlin\n",
      '          moeBackend: marlin\n          extraArgs: ["--enable-bf16x3-router-gemm"]\n          environment: { VLLM_NIXL_EP_MAX_NUM_RANKS: "2" }\n',
    );
    const scene = await withVllm(["v0.29.0", "v0.30.0"], { pinned: "v0.29.0", text });
    const page = await upgrade(scene, ["b"]);
    expect(page.code).toBe(1);
    expect(below(page.out, "What vLLM 0.30.0 makes of its arguments")).toEqual([
      "vLLM 0.30.0 has no flag `--enable-bf16x3-router-gemm`. Remove it.",
      "vLLM 0.30.0 has no variable `VLLM_NIXL_EP_MAX_NUM_RANKS`, which 0.23.0 to 0.29.0 had: it does nothing. Remove it.",
      "The defaults of vLLM 0.29.0 aren't recorded here: the release notes name those that changed.",
    ]);
    expect(below(page.out, "Refused")).toEqual([
      expect.stringMatching(/^refused by engine-names .*no flag `--enable-bf16x3-router-gemm`/),
    ]);
    const fake = docker({ vllm: "0.30.0", transformers: "5.10.4" });
    const env = { ...fake.env, HOME: scene.home };
    const { code, out } = await upgrade(scene, ["b", "--write"], env);
    expect(code).toBe(1);
    expect(out).toContain("\nNothing was written: the stack file would be refused.");
    expect(out).not.toContain("--verified");
    expect(readFileSync(scene.file, "utf8")).toBe(scene.text);
    expect(existsSync(`${scene.file}.bak`)).toBe(false);
    const pinned = await runServing(commandIn(out, "pin"), env);
    expect(pinned.code).toBe(0);
    expect(readFileSync(scene.file, "utf8")).toContain(`v0.30.0@${OWN["v0.30.0"]}`);
  });

  it("writes no image that is refused once it was read", async () => {
    const scene = await withVllm(["v0.30.0", "v0.31.0"]);
    const fake = docker({ vllm: "0.31.0", transformers: "5.20.0" });
    const { code, out } = await upgrade(scene, ["b", "--write"], fake.env);
    expect(code).toBe(1);
    expect(below(out, "What is inside")?.at(-1)).toContain(
      "holds transformers 5.20.0, but vLLM 0.31.0 asks for >=5.10.4,<5.18",
    );
    expect(out).toMatch(/\nNothing was written: the image is refused\.\n$/);
    expect(readFileSync(scene.file, "utf8")).toBe(scene.text);
  });

  it("says that nothing is known of a vLLM without engine data", async () => {
    const { out } = await upgrade(await withVllm(["v0.30.0", "v0.34.0"]), ["b"]);
    expect(below(out, "What vLLM 0.34.0 makes of its arguments")).toEqual([
      "There is no engine data for vLLM 0.34.0, so its flags, values and variables are not known; the nearest data are for 0.33.0.",
    ]);
    expect(below(out, "What is inside")?.[1]).toBe(
      "Transformers: what vLLM 0.34.0 asks for is not known; vLLM 0.30.0 asks for >=5.10.4.",
    );
  });
});

describe("serving upgrade of a service", () => {
  /** The stack file with a service whose image is in a registry of these tags. */
  async function withService(
    key: "bridge" | "chatUi",
    repository: string,
    tags: readonly string[],
  ) {
    const { address } = await standInRegistry(repository, tags);
    const [tag = ""] = tags;
    const image = `${address}/${repository}:${tag}@${digestOf(tag)}`;
    return { address, ...stackFile(withMachine([key, { image }])) };
  }

  it("is the same page for the bridge, without what is refused", async () => {
    const scene = await withService("bridge", "berriai/litellm", [
      "v1.80.0",
      "v1.82.7",
      "v1.83.0",
      "v1.103.0",
      "v1.109.1",
    ]);
    const { code, out } = await upgrade(scene, ["bridge"]);
    expect(code).toBe(0);
    expect(below(out, "dgx.bridge: 1.80.0 -> 1.109.1")).toHaveLength(1);
    expect(below(out, "What is inside")).toEqual([
      "The lowest release of LiteLLM that may run is 1.84.0, by the supply list.",
    ]);
    expect(below(out, "Findings on the changed stack file")?.[0]).toMatch(
      /^Gone: refused by deny-list/,
    );
    expect(out).not.toContain("KV cache of");
    const written = await upgrade(scene, ["bridge", "--write"], docker({ litellm: "1.109.1" }).env);
    expect(written.code).toBe(0);
    expect(readFileSync(scene.file, "utf8")).toContain(
      `image: ${scene.address}/berriai/litellm:v1.109.1@${digestOf("v1.109.1")}`,
    );
  });

  it("says where no newer release may run, and why", async () => {
    const scene = await withService("bridge", "berriai/litellm", ["v1.81.0", "v1.82.8"]);
    const { code, out } = await upgrade(scene, ["bridge"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^dgx\.bridge runs \S+:v1\.81\.0, and no newer release may run\.\n1\.82\.8 is newer and refused: these releases were compromised/,
    );
    expect(await data(scene, ["bridge"])).toMatchObject({
      isNewer: false,
      newest: null,
      denied: [{ version: "1.82.8", why: expect.stringContaining("compromised") }],
      written: false,
    });
  });

  it("says of the chat UI that its data are copied first, whichever name it is called by", async () => {
    const scene = await withService("chatUi", "open-webui/open-webui", ["v0.11.3", "v0.12.4"]);
    for (const name of ["chat-ui", "chatUi", "dgx.chat-ui"]) {
      const { code, out } = await upgrade(scene, [name]);
      expect(code).toBe(0);
      expect(below(out, "What is inside")?.[1]).toBe(
        "Its data are copied before its image changes: Open WebUI migrates its database one way.",
      );
    }
  });

  it("takes an Ollama inside the chat UI for the chat UI's image", async () => {
    const tags = ["v0.11.3-ollama", "v0.12.4", "v0.12.4-ollama"];
    const scene = await withService("chatUi", "open-webui/open-webui", tags);
    const text = scene.text.replace(
      /^( +)instanceA:/m,
      '$1simpleServer: { mode: integrated, models: ["gemma3:1b"] }\n$1instanceA:',
    );
    writeFileSync(scene.file, text);
    const { code, out } = await upgrade(scene, ["ollama"]);
    expect(code).toBe(0);
    expect(below(out, "dgx.chatUi: 0.11.3 -> 0.12.4")).toEqual([
      "simple-server runs inside chat-ui: its image is that of chat-ui.",
      expect.stringContaining(`:v0.12.4-ollama@${digestOf("v0.12.4-ollama")}`),
    ]);
  });
});

describe("serving upgrade of what has no image", () => {
  const HOST = STACK_TEXT.replace(
    /^( +)instanceA:/m,
    "$1simpleServer: { mode: host }\n$1instanceA:",
  );
  it.each([
    ["a", "Instance A is only counted here: whoever runs it upgrades it the way it was installed."],
    [
      "simple-server",
      "Ollama runs on dgx in no container of ours: upgrade it there the way it was installed.",
    ],
  ])("says of %s what upgrades it", async (name, start) => {
    const scene = stackFile(HOST);
    const said = `${start} \`serving verify ${name}\` checks it afterwards.`;
    expect(await upgrade(scene, [name])).toMatchObject({ code: 0, out: `${said}\n`, err: "" });
    expect(await data(scene, [name])).toEqual({
      ...{ code: 0, version: 1, name, entry: null, image: null, message: said },
    });
    expect(await upgrade(scene, [name, "--write"])).toMatchObject({ code: 2, out: "" });
    // What the sentence says to write is a name that `verify` takes.
    const verified = await runServing(["verify", name, "--file", scene.file, "--only", "chat"], {
      HOME: scene.home,
    });
    expect(verified.err).not.toContain("Nothing in the stack file is called");
    expect(verified.code).toBeLessThan(2);
  });

  it("is wrong use with a name that nothing has, or with --no-install", async () => {
    const scene = stackFile(STACK_TEXT);
    expect(await upgrade(scene, ["vllm"])).toMatchObject({
      code: 2,
      err: "Nothing in the stack file is called vllm. There is: b, instance-a.\n",
    });
    expect(await upgrade(scene, ["b", "--no-install"])).toMatchObject({
      code: 2,
      err: "--no-install belongs to local-serving itself: leave out b.\n",
    });
  });

  it("says why a registry tells nothing", async () => {
    const text = STACK_TEXT.replace(/vllm\/vllm-openai:/, "localhost:1/vllm/vllm-openai:");
    const { code, out } = await upgrade(stackFile(text), ["b"]);
    expect([code, out]).toEqual([
      1,
      "dgx.inferenceServers.b: localhost:1: nothing listens there (connection refused).\n",
    ]);
  });
});
