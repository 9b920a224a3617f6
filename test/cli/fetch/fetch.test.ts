import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { downloadLine } from "../../../cli/fetch/progress";
import {
  AGAIN,
  explained,
  type FetchTarget,
  pullExplained,
  whyNot,
} from "../../../components/preflight/fetch/causes";
import type { Needs } from "../../../components/preflight/fetch/needs";
import { roomDoubt, roomProblem } from "../../../components/preflight/fetch/room";
import { FakeSsh } from "../../layers/fakeSsh";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT } from "../doctor/stack";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";
import { COMMIT, MODEL, StandInHub } from "./standInHub";

const OWN = `sha256:${"e".repeat(64)}`;
const OLDER = `sha256:${"f".repeat(64)}`;
const layer = (letter: string, size: number) => ({ digest: `sha256:${letter.repeat(64)}`, size });
const IMAGE = /image: (\S+)/.exec(STACK_TEXT)?.[1] ?? "";

/**
 * An engine that has an older image of the same repository, one of whose layers is the new one's
 * too.
 */
const ENGINE = {
  info: { out: JSON.stringify({ DockerRootDir: "/", SecurityOptions: [] }) },
  version: { out: "linux/arm64\n" },
  "image inspect": { err: "Error: No such image", code: 1 },
  "images --digests": { out: `vllm/vllm-openai@${OLDER}\nvllm/vllm-openai@<none>\n` },
  [`manifest inspect vllm/vllm-openai@${OWN}`]: {
    out: JSON.stringify({ layers: [layer("a", 5e6), layer("b", 7e6), layer("c", 2e6)] }),
  },
  [`manifest inspect vllm/vllm-openai@${OLDER}`]: {
    out: JSON.stringify({ layers: [layer("a", 5e6)] }),
  },
  "manifest inspect": {
    out: JSON.stringify({
      manifests: [
        { digest: OLDER, platform: { os: "linux", architecture: "amd64" } },
        { digest: OWN, platform: { os: "linux", architecture: "arm64" } },
      ],
    }),
  },
};

interface Setting {
  readonly engine?: ConstructorParameters<typeof FakeDocker>[0];
  readonly text?: string;
  readonly hub?: StandInHub;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly cache?: string;
  readonly ssh?: FakeSsh;
}

async function fetch(setting: Setting) {
  const { engine = {}, text = STACK_TEXT, hub = new StandInHub(1000), args = [], env } = setting;
  const folder = temporaryFolder("fetch-");
  const { cache = join(folder, "cache") } = setting;
  const file = join(folder, "Pulumi.test.yaml");
  const changed = text
    .replace("totalGiB: 121.63", `totalGiB: 121.63\n      modelCache: ${cache}`)
    .replace(/id: nvidia\/\S+\n *family: qwen3/, `id: ${MODEL}`);
  writeFileSync(file, changed);
  const { url } = await httpServer((request, response) => void hub.answer(request, response));
  const fake = new FakeDocker({ ...engine, ...ENGINE });
  const path = [setting.ssh?.folder ?? "", fake.env.PATH].filter(Boolean).join(delimiter);
  const run = await runServing(["fetch", "--file", file, ...args], {
    PATH: path,
    HF_ENDPOINT: url,
    ...env,
  });
  return { ...run, cache, asked: readFileSync(fake.asked, "utf8") };
}

