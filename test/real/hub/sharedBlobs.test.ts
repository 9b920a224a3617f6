import { delimiter, dirname, join, resolve } from "node:path";
import { cachedModels, cacheHere } from "@local-serving/machines/hubCache";
import { afterEach, describe, expect, it, vi } from "vitest";
import { leftovers } from "../../../cli/inventory/leftovers";
import { plan } from "../../../components/plan/plan";
import { FakeDocker } from "../../cli/fakeDocker";
import { stack } from "../../fixtures/machine";
import { mustRun, run } from "../../layers/run";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { fromPyPI } from "../programs";

describe("models whose files huggingface_hub shares in one cache", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it("are whole for us, and each command removes what no other model needs", {
    timeout: 600_000,
  }, async ({ skip }) => {
    const program = await fromPyPI("huggingface_hub==2.4.0", "python");
    if ("missing" in program) return skip(program.missing);
    const home = temporaryFolder("shared-blobs-");
    const cache = join(home, ".cache/huggingface");
    await mustRun(program.path, [resolve("test/real/hub/share.py"), join(cache, "hub")]);
    const two = { id: "org/two", whole: true, weightsGB: 0.002 };
    expect(cachedModels(cacheHere(cache))).toEqual([
      { id: "org/one", whole: true, weightsGB: 0.003 },
      two,
    ]);
    const [machine] = plan(stack({}), { home }).machines;
    if (machine === undefined) throw new Error("no machine");
    const path = [dirname(program.path), process.env.PATH].join(delimiter);
    vi.stubEnv("PATH", `${new FakeDocker({ "": { out: "" } }).folder}${delimiter}${path}`);
    const models = async () => (await leftovers(machine)).filter(({ kind }) => kind === "model");
    const [first] = await models();
    expect(first?.size).toMatch(/^1\.[01]M$/);
    await mustRun("sh", ["-c", first?.remove ?? "false"]);
    expect(cachedModels(cacheHere(cache))).toEqual([two]);
    const [second] = await models();
    await mustRun("sh", ["-c", second?.remove ?? "false"]);
    const { stdout } = await run("find", [join(cache, "hub"), "-size", "+100k"]);
    expect([await models(), stdout]).toEqual([[], ""]);
  });
});
