import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cacheHere, isWhole, snapshotOf, weightsOf } from "@local-serving/machines/hubCache";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { explained } from "../../../components/preflight/fetch/causes";
import {
  CAME,
  type Came,
  HUB_CASES,
  type HubCase,
  hubOf,
  ourReading,
  wholeOf,
} from "../../cli/fetch/hubCases";
import { MODEL } from "../../cli/fetch/standInHub";
import { run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { fromPyPI, type Program } from "../programs";

/** Bytes of a file of the weights: some pieces, so that a line can be cut in between. */
const LARGE_BYTES = 200_000;

/** The oldest that images of this project's servers have, and the newest. */
const VERSIONS = ["1.16.0", "2.4.0"] as const;

/** It waits up to 8 s between its tries, six times. */
const LIMIT_MS = 120_000;

/** What huggingface_hub printed: what came, or the classes of its exception. */
type Answer = Came | { readonly kinds: readonly string[]; readonly words: string };

async function theirLoading(python: string, given: HubCase, url: string, cache: string) {
  const { id = MODEL, revision, token, file = "config.json" } = given;
  const asked = JSON.stringify({ id, revision, token, file, cache: join(cache, "hub") });
  const { stdout, stderr } = await run(python, [resolve("test/real/hub/download.py"), asked], {
    env: {
      ...{ HF_ENDPOINT: url, HF_HOME: cache, HF_HUB_DISABLE_PROGRESS_BARS: "1" },
      ...{ HF_HUB_DISABLE_XET: "1", HF_HUB_DISABLE_TELEMETRY: "1" },
    },
    limitSeconds: LIMIT_MS / 1000,
  });
  try {
    // Its own script printed it, in one of the two forms.
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Answer;
  } catch {
    throw new Error(`no answer: ${stdout}${stderr}`);
  }
}

describe.each(VERSIONS)("what our reader says is what huggingface_hub %s does", (version) => {
  let program: Program = { missing: "not installed" };
  beforeAll(async () => {
    program = await fromPyPI(`huggingface_hub==${version}`, "python");
  }, 600_000);
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it.for(HUB_CASES)("$name", { timeout: LIMIT_MS }, async (given, { skip }) => {
    if ("missing" in program) return skip(program.missing);
    const cache = temporaryFolder("hub-cache-");
    const { hub, url, close } = await hubOf(given, LARGE_BYTES);
    try {
      const theirs = await theirLoading(program.path, given, url, cache);
      const whole = wholeOf(hub);
      const expected = (version === VERSIONS[0] ? given.older : undefined) ?? given.theirs;
      if (expected === CAME) {
        expect(theirs).toEqual(whole);
        expectSameCache(cache, hub.files);
      } else {
        expect(theirs).toEqual({
          kinds: expect.arrayContaining([expected]),
          words: expect.any(String),
        });
        if (given.ours !== CAME)
          expect(ourWords(given, theirs)).toContain(given.ours.split(" (")[0]);
      }
      expect([...hub.strayTokens]).toEqual([]);
    } finally {
      await close();
    }
    // A hub of its own: what it does once was done.
    const own = await hubOf(given, LARGE_BYTES);
    vi.stubEnv("HF_ENDPOINT", own.url);
    try {
      const ours = await ourReading(given);
      expect(ours).toEqual(
        given.ours === CAME ? wholeOf(own.hub) : expect.stringContaining(given.ours),
      );
    } finally {
      await own.close();
    }
  });
});

/** The sentence that we make of the tool's own words, as `serving fetch` does. */
function ourWords({ id = MODEL, revision, token }: HubCase, answer: Answer): string {
  const of = {
    kind: "model",
    name: id,
    revision,
    ...(token && { tokenVariable: "MY_TOKEN" }),
  } as const;
  return explained(of, "words" in answer ? answer.words : "");
}

/** What was loaded is what our own reader of a cache takes for whole. */
function expectSameCache(path: string, files: ReadonlyMap<string, { readonly body: Buffer }>) {
  const cache = cacheHere(path);
  const folder = cache.names(join(path, "hub")).find((name) => name.startsWith("models--"));
  const id = (folder ?? "").replace("models--", "").replace("--", "/");
  const snapshot = snapshotOf(cache, id) ?? "";
  expect([isWhole(cache, id, snapshot.split("/").at(-1)), weightsOf(cache, snapshot)]).toEqual([
    true,
    (2 * LARGE_BYTES) / 1e9,
  ]);
  for (const [name, { body }] of files)
    if (!name.startsWith("original/")) expect(readFileSync(join(snapshot, name))).toEqual(body);
}
