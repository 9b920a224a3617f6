import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const SETTINGS = "../../components/settings/inferenceServer";
const TABLE = "../../components/settings/flags";

const readers = async () => ({
  ...(await import("../../components/catalogue/recipe")),
  ...(await import("../../components/change/changesOf")),
  ...(await import("../../components/inference-server/launchArguments")),
  ...(await import("../../components/inference-server/serve")),
  ...(await import("../../components/settings/inferenceServer")),
  ...(await import("../../components/settings/repeatedSettings")),
  ...(await import("../../cli/init/command/values")),
  ...(await import("../../cli/maintain/sparkEntries")),
  ...(await import("../../cli/models/serverValues")),
  ...(await import("@local-serving/vllm/argv/serverArguments")),
  ...(await import("@local-serving/vllm/engineData")),
  ...(await import("../fixtures/machine")),
  ...(await import("../fixtures/services")),
});
let read: Awaited<ReturnType<typeof readers>>;

// A setting that doesn't exist, and the one row of the table that its flag is.
beforeAll(async () => {
  const { FLAGS } = await import("../../components/settings/flags");
  const { inferenceServer } = await import("../../components/settings/inferenceServer");
  const { word } = await import("../../components/planned/fields/fields");
  const madeUp = word().optional().describe("It doesn't exist.");
  const row = { setting: "madeUp", flag: "--invented", also: ["-inv"], form: "word" };
  vi.doMock(SETTINGS, () => ({ inferenceServer: inferenceServer.extend({ madeUp }) }));
  vi.doMock(TABLE, () => ({
    FLAGS: [...FLAGS, { ...row, kernels: "same", ofModel: "settings" }],
  }));
  vi.resetModules();
  read = await readers();
});
afterAll(() => {
  vi.doUnmock(SETTINGS);
  vi.doUnmock(TABLE);
  vi.resetModules();
});

describe("a flag that is in the table alone", () => {
  it("is passed to a server whose setting has a value", () => {
    const argv = (overlay = {}) => {
      const server = read.inferenceServer.parse(read.serverInput(overlay));
      return read.launchArguments(server, read.served("b", "container", server));
    };
    expect(argv({ madeUp: "seven" })).toEqual([...argv(), "--invented", "seven"]);
    expect(argv()).not.toContain("--invented");
  });

  it("is read from a pasted command", () => {
    const args = read.readServerArguments(["org/model", "--invented", "seven"]);
    const found = read.argumentValues(args, {
      engine: read.newestEngineData(),
      hasOwnNetwork: false,
    });
    expect(found.values).toContainEqual({
      path: ["madeUp"],
      value: "seven",
      why: "by the command that this server was written from",
    });
    expect(found.leftOut).toEqual([]);
    expect(found.values.map(({ path }) => path.join("."))).not.toContain("extraArgs");
  });

  it("can be in a recipe, goes into the stack file from there, and goes with the model", () => {
    const made = read.recipe.parse({
      ...{ id: "org/model", servedModelName: "model", family: "other", thinking: false },
      config: { from: "model", source: "a test", date: "2026-11-29" },
      settings: { madeUp: "seven" },
      sources: [
        { of: ["settings.madeUp"], basis: "measured", source: "a test", date: "2026-11-29" },
      ],
    });
    const values = read.serverValues(made, { beside: false });
    expect(values).toContainEqual({
      path: ["madeUp"],
      value: "seven",
      why: "measured: a test (2026-11-29)",
    });
    expect(read.modelKeys(undefined, [])).toContainEqual(["madeUp"]);
  });

  it("is taken from somebody else's recipe", () => {
    const file = read.recipeFile.parse({
      meta: {},
      model: { model_id: "org/model", min_vllm_version: "0.30.0" },
      variants: {
        default: {
          vram_minimum_gb: 8,
          hardware_overrides: { [read.SPARK]: { extra_args: ["--invented", "seven"] } },
        },
      },
    });
    const { entries } = read.sparkEntries(file, { gpu_count: 1, vram_gb: 128 });
    expect(entries).toMatchObject([
      { values: [{ path: ["settings", "madeUp"], value: "seven" }], leftOut: [] },
    ]);
  });

  it.each(["--invented=x", "--invent", "-inv"])("can't be repeated as %s", (argument) => {
    expect(read.repeatedFlags([argument])).toEqual([
      { index: 0, message: expect.stringContaining("has a setting of its own: use `madeUp`.") },
    ]);
  });

  it("takes no compiling when it changes, as the table says", () => {
    const change = read.changeOf(read.planned(), read.planned({}, { madeUp: "seven" }));
    const b = change.containers.find(({ key }) => key === "b");
    expect(b?.changes).toEqual([{ argument: "--invented", before: null, after: "seven" }]);
    expect(b?.steps.map(({ what }) => what)).not.toContain("compiling kernels");
  });
});
