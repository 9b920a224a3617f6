import { describe, expect, it } from "vitest";
import { readEngine } from "../../operate/maintain/engineData";
import { readServerArguments } from "../../vllm/argv/serverArguments";
import { engineData } from "../../vllm/engineData";

/** Installing one version from the registry; 10 GB of disk for as long. */
const LIMIT_MS = 1_800_000;

describe.each(["0.26.0", "0.30.0", "0.33.0"])("engine data of vLLM %s", (version) => {
  it("is what vLLM's own parser, registries and variables say", { timeout: LIMIT_MS }, async () => {
    const data = engineData(version);
    const { data: own, abbreviations } = await readEngine(version);
    expect({ ...data, madeBy: undefined }).toEqual({ ...own, madeBy: undefined });

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
