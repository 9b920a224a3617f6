import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { forTerminal, styled } from "@local-serving/base/commandLine/output";
import { plainJson } from "@local-serving/base/faults/plainText";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { verifyProgress } from "../../cli/verify/report";
import { waitProgress } from "../../cli/wait/progress";
import { serverInput } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";
import { FakeDocker, inspected } from "./fakeDocker";
import { runServing } from "./runServing";

/**
 * A colour, a window's title, a cleared screen by CSI of one character, a bell, a line turned
 * around.
 */
const EVIL = "x\u001b[31m\u001b]0;title\u0007\u009b2J\r\b\u202ey";
/** What a terminal obeys. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

const folder = temporaryFolder("control-codes-");
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const container = inspected({
  name: "vllm-model-8001",
  image: `evil/${EVIL}`,
  state: { Status: EVIL, Error: EVIL, StartedAt: "2026-11-21T13:00:00Z" },
  labels: { "local-serving.machine": "dgx" },
});
const docker = new FakeDocker({
  ps: { out: "4711\n" },
  info: { out: "{}" },
  inspect: { out: JSON.stringify([container]) },
  logs: { out: `ERROR ${EVIL} No available memory for the cache blocks ${EVIL}\n` },
  "image inspect": { code: 1, err: EVIL },
  run: { code: 1, err: EVIL },
});

const STACK = file(
  "Pulumi.dgx.yaml",
  stringify({
    config: {
      "local-serving:machines": {
        dgx: {
          totalGiB: 121.63,
          instanceA: { gpuMemoryUtilization: 0.3, model: EVIL },
          inferenceServers: {
            b: serverInput({
              environment: { EVIL },
              extraArgs: ["--seed", EVIL],
              moeBackend: EVIL,
            }),
          },
          venvs: ["/nowhere"],
        },
      },
    },
  }),
);
const FAULTY = file(
  "Pulumi.faulty.yaml",
  stringify({ config: { "local-serving:machines": { [EVIL]: 1 } } }),
);
const LOG = file("evil.log", `ERROR ${EVIL} No available memory for the cache blocks ${EVIL}\n`);
const AUTOMATION = file("automation.yaml", stringify({ [EVIL]: EVIL, profile: EVIL }));

describe("no control code reaches a terminal from", () => {
  it.each([
    ["a plan", ["plan", "--full", "--file", STACK], "--seed"],
    ["a plan's faults", ["plan", "--file", FAULTY], "x"],
    ["a verdict", ["verify", "--file", STACK, "--only", "containers"], "vllm-model-8001"],
    ["a diagnosis of a log", ["doctor", "--file", STACK, "--log", LOG], "cache blocks"],
    ["a diagnosis of the machine", ["doctor", "--file", STACK], "x"],
    ["a wait", ["wait", "--file", STACK, "--timeout", "1"], "vllm-model-8001"],
    ["an inventory", ["inventory", "--file", STACK], "docker image failed"],
    ["a check", ["config", "check", "automation", AUTOMATION], "x"],
    ["a command that nobody knows", [EVIL], "unknown command"],
  ])("%s", async (_, args, shown) => {
    for (const format of [[], ["--format", "json"]]) {
      const { out, err } = await runServing([...args, ...format], docker.env);
      expect(out + err).toContain(shown);
      expect(out).not.toMatch(OBEYED);
      expect(err).not.toMatch(OBEYED);
    }
  });

  it("the progress of a run", () => {
    const written: string[] = [];
    const stream = { isTTY: true, columns: 200, write: (text: string) => written.push(text) };
    verifyProgress(stream).starts("health", EVIL, "it lives");
    waitProgress(stream, EVIL)({ phase: "loading weights", note: EVIL }, 1);
    expect(written).toHaveLength(2);
    for (const text of written) expect(text.replace("\r\u001b[2K", "")).not.toMatch(OBEYED);
  });
});

it("a style of ours does, and no other", () => {
  expect(forTerminal("\ufdd0[31mred\ufdd0[39m \ufdd0[2J")).toBe(
    "\u001b[31mred\u001b[39m \ufdd0[2J",
  );
  expect(forTerminal(styled("red", EVIL))).toBe(forTerminal(EVIL));
  expect(forTerminal("a\tb\nc\u0301 ü 漢")).toBe("a\tb\nc\u0301 ü 漢");
});

it("a JSON document keeps every character", () => {
  expect(JSON.parse(plainJson({ [EVIL]: [EVIL] }))).toEqual({ [EVIL]: [EVIL] });
});

it("a JSON document has no key, in a text that repeats or is long", () => {
  const key = "hf_Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo";
  const long = "a ".repeat(10_000);
  const document = [key, "b", key, "b", long + key, long + key];
  expect(JSON.parse(plainJson(document))).toEqual([
    "<redacted>",
    "b",
    "<redacted>",
    "b",
    `${long}<redacted>`,
    `${long}<redacted>`,
  ]);
  const itself = { toJSON: () => key };
  expect(JSON.parse(plainJson({ a: "b", itself }))).toEqual({ a: "b", itself: "<redacted>" });
});
