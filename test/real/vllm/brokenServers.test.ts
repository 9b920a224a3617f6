import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServerSeen } from "../../../cli/rules/serverSeen";
import { summaryOf } from "../../../cli/verify/report";
import { probesOf } from "../../../cli/verify/run/catalog";
import { failed, found, planned, startPlanned } from "../../cli/verify/environment";
import { DIGEST } from "../../fixtures/machine";
import { BROKEN_SERVERS, type BrokenCase, startBroken, WINDOW } from "./brokenServers";
import { type Engine, installEngine } from "./engine";

const VERSION = "0.30.0";
/** A start on a busy machine. */
const START_MS = 1_200_000;
const RUN_MS = 1_200_000;

/** Folder that gets what the probes saw, which test/cli/rules/ is held against. */
const RECORDED_IN = process.env.RECORDED_IN;

function stackOf(port: number, { declared = {} }: BrokenCase) {
  return planned(port, {
    servedModelName: "dense",
    aliases: ["rig/dense"],
    maxModelLen: WINDOW,
    model: { id: "rig/dense", family: "qwen3", thinking: true },
    image: `vllm/vllm-openai:v${VERSION}@${DIGEST}`,
    versions: { vllm: VERSION, evidence: "read", digest: DIGEST, source: "test" },
    ...declared,
  });
}

function keep(title: string, seen: ServerSeen | undefined): void {
  if (RECORDED_IN === undefined || seen === undefined) return;
  mkdirSync(RECORDED_IN, { recursive: true });
  writeFileSync(join(RECORDED_IN, `${title.replaceAll(/\W+/g, "-")}.jsonl`), lines(seen));
}

/** Each request on a line of its own, behind the rest. */
const lines = ({ exchanges, ...rest }: ServerSeen): string =>
  [rest, ...exchanges].map((each) => `${JSON.stringify(each)}\n`).join("");

/** The slowest that was seen of a model that just fits. */
const TOKENS_PER_SECOND = 2.7;

describe("a slow server", () => {
  it(`of ${TOKENS_PER_SECOND} tokens a second passes within the usual time for an answer`, {
    timeout: RUN_MS,
  }, async () => {
    const server = await startPlanned(undefined, {}, { tokensPerSecond: TOKENS_PER_SECOND });
    const { probes, causes } = await found(planned(server.port, { maxModelLen: 131_072 }), {
      only: probesOf("inference-server").map(({ name }) => name),
      timeoutSeconds: 120,
    });
    await server.close();
    expect([failed(probes), causes]).toEqual([[], []]);
  });
});

describe.each(BROKEN_SERVERS)("a server of the real vLLM with $title", (broken) => {
  let engine: Engine;
  let server: Awaited<ReturnType<typeof startBroken>>;

  beforeAll(async () => {
    engine = await installEngine(VERSION);
    server = await startBroken(engine, broken);
  }, START_MS);

  afterAll(async () => {
    server?.stop();
    await server?.ended;
    engine?.remove();
  });

  it.each(broken.cases)(
    "$title: the cause is the first advice, and none is wrong",
    async (each) => {
      server.think(each.brain ?? "healthy");
      const undo = each.harm?.(server);
      let seen: ServerSeen | undefined;
      const { probes, causes } = await found(stackOf(server.port, each), {
        only: probesOf("inference-server").map(({ name }) => name),
        timeoutSeconds: each.timeoutSeconds ?? 300,
        sees: (all) => {
          seen = all;
        },
      });
      undo?.();
      const { next, ...counts } = summaryOf(probes, causes);
      keep(`${broken.title} ${each.title}`, seen);
      console.log(
        [
          `${broken.title}: ${each.title}: ${JSON.stringify(counts)}`,
          ...next.map((line) => `  - ${line}`),
          ...probes
            .filter(({ status }) => status === "fail")
            .map(({ name, detail }) => `  ${name}: ${detail}`),
        ].join("\n"),
      );
      expect(next[0] ?? "").toMatch(each.first);
      if (each.never !== undefined) expect(next.join("\n")).not.toMatch(each.never);
    },
    RUN_MS,
  );
});
