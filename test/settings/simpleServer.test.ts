import { describe, expect, it } from "vitest";
import { parseEngineConfig } from "../../components/settings/load";
import { faultPairs } from "../fixtures/faults";

function load(simpleServer: unknown, machine: Record<string, unknown> = {}) {
  const machines = {
    dgx: {
      totalGiB: 121.63,
      instanceA: "none",
      ...machine,
      ...(simpleServer === undefined ? {} : { simpleServer }),
    },
  };
  return parseEngineConfig({ "local-serving:machines": JSON.stringify(machines) }).machines.dgx;
}
const faultsOf = (...args: Parameters<typeof load>) => faultPairs(() => load(...args));
const AT = "machines.dgx.simpleServer";

describe("the simple server's settings", () => {
  it("are none unless they are given", () => {
    expect(load(undefined)).toMatchObject({ simpleServer: { mode: "none" }, elevate: "none" });
  });

  it("spare memory and ask no other host by default", () => {
    expect(load({ mode: "host" })?.simpleServer).toEqual({
      mode: "host",
      listen: "127.0.0.1",
      port: 11434,
      modelsDirectory: "/usr/share/ollama/.ollama/models",
      serviceUser: "ollama",
      unit: "ollama.service",
      systemdDirectory: "/etc/systemd/system",
      maxLoadedModels: 1,
      contextLength: 32768,
      keepAlive: "5m",
      cloud: false,
      models: [],
      loadedGiB: {},
      toolCalls: {},
      pull: false,
    });
  });

  it("take what was seen of declared models' tool calls, on the host alone", () => {
    const seen = (toolCalls: Record<string, unknown>) =>
      faultsOf({ mode: "host", models: ["qwen3:8b"], toolCalls });
    expect(seen({ "qwen3:8b": "seen 2026-11-21" })).toEqual([]);
    expect(seen({ "qwen3:4b": "seen 2026-11-21" })).toEqual([
      [
        `${AT}.toolCalls.qwen3:4b`,
        "`qwen3:4b` is not one of the simple server's `models`. List it there, or remove this line.",
      ],
    ]);
    for (const text of ["2026-11-21", "seen", "seen today", "seen 2026-11-21 here", true])
      expect(seen({ "qwen3:8b": text }), String(text)).toEqual([
        [`${AT}.toolCalls.qwen3:8b`, expect.stringContaining("Expected ")],
      ]);
    expect(seen({ "qwen3:8b": "2026-11-21" }).join()).toContain(
      "Expected `seen` and a day, such as seen 2026-11-21",
    );
    expect(
      faultsOf({ mode: "integrated", models: ["a"], toolCalls: { a: "seen 2026-11-21" } }),
    ).toContainEqual([
      `${AT}.toolCalls`,
      expect.stringContaining("`toolCalls` goes with `mode: host` only"),
    ]);
  });

  it("take the memory of declared models only, in GiB", () => {
    expect(faultsOf({ mode: "host", models: ["a"], loadedGiB: { a: 9.6 } })).toEqual([]);
    for (const mode of ["host", "integrated"]) {
      expect(
        faultsOf({ mode, models: ["a"], loadedGiB: { b: 9.6 } }, { chatUi: undefined }),
      ).toContainEqual([`${AT}.loadedGiB.b`, "`b` is not one of the simple server's `models`."]);
    }
    expect(faultsOf({ mode: "host", models: ["a"], loadedGiB: { a: 9.6e9 } })).toEqual([
      [`${AT}.loadedGiB.a`, expect.stringContaining("Expected GiB")],
    ]);
    expect(faultsOf({ mode: "host", residentModelsGiB: 1e308 })[0]?.[1]).toContain(
      "no machine of this kind has more",
    );
  });

  it("have one mode: keys of another are refused by name", () => {
    expect(faultsOf({ mode: "integrated", listen: "0.0.0.0" })).toEqual([
      [
        `${AT}.listen`,
        expect.stringContaining("`listen` goes with `mode: host` only: remove it here"),
      ],
    ]);
    expect(faultsOf({ mode: "none", models: ["a"] })[0]?.[0]).toBe(`${AT}.models`);
    expect(faultsOf({ mode: "both" })[0]?.[1]).toContain(
      "`mode: host`, `mode: integrated` or `mode: none`",
    );
    expect(faultsOf({ models: [] })[0]?.[1]).toContain(
      "`mode: host`, `mode: integrated` or `mode: none`",
    );
  });

  it.each(["5m", "1h30m", "0", "-1", "300", "-1m", "1.5h", "250ms"])(
    "take the duration %s",
    (keepAlive) => {
      expect(faultsOf({ mode: "host", keepAlive })).toEqual([]);
    },
  );
  it.each(["abc", "5 m", "5min", "", "m", "1d"])(
    "refuse the duration %j, for which Ollama would take 5m",
    (keepAlive) => {
      expect(faultsOf({ mode: "host", keepAlive })).toEqual([
        [`${AT}.keepAlive`, expect.stringContaining("Expected a duration such as 5m or 1h30m")],
      ]);
    },
  );

  it.each([
    "qwen3:8b",
    "qwen3",
    "library/qwen3:8b-q4_K_M",
    "hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
    "127.0.0.1:5000/library/x:y",
  ])("take the model name %s", (name) => {
    expect(faultsOf({ mode: "host", models: [name] })).toEqual([]);
  });
  it.each(['a"b', "a b", "", "-x", "a\n", "a:b:c", "$(id)"])("refuse the model name %j", (name) => {
    expect(faultsOf({ mode: "host", models: [name] })[0]?.[0]).toBe(`${AT}.models.0`);
  });

  it.each([
    ["modelsDirectory", "models"],
    ["modelsDirectory", "~/models"],
    ["unit", "ollama"],
    ["unit", "../x.service"],
    ["serviceUser", "root; id"],
    ["systemdDirectory", "etc"],
    ["port", 0],
    ["maxLoadedModels", 0],
    ["contextLength", "64k"],
    ["listen", "http://0.0.0.0"],
  ])("refuse %s: %s", (key, value) => {
    expect(faultsOf({ mode: "host", [key]: value }).map(([path]) => path)).toEqual([
      `${AT}.${key}`,
    ]);
  });

  it("take sudo without a password as the only way to be root", () => {
    expect(load({ mode: "host" }, { elevate: ["sudo", "-n"] })?.elevate).toEqual(["sudo", "-n"]);
    for (const elevate of ["sudo", ["sudo"], ["doas"], ["sudo", "-n", "-u", "me"]]) {
      expect(faultsOf({ mode: "host" }, { elevate })[0]?.[0], JSON.stringify(elevate)).toMatch(
        /^machines\.dgx\.elevate/,
      );
    }
  });
});
