import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { fromFiles, type GivenFiles } from "../../../cli/doctor/read/fromFiles";
import { RULES } from "../../../cli/rules/registry";
import { type Diagnosis, reportsOf } from "../../../cli/rules/report";
import { between } from "../../../cli/rules/subjects/between";
import { identity } from "../../../cli/rules/subjects/identity";
import { parsers } from "../../../cli/rules/subjects/parsers";
import { senselessRules } from "../../../cli/rules/subjects/senseless";
import { templateRules } from "../../../cli/rules/subjects/template";
import { serving } from "../../../cli/servingCommand";
import { probeNames } from "../../../cli/verify/run/catalog";
import { START_GATE } from "../../../components/inference-server/startGate";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { cases, type MatrixCase } from "./cases";
import { PLACE_CASES } from "./placeCases";
import { REFUSAL_CASES } from "./refusalCases";
import { SERVICE_CASES } from "./serviceCases";
import { STACK_TEXT, stackOf } from "./stack";
import { START_CASES } from "./startCases";

const fixture = (name: string) => join(__dirname, "fixtures", name);

async function diagnosed({ files, text = STACK_TEXT, more = {} }: MatrixCase) {
  const given: GivenFiles = {
    ...(files.log === undefined ? {} : { log: [fixture(files.log)] }),
    ...(files.dmesg === undefined ? {} : { dmesg: fixture(files.dmesg) }),
    ...(files.meminfo === undefined ? {} : { meminfo: fixture(files.meminfo) }),
  };
  const evidence = { ...(await fromFiles(given)), ...more, stack: stackOf(text) };
  return { evidence, reports: reportsOf(evidence) };
}

/** Notes come alone or not at all. */
function idsOf(reports: readonly Diagnosis[], severity: Diagnosis["severity"]): string[] {
  expect(new Set(reports.map((each) => each.severity)).size).toBeLessThanOrEqual(1);
  return reports.filter((each) => each.severity === severity).map(({ id }) => id);
}

describe("each trouble in its own words", () => {
  it.each(cases.map((each) => [each.name, each] as const))("%s", async (_name, each) => {
    const { evidence, reports } = await diagnosed(each);
    const severity = each.harmless === true ? "note" : "trouble";
    expect(idsOf(reports, severity).sort()).toEqual([...each.ids].sort());
    const report = reports.find(({ id }) => id === each.ids[0]);
    const commands = reports.flatMap(({ command }) => command.split(/&&|;/));
    expect((await Promise.all(commands.map(faultOf))).flat()).toEqual([]);
    if (report === undefined) return;
    expect(report.edits.map(({ path, value }) => [path.slice(2).join("."), value])).toEqual(
      each.edits ?? [],
    );
    expect(report.evidence).toContain(each.evidence);
    for (const text of [report.cause, report.change, report.command, report.source])
      expect(text).not.toBe("");
    expect(report.cause.trimEnd()).toMatch(/\.$/);
    if (each.cause !== undefined) expect(report.cause).toContain(each.cause);
    if (each.advice !== undefined) expect(report.advice).toBe(each.advice);
    if (each.command !== undefined) expect(report.command).toBe(each.command);
    if (each.caughtBy !== undefined) expect(report.caughtBy).toBe(each.caughtBy);
    if (each.change !== undefined) expect(report.change).toContain(each.change);
    if (report.edits.length === 0) expect(report.change).not.toMatch(/^--- /);
    else {
      const changed = patched(each.text ?? STACK_TEXT, report.change);
      const after = stackOf(changed);
      // The change is the whole of it: nothing is left to be changed, and the policies have nothing
      // new against it.
      const again = reportsOf({ ...evidence, stack: after }).find(({ id }) => id === report.id);
      expect(again?.edits ?? []).toEqual(each.editsAgain ?? []);
      expect(after.refusals).toEqual([]);
      each.after?.(after);
    }
  });

  it("knows no rule without a case, and no case without a rule", () => {
    const known = new Set(RULES.map(({ id }) => id));
    const tested = new Set(cases.flatMap(({ ids }) => ids.slice(0, 1)));
    // Those of probes are held against what was seen of real servers.
    const ofServers = [identity, between, parsers, templateRules, senselessRules].flat();
    const elsewhere = new Set([
      "prefix-cache-off",
      ...[...ofServers, ...PLACE_CASES, ...START_CASES, ...SERVICE_CASES, ...REFUSAL_CASES].map(
        ({ id }) => id,
      ),
      ...START_CASES.map(({ note = "" }) => note),
    ]);
    expect([...known].filter((id) => !tested.has(id) && !elsewhere.has(id))).toEqual([]);
    expect([...tested].filter((id) => !known.has(id))).toEqual([]);
    expect(known.size).toBe(RULES.length);
  });

  it.each(cases.filter(({ ids }) => ids.length > 0).map((each) => [each.name, each] as const))(
    "without a stack file as well: %s",
    async (_name, each) => {
      if (each.more !== undefined || each.text !== undefined) return;
      const { evidence } = await diagnosed(each);
      const { stack: _stack, ...afar } = evidence;
      const reports = reportsOf(afar);
      for (const report of reports) expect(report.change).not.toMatch(/^--- /);
      const severity = each.harmless === true ? "note" : "trouble";
      if (each.needsStack !== true) expect(idsOf(reports, severity)).toEqual(each.ids);
    },
  );
});