describe("serving fetch", () => {
  it("--check says what is missing, by the registry and the hub, without layers that are here, and changes nothing", async () => {
    const { code, out, asked, cache } = await fetch({ args: ["--check", "--format", "json"] });
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      machine: "dgx",
      complete: false,
      problems: [],
      missing: {
        images: [{ image: IMAGE, bytes: 9e6 }],
        models: [{ id: MODEL, revision: null, bytes: 2000 + 127 }],
      },
    });
    expect(existsSync(cache)).toBe(false);
    expect(asked).not.toMatch(/ (pull|run) /);
  });

  it("counts what lies in the cache, whole or begun", async () => {
    const hub = new StandInHub(1000);
    const cache = temporaryFolder("cache-");
    const blobs = join(cache, "hub/models--org--model/blobs");
    mkdirSync(blobs, { recursive: true });
    const [first = "", second = ""] = [...hub.files].flatMap(([path, { etag }]) =>
      path.endsWith(".safetensors") ? [etag] : [],
    );
    writeFileSync(join(blobs, first), "x".repeat(1000));
    writeFileSync(join(blobs, `${second}.incomplete`), "x".repeat(300));
    const { out } = await fetch({ hub, cache, args: ["--check", "--format", "json"] });
    expect(JSON.parse(out).missing.models).toEqual([
      { id: MODEL, revision: null, bytes: 700 + 127 },
    ]);
  });

  it("pulls what is missing, then downloads the model in that image, the token by name and never in an argument", async () => {
    const hub = new StandInHub(1000);
    hub.behaviour = { token: "hf_GoodGoodGood1" };
    const text = STACK_TEXT.replace(
      "versions:",
      "huggingFaceTokenVariable: MY_TOKEN\n          versions:",
    ).replace("weightsGB: 22", `revision: ${COMMIT}`);
    const { code, err, asked } = await fetch({
      ...{
        hub,
        text,
        engine: { pull: { out: `${"b".repeat(12)}: Pull complete\n` }, "run --rm": {} },
      },
      env: { MY_TOKEN: "hf_GoodGoodGood1" },
    });
    expect([code, [...hub.tokens]]).toEqual([0, ["hf_GoodGoodGood1"]]);
    expect(asked).toContain(`pull ${IMAGE}`);
    expect(asked).toMatch(
      /run --rm --pull never --name local-serving-fetch-\w{8} --network host --user \d+:\d+ /,
    );
    expect(asked).toContain(`--env-file /dev/stdin --entrypoint python3 ${IMAGE} -c `);
    expect(asked).toContain(
      `download ${MODEL} --revision ${COMMIT} --exclude original/* --exclude metal/*`,
    );
    expect(asked).not.toContain("GoodGood");
    expect(asked).not.toContain("--gpus");
    expect(err).toContain(`${IMAGE}: 7 MB of 9 MB`);
  });

  it("ends with one sentence where an image doesn't come, and begins no model", async () => {
    const { code, out, asked } = await fetch({
      engine: { pull: { err: "toomanyrequests: You have reached your pull rate limit.", code: 1 } },
    });
    expect([code, out]).toEqual([
      1,
      `The image ${IMAGE} could not be fetched: the registry refuses further pulls from this address for now (rate limit). Wait, or log in with \`docker login\`, then run \`serving fetch\`, which continues where it stopped.\n  Docker said: toomanyrequests: You have reached your pull rate limit.\n`,
    ]);
    expect(asked).not.toContain("run --rm");
  });

  it("refuses before anything is pulled where a revision isn't there", async () => {
    const wrong = "d".repeat(40);
    const { code, out, asked } = await fetch({
      text: STACK_TEXT.replace("weightsGB: 22", `revision: ${wrong}`),
    });
    expect(code).toBe(1);
    expect(out).toContain(
      `the hub has no revision ${wrong} of this model. Correct \`model.revision\``,
    );
    expect(asked).not.toMatch(/ (pull|run) /);
  });

  it("brings an adapter of the hub at its commit, which is refused by its own setting", async () => {
    const withAdapter = (revision: string) =>
      STACK_TEXT.replace(
        "versions:",
        `adapters: [{name: tone, id: ${MODEL}, revision: ${revision}, rank: 8}]\n          versions:`,
      );
    const brought = await fetch({
      text: withAdapter(COMMIT),
      engine: { pull: { out: "" }, "run --rm": {} },
    });
    expect(brought.code).toBe(0);
    expect(brought.asked.match(/download org\/\S+(?: --revision \S+)?/g)).toEqual([
      `download ${MODEL}`,
      `download ${MODEL} --revision ${COMMIT}`,
    ]);
    const wrong = "d".repeat(40);
    const { code, out } = await fetch({ text: withAdapter(wrong), args: ["--check"] });
    expect(code).toBe(1);
    expect(out).toContain(
      `the hub has no revision ${wrong} of this model. Correct \`model.revision\``,
    );
  });

  it("takes the size of the stack file where there is no network, and says so", async () => {
    const { out } = await fetch({ args: ["--check"], env: { HF_ENDPOINT: "http://127.0.0.1:9" } });
    expect(out).toContain(`model ${MODEL}  22.0 GB`);
  });

  it("asks another computer over ssh, and not this one", async () => {
    const ssh = new FakeSsh();
    const text = STACK_TEXT.replace(
      "totalGiB: 121.63",
      `totalGiB: 121.63\n      dockerHost: ssh://me@dgx\n      home: ${realpathSync(homedir())}`,
    );
    const cache = temporaryFolder("cache-");
    const snapshot = join(cache, "hub/models--org--model/snapshots", COMMIT);
    mkdirSync(snapshot, { recursive: true });
    for (const [path, { body }] of new StandInHub(1000).files) {
      mkdirSync(dirname(join(snapshot, path)), { recursive: true });
      writeFileSync(join(snapshot, path), body);
    }
    const args = ["--check", "--format", "json"];
    const { code, out, err, asked } = await fetch({ text, cache, args, ssh });
    expect([code, err]).toEqual([1, ""]);
    expect(JSON.parse(out)).toMatchObject({
      missing: { images: [{ image: IMAGE, bytes: 9e6 }], models: [] },
    });
    expect(asked).toMatch(/^ info /);
    expect(new Set(ssh.asked().map((each) => each.split(" ")[0]))).toEqual(
      new Set(["ssh://me@dgx"]),
    );
    expect(ssh.asked().join()).toContain("find -L");
  });

  it("says how to get to a machine that ssh doesn't reach", async () => {
    const text = STACK_TEXT.replace(
      "totalGiB: 121.63",
      "totalGiB: 121.63\n      dockerHost: ssh://me@dgx",
    );
    const { code, err, asked } = await fetch({
      text,
      ssh: new FakeSsh("Host key verification failed."),
    });
    expect([code, asked]).toEqual([1, ""]);
    expect(err).toContain("Run `ssh me@dgx` once and compare the key");
  });
});

