import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromVersion0 } from "../../components/evidence/fromVersion0";
import { appliedPlanIn } from "../../components/evidence/readAppliedPlan";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { loadStackFile } from "../../components/settings/load";

/** What 0.1.0 left on machines, whose homes were `/home/me`. */
const LEFT = join(__dirname, "../fixtures/upgrade/0.1.0");

const plannedToday = (stack: string) =>
  plan(loadStackFile(join(LEFT, `${stack}.yaml`)), { home: "/home/me" }).machines;

async function applied(stack: string, machine: string): Promise<MachinePlan> {
  const read = await appliedPlanIn(
    readFileSync(join(LEFT, `${stack}.${machine}.json`), "utf8"),
    "/x",
  );
  if (!("plan" in read)) throw new Error(read.missing);
  return read.plan;
}

const STACKS = [
  ["shipped", "dgx"],
  ["everything", "dgx1"],
  ["everything", "dgx2"],
] as const;

describe("a plan of version 0", () => {
  it.each(STACKS)(
    "gets the names that the engine knows its files by: %s, %s",
    async (stack, name) => {
      const names = ({ files, secretFiles }: MachinePlan) =>
        [...files, ...secretFiles]
          .filter(({ role }) => role !== "applied-plan")
          .map(({ role, resource, partOf }) => ({ role, resource, partOf }));
      const today = plannedToday(stack).find((each) => each.name === name);
      expect(names(await applied(stack, name))).toEqual(today && names(today));
    },
  );

  it.each(STACKS)("has its gates and their floor as fields: %s, %s", async (stack, name) => {
    const gates = ({ containers, inferenceServers, ranks, memoryFloorGiB }: MachinePlan) => ({
      memoryFloorGiB,
      gates: [
        ...containers,
        ...[...inferenceServers, ...ranks].map(({ container }) => container),
      ].map(({ name, gate }) => ({ name, gate })),
    });
    const today = plannedToday(stack).find((each) => each.name === name);
    expect(gates(await applied(stack, name))).toEqual(today && gates(today));
  });

  it.each(STACKS)("has Ollama's variables as a field: %s, %s", async (stack, name) => {
    const environment = ({ simpleServer }: MachinePlan) =>
      simpleServer.mode === "host" ? simpleServer.environment : simpleServer.mode;
    const today = plannedToday(stack).find((each) => each.name === name);
    expect(environment(await applied(stack, name))).toEqual(today && environment(today));
  });

  it("keeps what its launchers are for", async () => {
    const { files } = await applied("shipped", "dgx");
    expect(files.find(({ role }) => role === "launcher-codex")?.purpose).toBe(
      "Starts Codex with the model qwen3.6-35b-a3b, once its server answers.",
    );
  });

  it("may hold anything at all", () => {
    const keys = fc.constantFrom(
      "machine",
      "files",
      "role",
      "clients",
      "bridge",
      "simpleServer",
      "dropIn",
      "__proto__",
    );
    const object = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue(),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(fc.oneof(keys, fc.string()), tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(keys, object), (document) => {
        expect(fromVersion0(document).version).toBe(1);
      }),
    );
  });
});