/**
 * What `serving` would have against a command that is proposed; nothing where it is somebody
 * else's.
 */
async function faultOf(command: string): Promise<string[]> {
  const [program, ...args] = command.split("|")[0]?.trim().split(/\s+/) ?? [];
  if (program !== "serving") return [];
  const words = args.slice(0, args.findIndex((each) => each.startsWith("-")) >>> 0);
  let at: Command = await serving(words);
  for (const word of words) at = at.commands.find((each) => each.name() === word) ?? at;
  // Pulumi judges the options of these.
  const isOurs = !["preview", "up", "refresh", "down"].includes(at.name());
  const options = args.filter((each) => isOurs && each.startsWith("--"));
  const unknown = options.filter((each) => !at.options.some(({ long }) => long === each));
  const only = args[args.indexOf("--only") + 1]?.split(",") ?? [];
  const noProbe = args.includes("--only")
    ? only.filter((name) => !probeNames().includes(name))
    : [];
  return [...(at.name() === "serving" ? [command] : []), ...unknown, ...noProbe];
}

function patched(text: string, diff: string): string {
  const folder = temporaryFolder("doctor-");
  writeFileSync(join(folder, "Pulumi.dgx.yaml"), text);
  execFileSync("git", ["apply", "-"], { cwd: folder, input: diff, stdio: "pipe" });
  return readFileSync(join(folder, "Pulumi.dgx.yaml"), "utf8");
}

describe("the fixtures", () => {
  it("are all there", () => {
    for (const { files } of cases)
      for (const file of Object.values(files)) expect(existsSync(fixture(file))).toBe(true);
  });

  it("hold what a start gate says of other ranks in its own words", () => {
    const words = [
      ...[
        "the head answers",
        "its gate at",
        "does not answer",
        "it has other arguments, another image",
      ],
      ...[
        "it does not see this one at",
        "(does a firewall stop it?)",
        "it can't start, ",
        "it has ended",
      ],
      ...[
        "the gate can't listen on",
        "has not answered for",
        "vLLM ends here too, and starts again with all ranks",
      ],
    ];
    expect(words.filter((each) => !START_GATE.includes(each))).toEqual([]);
    const logs = cases.flatMap(({ ids, files }) =>
      /^rank-(?:waits|gone|orphaned)$/.test(ids[0] ?? "") ? (files.log ?? []) : [],
    );
    const said = logs.map((log) => readFileSync(fixture(log), "utf8")).join("");
    for (const each of words) expect(said).toContain(each);
  });
});