describe("the room on the disks", () => {
  const needs = (...disks: Needs["disks"]): Needs => ({
    images: [{ kind: "image", name: "i", bytes: 10e9, layers: new Map() }],
    models: [{ kind: "model", name: "m", bytes: 22e9, cache: "/c", image: "i" }],
    disks,
    rootless: false,
  });

  it("is refused by the byte, with the figures and what to do", () => {
    const disk = { paths: ["/var/lib/docker", "/c"], neededBytes: 52e9 };
    expect(roomProblem(needs({ ...disk, freeBytes: 52e9 }))).toBeUndefined();
    expect(roomProblem(needs({ ...disk, freeBytes: 40e9 }))).toBe(
      "40.0 GB of disk are free, 52.0 GB are needed (/var/lib/docker, /c). Missing: 10.0 GB of images, which take 3 times as much unpacked; 22.0 GB of models. Free 12.0 GB (`serving status --leftovers` lists what nothing uses), or set `modelCache` to a folder on another disk.",
    );
  });

  it("is doubted, and not refused, where only an estimate of an image doesn't fit", () => {
    const room = {
      images: [{ estimatedBytes: 20e9 }],
      models: [{ bytes: 61e9 }],
      disks: [{ paths: ["/c"], freeBytes: 70e9, neededBytes: 61e9, estimatedBytes: 20e9 }],
    };
    expect(roomProblem(room)).toBeUndefined();
    expect(roomDoubt(room)).toBe(
      "70.0 GB of disk are free, about 81.0 GB are needed (/c). Missing: about 20.0 GB for images whose size isn't known; 61.0 GB of models. Free 11.0 GB (`serving status --leftovers` lists what nothing uses), or set `modelCache` to a folder on another disk.",
    );
  });
});

