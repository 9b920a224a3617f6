import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SIGNS } from "../../cli/rules/registry";
import { scanLog } from "../../cli/sees/log/scanLog";
import { READY, STARTED_WITH_PORT, STOPPED } from "../../cli/sees/log/sign";
import { readEngineLog } from "../../packages/kv/engineLog";
import { LOG } from "./log";

/** A start, requests and an end of the real vLLM. */
const RECORDED = readFileSync(
  join(__dirname, "../cli/doctor/fixtures/vllm-0.30.0/stopped.log"),
  "utf8",
).split("\n");

const WINDOW = 32_768;
const PATH = "/v1/chat/completions";
const SAID: Readonly<Record<keyof typeof LOG, string>> = {
  version: LOG.version("0.30.0"),
  arguments: LOG.arguments("rig/dense", 44_733, WINDOW),
  kvCache: LOG.kvCache(WINDOW, 64),
  starting: LOG.starting("http://127.0.0.1:44733"),
  ready: LOG.ready,
  request: LOG.request("127.0.0.1:39560", "POST", PATH, "200 OK"),
  stopping: LOG.stopping,
  stopped: LOG.stopped,
};

/**
 * A line but for its time, its process and its port; without a GPU it counts the cache of a CPU.
 */
const form = (line: string) =>
  line
    .replace(/\(\w+ pid=\d+\)/, "()")
    .replace(/\d\d-\d\d \d\d:\d\d:\d\d/, "TIME")
    .replace(/(\d+\.\d+\.\d+\.\d+):\d+/, "$1:PORT")
    .replace("CPU KV cache", "GPU KV cache");

describe("the log of the stand-in", () => {
  it.each(Object.entries(SAID).filter(([name]) => name !== "arguments"))(
    "has a line of the real vLLM: %s",
    (_, line) => {
      expect(RECORDED.map(form)).toContain(form(line));
    },
  );

  it("says what it was started with as the real one does, which names more", () => {
    const real = RECORDED.find((line) => line.includes("non-default args"));
    const [head = "", settings = ""] = form(SAID.arguments).split("{");
    expect(form(real ?? "")).toContain(head);
    for (const setting of settings.replace("}", "").split(", ")) expect(real).toContain(setting);
  });

  it("means the same to who reads it", async () => {
    const read = async (lines: readonly string[]) => {
      const { hits } = await scanLog(
        { name: "log", kind: "file" },
        lines.map((line) => `${line}\n`),
        SIGNS,
      );
      const { kvTokens, maxModelLen, maxConcurrency } = readEngineLog(lines.join("\n"));
      const port = hits.get(STARTED_WITH_PORT)?.groups;
      return {
        kvTokens,
        maxModelLen,
        maxConcurrency,
        port,
        up: hits.has(READY),
        stopped: hits.has(STOPPED),
      };
    };
    const real = await read(RECORDED);
    expect(real).toEqual({
      ...{ kvTokens: 2_097_152, maxModelLen: WINDOW, maxConcurrency: 64 },
      ...{ port: ["44733"], up: true, stopped: true },
    });
    expect(await read(Object.values(SAID))).toEqual(real);
  });
});
