import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { docker, dockerJson } from "../../components/docker/docker";
import { readDocker } from "../../components/preflight/readDocker";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

const folder = temporaryFolder("serving-not-json-");
const bin = join(folder, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "docker"), '#!/bin/sh\nprintf "%s" "$PRINTED"\n');
chmodSync(join(bin, "docker"), 0o755);

/** Variables under which a program named docker prints this and nothing else. */
const printing = (text: string) => ({ PATH: `${bin}:${process.env.PATH}`, PRINTED: text });

afterEach(() => void vi.unstubAllEnvs());
const stub = (text: string) => {
  for (const [name, value] of Object.entries(printing(text))) vi.stubEnv(name, value);
};

const ADVICE =
  "in place of JSON: is `docker` on PATH Docker's own client, and does the shell of that machine print nothing else?";

describe("a docker that prints something else than JSON", () => {
  it.each([
    ["a greeting", "Welcome to node 7", "`Welcome to node 7`"],
    ["half an answer", "[1,2", "`[1,2`"],
    ["nothing", "", "nothing"],
    ["control codes and lines", "a\u001b[2J\nb", "`a\ufffd[2J b`"],
    ["a key", "token=hf_abcdefghijklmnOPQRSTuvwxyz012345", "`token=<redacted>`"],
    ["very much", "x".repeat(5000), `\`${"x".repeat(80)}\``],
  ])("is told in a sentence: %s", async (_, text, shown) => {
    stub(text);
    await expect(dockerJson(["inspect", "b"])).rejects.toThrow(`docker inspect printed ${shown} ${ADVICE}`);
    expect(await docker(["inspect", "b"])).toBe(text);
  });

  it.each([["status"], ["inventory"], ["pin", "vllm/vllm-openai:v0.30.0"], ["inventory", "--leftovers"]])(
    "is no bug of ours in `serving %s`",
    async (...args: string[]) => {
      const { code, out, err } = await runServing(args, printing("<html>x</html>"));
      expect([code, out + err]).toEqual([1, expect.stringContaining(`printed \`<html>x</html>\` ${ADVICE}`)]);
    },
  );

  it("makes the preflight say that no engine answers, and why", async () => {
    stub("no");
    expect(await readDocker("unix:///nowhere.sock", [])).toEqual({
      reachable: false,
      reason: `docker info printed \`no\` ${ADVICE}`,
    });
  });
});

describe("a path that is longer than any file system takes", () => {
  const LONG = "a".repeat(5000);
  it.each([
    ["plan", "--file", LONG],
    ["plan", "--stack", LONG],
    ["plan", "--file", "Pulumi.dgx.yaml", "--out", LONG],
    ["kv", "--config", LONG, "--available", "1GiB"],
    ["doctor", "--log", LONG],
    ["init", "--name", LONG],
    ["config", "check", "automation", LONG],
    ["config", "check", "analytics", LONG],
    ["config", "set", "analytics", "redaction_mode", "code", "--config", LONG],
    ["config", "init", "automation", LONG],
  ])("ends `serving %s %s` with wrong use", async (...args: string[]) => {
    const { code, out, err } = await runServing(args);
    expect([code, out + err]).toEqual([2, expect.stringContaining(LONG.slice(0, 1000))]);
    expect(err).not.toContain("This is a bug");
  });
});
