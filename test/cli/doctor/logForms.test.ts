import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Stack } from "../../../cli/rules/picture";
import { SIGNS } from "../../../cli/rules/registry";
import { reportsOf } from "../../../cli/rules/report";
import { type LogReading, scanLog } from "../../../cli/sees/log/scanLog";
import { cases, type MatrixCase } from "./cases";
import { STACK_TEXT, stackOf } from "./stack";

const lines = (change: (line: string, index: number) => string) => (text: string) =>
  text
    .replace(/\n$/, "")
    .split("\n")
    .map((line, index) => `${change(line, index)}\n`)
    .join("");

const clock = (index: number) => new Date(Date.UTC(2026, 10, 21, 13, 0, index)).toISOString();

/** The same log as other tools hand it over. */
const FORMS: Readonly<Record<string, (text: string) => string | Buffer>> = {
  "of Windows": (text) => text.replaceAll("\n", "\r\n"),
  "of `docker logs --timestamps`": lines(
    (line, index) => `${clock(index).replace("Z", "123456Z")} ${line}`,
  ),
  "of `docker compose logs`": lines((line) => `inference-1  | ${line}`),
  "of `docker compose logs` by a name alone": lines((line) => `[open-llm]     | ${line}`),
  "of Kubernetes' own file": lines((line, index) => `${clock(index)} stderr F ${line}`),
  "of stern, quoted": lines((line) => `> vllm-7c9d8f6b5-xk2lq vllm ${line}`),
  "of journalctl": lines(
    (line, index) =>
      `Nov 21 13:00:${String(index % 60).padStart(2, "0")} spark dockerd[812]: ${line}`,
  ),
  "in colour": lines((line) =>
    line
      .replace(/\b(INFO|WARNING|ERROR)\b/g, "\u001b[31m$1\u001b[0m")
      .replace(
        /"((?:GET|POST) [^"]*)" (\d{3} ?\w*)/g,
        '"\u001b[1m$1\u001b[0m" \u001b[31m$2\u001b[0m',
      )
      .replace(/^(\(\w+ pid=\d+\))/, "\u001b[1;36m$1\u001b[0;0m"),
  ),
  "with every word in colour": lines((line) => line.replace(/\w+/g, "\u001b[38;5;208m$&\u001b[m")),
  "of PowerShell, UTF-16": (text) => Buffer.from(`\ufeff${text}`, "utf16le"),
  "with a mark at its begin": (text) => `\ufeff${text}`,
};

/** Planned once for each text: every form of a log is about the same machine. */
const stacks = new Map<string, Stack>();
function stackFor(text: string): Stack {
  const stack = stacks.get(text) ?? stackOf(text);
  stacks.set(text, stack);
  return stack;
}

async function diagnosed(
  { files, text = STACK_TEXT, more = {} }: MatrixCase,
  form: (text: string) => string | Buffer,
) {
  const logs: LogReading[] = [];
  for (const [kind, file] of [
    ["file", files.log],
    ["kernel", files.dmesg],
  ] as const) {
    if (file === undefined) continue;
    const formed = form(readFileSync(join(__dirname, "fixtures", file), "utf8"));
    logs.push(await scanLog({ name: file, kind }, [formed], SIGNS));
  }
  const reports = reportsOf({ logs, ...more, stack: stackFor(text) });
  return {
    evidence: reports.map((each) => each.evidence),
    said: reports.map(({ id, edits }) => [id, edits]),
  };
}

const withLogs = cases.filter(
  ({ files }) => files.meminfo === undefined && (files.log ?? files.dmesg) !== undefined,
);

/** Each log in two forms and each form of dozens of logs: every pair would take four times as long. */
const formsFor = (index: number) =>
  Object.entries(FORMS).filter((_form, each) => (each + index) % 4 === 0);

describe.each(withLogs.map((each, index) => [each.name, each, formsFor(index)] as const))(
  "%s",
  (_name, each, forms) => {
    it("reads the same in other forms of its log", async () => {
      const plain = await diagnosed(each, (text) => text);
      for (const [name, form] of forms) {
        const found = await diagnosed(each, form);
        expect([name, found.said]).toEqual([name, plain.said]);
        expect(JSON.stringify(found.evidence)).not.toMatch(/\\u001b|\\u0000|\ufeff/);
      }
    });
  },
);
