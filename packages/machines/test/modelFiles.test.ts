import { execFileSync } from "node:child_process";
import fs, {
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { readModelFiles } from "../modelFiles";

let folder = "";
let place = "";
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "model-files-"));
  folder = join(place, "tone");
  mkdirSync(folder);
});
afterEach(() => rmSync(place, { recursive: true }));
const put = (name: string, text: string) => writeFileSync(join(folder, name), text);

describe("files of a model or an adapter", () => {
  it("are told by names, sizes and contents of what vLLM reads", () => {
    put("adapter_config.json", '{"r":8}');
    put("adapter_model.safetensors", "weights");
    const before = readModelFiles(folder);
    expect(before).toEqual({
      files: ["adapter_config.json", "adapter_model.safetensors"],
      linksOutside: [],
      adapterConfig: '{"r":8}',
      weightsBytes: 7,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    utimesSync(join(folder, "adapter_model.safetensors"), 0, 0);
    put("optimizer.pt", "of the training");
    put("README.md", "words");
    expect(readModelFiles(folder).digest).toBe(before.digest);
    put("adapter_model.safetensors", "wEights");
    expect(readModelFiles(folder).digest).not.toBe(before.digest);
  });

  it("are read once by a process while they stay as they are", () => {
    put("adapter_config.json", '{"r":8}');
    put("adapter_model.safetensors", "weights");
    const opened = vi.spyOn(fs, "openSync");
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    const reads = () => {
      const { digest } = readModelFiles(folder);
      const names = opened.mock.calls.map(([path]) => basename(String(path)));
      opened.mockClear();
      return { digest, weights: names.includes("adapter_model.safetensors") };
    };
    const first = reads();
    // What was changed just now may change again at the same time.
    expect([first.weights, reads()]).toEqual([true, first]);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    expect([reads(), reads()]).toEqual([first, { ...first, weights: false }]);
    put("adapter_model.safetensors", "other weights");
    const other = reads();
    expect(other).toEqual({
      digest: expect.not.stringContaining(first.digest ?? ""),
      weights: true,
    });
    expect(reads()).toEqual({ ...other, weights: false });
  });

  it("of a whole model are all that vLLM may read, without a training's leftovers", () => {
    put("config.json", "{}");
    put("model.safetensors", "weights");
    const before = readModelFiles(folder).digest;
    put("trainer_state.json", "{}");
    put("optimizer.pt", "x");
    expect(readModelFiles(folder).digest).toBe(before);
    put("chat_template.jinja", "x");
    expect(readModelFiles(folder).digest).not.toBe(before);
  });

  it("lead nowhere else: links out of the folder are named, also those below it", () => {
    put("adapter_config.json", "{}");
    writeFileSync(join(place, "secret"), "key");
    mkdirSync(join(folder, "below"));
    symlinkSync(join(place, "secret"), join(folder, "below", "vocab.json"));
    symlinkSync(join(folder, "adapter_config.json"), join(folder, "inside.json"));
    symlinkSync(join(place, "gone"), join(folder, "dangling"));
    expect(readModelFiles(folder).linksOutside).toEqual([
      { link: "dangling", target: "nothing" },
      { link: "below/vocab.json", target: join(place, "secret") },
    ]);
    expect(readModelFiles(folder, true).linksOutside).toEqual([]);
  });

  it("say where a folder leads that is a link itself", () => {
    put("adapter_config.json", "{}");
    symlinkSync(folder, join(place, "latest"));
    expect(readModelFiles(join(place, "latest")).leadsTo).toBe(folder);
    expect(readModelFiles(folder)).not.toHaveProperty("leadsTo");
  });

  it("are never waited for: a pipe, a device and a link to one are named and not read", () => {
    execFileSync("mkfifo", [join(folder, "adapter_config.json")]);
    symlinkSync("/dev/zero", join(folder, "tokenizer.json"));
    put("adapter_model.safetensors", "weights");
    expect(readModelFiles(folder)).toEqual({
      files: ["adapter_model.safetensors"],
      linksOutside: [{ link: "tokenizer.json", target: "/dev/zero" }],
      special: ["adapter_config.json"],
      weightsBytes: 7,
      digest: expect.any(String),
    });
  });

  it("have no text that lies outside, or is far too large for a configuration", () => {
    writeFileSync(join(place, "secret"), "key");
    symlinkSync(join(place, "secret"), join(folder, "adapter_config.json"));
    expect(readModelFiles(folder)).not.toHaveProperty("adapterConfig");
    rmSync(join(folder, "adapter_config.json"));
    put("adapter_config.json", " ".repeat(1024 ** 2 + 1));
    expect(readModelFiles(folder)).not.toHaveProperty("adapterConfig");
  });

  it("may link to the folder itself", () => {
    put("adapter_config.json", "{}");
    symlinkSync(".", join(folder, "latest"));
    expect(readModelFiles(folder).linksOutside).toEqual([]);
  });

  it("count with their beginning and time where they are large", () => {
    put("adapter_config.json", "{}");
    put("adapter_model.safetensors", "head");
    truncateSync(join(folder, "adapter_model.safetensors"), 4 * 1024 ** 3);
    utimesSync(join(folder, "adapter_model.safetensors"), 1, 1);
    const before = readModelFiles(folder);
    expect(before.weightsBytes).toBe(4 * 1024 ** 3);
    expect(readModelFiles(folder).digest).toBe(before.digest);
    utimesSync(join(folder, "adapter_model.safetensors"), 2, 2);
    expect(readModelFiles(folder).digest).not.toBe(before.digest);
  });

  it("can't be told of what is no folder", () => {
    const none = { files: [], linksOutside: [], weightsBytes: 0 };
    put("file", "");
    expect(readModelFiles(join(place, "none"))).toEqual({ ...none, problem: "is not there" });
    expect(readModelFiles(join(folder, "file"))).toEqual({ ...none, problem: "is not a folder" });
  });
});
