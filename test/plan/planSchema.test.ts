import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";

const PUBLISHED = JSON.parse(readFileSync("docs/reference/plan.schema.json", "utf8"));
const LEFT = "test/fixtures/upgrade/0.1.0";

/** The same schema where no object may hold a key that isn't declared. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, closed(value)]),
  );
  const isObject =
    "properties" in inner && inner.type === "object" && !("additionalProperties" in inner);
  return isObject ? { ...inner, additionalProperties: false } : inner;
}

const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true });
const takes = ajv.compile(PUBLISHED);
const takesNoMore = ajv.compile(closed(PUBLISHED) as object);

/** What somebody else's validator refuses in a document, with every key that the schema lacks. */
function faultsOf(document: unknown) {
  const found = [takes, takesNoMore].flatMap((validate) =>
    validate(document) ? [] : (validate.errors ?? []),
  );
  return found.map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

const home = temporaryFolder("plan-schema-");
const planOf = (...args: string[]) =>
  runServing(["plan", "--format", "json", ...args], {
    HOME: home,
    XDG_STATE_HOME: join(home, "state"),
  });

/** The shipped stack file with another text in it. */
function edited(from: string, to: string): string {
  const file = join(home, "edited.yaml");
  const text = readFileSync("Pulumi.dgx.yaml", "utf8");
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
  return file;
}

const STACKS = [
  "Pulumi.dgx.yaml",
  ...readdirSync("docs/examples").flatMap((name) =>
    name.endsWith(".yaml") ? [`docs/examples/${name}`] : [],
  ),
  `${LEFT}/shipped.yaml`,
  `${LEFT}/everything.yaml`,
];

describe("the published schema of a plan", () => {
  it.each(STACKS)(
    "holds the whole plan of %s, and what it leaves on each machine",
    async (file) => {
      const document = JSON.parse((await planOf("--file", file)).out);
      expect(document.version).toBe(1);
      expect(faultsOf(document)).toEqual([]);
      for (const { files } of document.machines) {
        const { text } = files.find(({ role }: { role: string }) => role === "applied-plan");
        expect(faultsOf(JSON.parse(text))).toEqual([]);
      }
    },
  );

  it("holds a plan that is refused, one with a meminfo, and a review", async () => {
    const meminfo = join(home, "meminfo");
    writeFileSync(meminfo, "MemTotal: 127600592 kB\nMemAvailable: 62914560 kB\n");
    const file = edited(
      "gpuMemoryUtilization: 0.45\n          maxModelLen",
      "gpuMemoryUtilization: 0.5\n          maxModelLen",
    );
    const { code, out } = await planOf(
      "--file",
      file,
      "--meminfo",
      meminfo,
      "--against",
      "Pulumi.dgx.yaml",
    );
    const document = JSON.parse(out);
    expect(code).toBe(1);
    expect(document).toMatchObject({
      version: 1,
      machines: [{ admission: [{ admitted: false }] }],
      change: {},
    });
    expect(faultsOf(document)).toEqual([]);
  });

  it("holds a stack file's faults, all of them with their places, and then there are no machines", async () => {
    const file = edited("totalGiB: 121.63", "totalGB: 121.63");
    const { code, out, err } = await planOf("--file", file);
    const document = JSON.parse(out);
    expect({ code, keys: Object.keys(document) }).toEqual({ code: 1, keys: ["version", "faults"] });
    expect(document.faults).toEqual([
      {
        ...{
          path: "machines.dgx.totalGB",
          code: "unknown_key",
          severity: "error",
          line: 9,
          column: 7,
        },
        message: expect.stringContaining("Did you mean `totalGiB`?"),
      },
    ]);
    expect(err).toContain(`${file}: 1 fault\n`);
    expect(faultsOf(document)).toEqual([]);
  });

  it("holds the faults that only the plan finds", async () => {
    const stack = parse(readFileSync("Pulumi.dgx.yaml", "utf8"));
    const { dgx } = stack.config["local-serving:machines"];
    dgx.inferenceServers.b.model.weightsGB = 2;
    dgx.inferenceServers.b.model.family = "gpt-oss";
    const file = join(home, "contradicted.yaml");
    writeFileSync(file, stringify(stack));
    const { code, out } = await planOf("--file", file);
    const document = JSON.parse(out);
    expect({ code, machines: document.machines }).toEqual({ code: 1, machines: undefined });
    expect(document.faults).toMatchObject([
      { path: "machines.dgx.inferenceServers.b.model.family", line: expect.any(Number) },
    ]);
    expect(faultsOf(document)).toEqual([]);
  });

  it("takes keys that a later release adds, and no other version", async () => {
    const document = JSON.parse((await planOf("--file", "docs/examples/only-ollama.yaml")).out);
    expect(
      takes({ ...document, later: 1, machines: [{ ...document.machines[0], later: {} }] }),
    ).toBe(true);
    expect(takes({ ...document, version: 2 })).toBe(false);
    const { version: _, ...without } = document;
    expect(takes(without)).toBe(false);
    expect(takes(JSON.parse(readFileSync(`${LEFT}/shipped.dgx.json`, "utf8")))).toBe(false);
  });
});