describe("the cause of what didn't come", () => {
  const image: FetchTarget = { kind: "image", name: "ghcr.io/berriai/litellm:v1" };
  const model: FetchTarget = { kind: "model", name: MODEL, tokenVariable: "MY_TOKEN" };

  it.each<[string, FetchTarget, string]>([
    ["dial tcp: lookup ghcr.io: no such host", image, "the registry can't be reached"],
    [
      "net/http: request canceled while waiting (Client.Timeout exceeded)",
      image,
      "the registry can't be reached",
    ],
    [
      "manifest for ghcr.io/x:v9 not found: manifest unknown: manifest unknown",
      image,
      "no such tag or digest",
    ],
    ["no such manifest: ghcr.io/x:v9", image, "no such tag or digest"],
    [
      "pull access denied for x, repository does not exist or may require 'docker login'",
      image,
      "`docker login ghcr.io`",
    ],
    ["unauthorized: authentication required", image, "`docker login ghcr.io`"],
    ["toomanyrequests: You have reached your pull rate limit", image, "rate limit"],
    ["write /var/lib/docker/tmp/GetImageBlob1: no space left on device", image, "the disk is full"],
    [
      "permission denied while trying to connect to the Docker daemon socket",
      image,
      "Join the group `docker`",
    ],
    ["Error: Repository 'org/model' not found.", model, "the token in MY_TOKEN is not accepted"],
    ["Error: Revision not found in model 'org/model'.", model, "the hub has no revision main"],
    ["Error: Access denied. Model 'org/model' requires approval.", model, "the model is gated"],
    [
      "RepositoryNotFoundError: 404 Client Error.\nRepository Not Found for url: https://huggingface.co/x.\nIf you are trying to access a private or gated repo, make sure you are authenticated.",
      model,
      "the hub has no such model",
    ],
    ["HTTP Error 429 Too Many Requests", model, "rate limit). Wait some minutes, or"],
    [
      "HfHubHTTPError: 429 Too Many Requests: you have reached your 'api' rate limit.\nRetry after 55 seconds.\nLocalEntryNotFoundError: An error happened, and we cannot find the appropriate snapshot folder.",
      model,
      "rate limit). Wait 55 s, or",
    ],
    ["500 Internal Server Error", model, "the hub answers with a server error. Wait some minutes"],
    [
      "received unexpected HTTP status: 503 Service Unavailable",
      image,
      "the registry, or Docker itself, answers with a server error",
    ],
    ["OSError: [Errno 28] No space left on device", model, "the disk is full"],
    [
      "PermissionError: [Errno 13] Permission denied: '/cache/hub'",
      model,
      "belongs to another user",
    ],
    [
      "Local entry not found. An error happened while trying to locate the files",
      model,
      "the hub can't be reached",
    ],
    [
      "  line 404, in repository_not_found\nRemoteProtocolError: peer closed connection without sending",
      model,
      "the hub can't be reached",
    ],
    ["something new", model, "something new"],
    [
      'Get "https://r.example/v2/": tls: failed to verify certificate: x509: unknown authority',
      image,
      "Docker doesn't trust the registry's certificate",
    ],
    [
      "provider=docker@5.2.0\n",
      image,
      "the Docker provider doesn't say why. `serving fetch` names the cause",
    ],
  ])("is told of %j", (words, of, told) => {
    const sentence = explained(of, words);
    expect(sentence).toContain(told);
    expect(sentence).toMatch(/then run `serving fetch`, which continues where it stopped\.$/);
  });
});

describe("why an image didn't come", () => {
  const image = { kind: "image", name: "a/b:1" } as const;
  const refused = 'Error response from daemon: Get "https://r/v2/": dial tcp: no such host';

  it("is said with the command that brought it, and Docker's own last words", () => {
    expect(pullExplained(image, `1: Pulling\n${refused}`, AGAIN.up)).toBe(
      "The image a/b:1 could not be fetched: the registry can't be reached. Check the network (and Docker's own proxy), then run `serving up` again, which continues where it stopped.\n  Docker said: Error response from daemon: Get \"https://r/v2/\": dial tcp: no such host",
    );
    expect(pullExplained(image, "something new")).not.toContain("Docker said");
  });

  it("is a clause where its size is asked", () => {
    expect(whyNot(image, refused)).toBe(
      'the registry can\'t be reached: Error response from daemon: Get "https://r/v2/": dial tcp: no such host',
    );
    expect(whyNot(image, "something new")).toBe("something new");
  });
});

describe("progress", () => {
  const of = { kind: "model", name: "m", bytes: 22e9 } as const;
  it("says bytes, rate and what is left, once there is a rate", () => {
    expect(downloadLine(of, 2e9, 20)).toBe("m: 2.0 GB of 22.0 GB, 100 MB/s, 3 min 20 s left");
    expect(downloadLine(of, 150, 20)).toBe("m: 1 MB of 22.0 GB, 1 MB/s");
  });
});
