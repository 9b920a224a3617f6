import { expect, it } from "vitest";
import { bugText } from "../../faults/bug";
import { version } from "../../package.json";

it("names version, command and the places in our sources, and nobody else's", () => {
  const error = new TypeError("x is not a function");
  error.stack = [
    "TypeError: x is not a function",
    `    at Object.<anonymous> (${__dirname}/bug.test.ts:7:11)`,
    `    at ${__dirname}/bug.test.ts:8:3`,
    `    at async inner (file://${__dirname}/bug.test.ts:9:1)`,
    `    at parse (${process.cwd()}/node_modules/zod/index.js:1:1)`,
    "    at process.processTicks (node:internal/process/task_queues:95:5)",
  ].join("\n");
  expect(bugText(error, "serving plan").split("\n")).toEqual([
    `This is a bug in local-serving ${version}: x is not a function`,
    "  command: serving plan",
    `  Node.js ${process.version} on ${process.platform} ${process.arch}`,
    "  at Object.<anonymous> (packages/base/test/faults/bug.test.ts:7:11)",
    "  at packages/base/test/faults/bug.test.ts:8:3",
    "  at async inner (packages/base/test/faults/bug.test.ts:9:1)",
    "Please report it: open an issue of local-serving with these lines and what you did before.",
  ]);
});

it("shows no key, no control code and not all of a long message", () => {
  const key = "hf_abcdefghijklmnOPQRSTuvwxyz012345";
  const text = bugText(
    new Error(`\u001b[31m${key} ${"a ".repeat(5000)}`),
    `serving models kv --config token=${key}`,
  );
  expect(text).not.toContain(key);
  expect(text).not.toContain("\u001b");
  expect(text.length).toBeLessThan(3000);
});

it("takes what was thrown and is no error", () => {
  expect(bugText("only words", "serving").split("\n")[0]).toBe(
    `This is a bug in local-serving ${version}: only words`,
  );
});
