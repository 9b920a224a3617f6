import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readModels } from "../../components/evidence/readModels";
import { ELSEWHERE, stack } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";

let root: string;
beforeEach(() => {
  root = temporaryFolder("models-");
});

const REPOSITORY = "home/.cache/huggingface/hub/models--org--model";
const read = () => readModels(stack(), join(root, "project"), join(root, "home"))["org/model"];

function file(path: string, content: unknown): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
}

describe("what is known of a model", () => {
  it("is nothing where it is found nowhere", () => {
    expect(read()).toBeUndefined();
  });

  it("is the config kept in the project, named as a reader finds it", () => {
    file("project/models/org--model/config.json", { a: 1 });
    expect(read()).toEqual({ source: "models/org--model/config.json", config: { a: 1 } });
  });

  it("is the config also where Python wrote numbers into it that JSON has not", () => {
    file("project/models/org--model/config.json", '{"limits": [0.0, Infinity]}');
    expect(read()?.config).toEqual({ limits: [0, Infinity] });
  });

  it("is else the config of the cache's snapshot that `main` names, with the size in its index", () => {
    file(`${REPOSITORY}/refs/main`, "abc\n");
    file(`${REPOSITORY}/snapshots/old/config.json`, { a: 0 });
    file(`${REPOSITORY}/snapshots/abc/config.json`, { a: 1 });
    file(`${REPOSITORY}/snapshots/abc/model.safetensors.index.json`, {
      metadata: { total_size: 22e9 },
    });
    expect(read()).toEqual({
      source: join(root, REPOSITORY, "snapshots/abc/config.json"),
      config: { a: 1 },
      weightsGB: 22,
    });
  });

  it("is that of the declared revision, and of no other", () => {
    const [asked, other] = ["a".repeat(40), "b".repeat(40)];
    const declared = () => {
      const settings = structuredClone(stack());
      for (const { inferenceServers } of Object.values(settings.machines))
        for (const { model } of Object.values(inferenceServers)) model.revision = asked;
      return readModels(settings, join(root, "project"), join(root, "home"))["org/model"];
    };
    file(`${REPOSITORY}/refs/main`, other);
    file(`${REPOSITORY}/snapshots/${other}/config.json`, { a: 1 });
    expect(declared()).toBeUndefined();
    file(`${REPOSITORY}/snapshots/${asked}/config.json`, { a: 2 });
    expect(declared()?.config).toEqual({ a: 2 });
    expect(read()?.config).toEqual({ a: 1 });
  });

  it("is not taken from the cache here for a machine elsewhere alone", () => {
    file(`${REPOSITORY}/snapshots/abc/config.json`, { a: 1 });
    const elsewhere = stack({ dockerHost: ELSEWHERE }).machines;
    const folders = [join(root, "project"), join(root, "home")] as const;
    expect(readModels({ machines: elsewhere }, ...folders)).toEqual({});
    const both = {
      ...elsewhere,
      ...Object.fromEntries(Object.entries(stack().machines).map(([, here]) => ["here", here])),
    };
    expect(readModels({ machines: both }, ...folders)["org/model"]?.config).toEqual({ a: 1 });
  });

  it("has the sum of its weights where there is no index, links followed", () => {
    file(`${REPOSITORY}/blobs/w`, "x".repeat(3000));
    file(`${REPOSITORY}/snapshots/abc/config.json`, {});
    file(`${REPOSITORY}/snapshots/abc/model-1.safetensors`, "y".repeat(1000));
    symlinkSync("../../blobs/w", join(root, REPOSITORY, "snapshots/abc/model-2.safetensors"));
    expect(read()?.weightsGB).toBe(4e-6);
  });

  it("joins the project's config with the cache's weights and the published starts", () => {
    const start = { vllm: "0.28.0", utilization: 0.6, availableKvGiB: 23.22, source: "test" };
    file("project/models/org--model/config.json", { a: 1 });
    file("project/models/org--model/starts.json", { starts: [start] });
    file(`${REPOSITORY}/snapshots/abc/config.json`, { a: 2 });
    file(`${REPOSITORY}/snapshots/abc/model.safetensors`, "z".repeat(1000));
    expect(read()).toEqual({
      source: "models/org--model/config.json",
      config: { a: 1 },
      weightsGB: 1e-6,
      starts: {
        class: null,
        weightsGiB: null,
        starts: [expect.objectContaining({ ...start, draftTokens: 0, loader: null })],
      },
    });
  });

  it.each([
    ["config.json", "{", "not valid JSON"],
    ["starts.json", { starts: [{ vllm: "0.28.0" }] }, "starts.0.source"],
    ["starts.json", { start: [] }, "start"],
  ])("says what is wrong with %s, and goes on", (name, content, words) => {
    file("project/models/org--model/config.json", {});
    file(`project/models/org--model/${name}`, content);
    const found = read();
    expect(found?.config).toBeUndefined();
    expect(found?.problem).toContain(words);
  });
});
