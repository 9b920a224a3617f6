import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { engineData } from "@local-serving/vllm/engineData";
import { engineDefaults } from "@local-serving/vllm/engineDefaults";
import { describe, expect, it } from "vitest";
import { readEngine, readInstalled } from "../../cli/maintain/engineData";
import { type Program, title } from "./programs";

/** Installing one version from the registry; 10 GB of disk for as long. */
const LIMIT_MS = 1_800_000;

describe.each(["0.26.0", "0.30.0", "0.33.0"])("engine data of vLLM %s", (version) => {
  it("is what vLLM's own parser, registries and variables say", { timeout: LIMIT_MS }, async () => {
    const data = engineData(version);
    const { data: own, defaults, abbreviations } = await readEngine(version);
    expect({ ...data, madeBy: undefined }).toEqual({ ...own, madeBy: undefined });
    expect(engineDefaults(version)).toEqual(defaults);

    const wrong = Object.entries(abbreviations).filter(([flag, fitting]) => {
      const { options, unreadable } = readServerArguments(["org/model", flag], data);
      const [only] = fitting;
      if (fitting.length > 1)
        return !fitting.every(([spelling]) => unreadable.join().includes(`--${spelling}`));
      return (
        only === undefined ||
        !options.has(only[1]) ||
        unreadable.some((why) => why.includes("may mean"))
      );
    });
    expect(Object.keys(abbreviations).length).toBeGreaterThan(3000);
    expect(wrong).toEqual([]);
  });
});

/** Environments that the tests of the engine and of the KV cache keep, where they keep any. */
const KEPT = ["vllm-0.26.0", "vllm-0.30.0", "vllm-0.32.0", "kv-0.33.0"].map(
  (name): [version: string, python: Program] => {
    const path = join(process.env.ENGINES_KEPT_IN ?? "/nowhere", name, "bin", "python");
    const missing = `ENGINES_KEPT_IN keeps no ${name}`;
    return [name.replace(/^.*-/, ""), existsSync(path) ? { path } : { missing }];
  },
);

describe.each(KEPT)("engine data of a vLLM %s that is installed", (version, python) => {
  it.skipIf("missing" in python)(
    title("are what its parser, registries and variables say, and its defaults", python),
    { timeout: LIMIT_MS },
    async () => {
      if ("missing" in python) return;
      const { read, defaults } = await readInstalled(python.path, tmpdir());
      const { madeBy, ...data } = engineData(version) ?? {};
      expect(data).toEqual(read);
      expect(engineDefaults(version)).toEqual(defaults);
    },
  );
});
