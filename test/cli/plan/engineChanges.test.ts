import { describe, expect, it } from "vitest";
import { engineChanges, engineLines } from "../../../cli/plan/engineChanges";
import { CLEAN_COMMAND, DIGEST, server } from "../../policies/declared";

/** What changes for a server with these further arguments and variables. */
function changes(
  [before, after]: readonly [string, string],
  more: readonly string[],
  { envs = [] as string[], repository = "vllm/vllm-openai" } = {},
) {
  const launched = (version: string) => {
    const image = `${repository}:v${version}@${DIGEST}`;
    return { container: server({ image, command: [...CLEAN_COMMAND, ...more], envs }), version };
  };
  return engineChanges(launched(before), launched(after));
}
const gone = (...asked: Parameters<typeof changes>) =>
  changes(...asked).gone.map(({ about, name }) => `${about} ${name}`);

describe("what another vLLM makes of a server's arguments", () => {
  it.each<[[string, string], string[], string[]]>([
    [
      ["0.26.0", "0.27.1"],
      ["--max-num-partial-prefills", "2"],
      ["flag --max-num-partial-prefills"],
    ],
    [["0.27.1", "0.28.0"], ["--load-format", "bitsandbytes"], ["value --load-format bitsandbytes"]],
    [["0.31.0", "0.32.0"], ["--mamba-cache-mode=all"], ["value --mamba-cache-mode all"]],
    [
      ["0.32.0", "0.33.0"],
      ["--speculative-config", '{"method": "medusa"}'],
      ["value --speculative-config.method medusa"],
    ],
    [["0.30.0", "0.31.0"], ["--max-num-seqs", "4"], []],
  ])("from %j on with %j: %j", (versions, more, expected) => {
    expect(gone(versions, more)).toEqual(expected);
  });

  it("names a parser that is gone, with the nearest that there is", () => {
    const found = changes(["0.23.0", "0.26.0"], ["--tool-call-parser", "minimax"]);
    expect(found.gone).toEqual([
      {
        about: "value",
        name: "--tool-call-parser minimax",
        message: expect.stringMatching(
          /^vLLM 0\.26\.0 has no `minimax` for `--tool-call-parser`\. Write `tools\.parser: minimax_m2`\.$/,
        ),
      },
    ]);
  });

  it("names a variable that was dropped, with the option that took its place", () => {
    const envs = ["VLLM_NVFP4_GEMM_BACKEND=cutlass", "VLLM_USE_V1=1"];
    expect(changes(["0.23.0", "0.26.0"], [], { envs }).gone).toEqual([
      {
        about: "variable",
        name: "VLLM_NVFP4_GEMM_BACKEND",
        message: expect.stringContaining("it does nothing. Use `--linear-backend` instead."),
      },
    ]);
  });

  it("leaves out what the older version didn't know either, unless nobody knows that one", () => {
    const more = ["--no-such-flag"];
    expect(gone(["0.30.0", "0.31.0"], more)).toEqual([]);
    expect(gone(["0.25.1", "0.31.0"], more)).toEqual(["flag --no-such-flag"]);
  });

  it("says how much is known of the newer one", () => {
    const known = (version: string, repository?: string) => {
      const { known, nearest, gone } = changes(["0.26.0", version], ["--no-such-flag"], {
        ...(repository === undefined ? {} : { repository }),
      });
      return [known, nearest, gone.length];
    };
    expect(known("0.31.0")).toEqual(["exact", "0.31.0", 0]);
    expect(known("0.31.0", "eugr/spark-vllm")).toEqual(["published", "0.31.0", 0]);
    expect(known("0.31.4")).toEqual(["none", "0.31.0", 0]);
    expect(known("0.40.0")).toEqual(["none", "0.33.0", 0]);
    expect(known("0.20.0")).toEqual(["none", "0.23.0", 0]);
  });

  it("says in words that nothing is gone, and which version's defaults aren't recorded", () => {
    expect(engineLines(changes(["0.30.0", "0.31.0"], []))).toEqual([
      "vLLM 0.31.0 has every flag, value and variable that is set here.",
      "The defaults of vLLM 0.31.0 aren't recorded here: the release notes name those that changed.",
    ]);
  });

  it("says nothing of defaults where there is no data of the newer version", () => {
    expect(changes(["0.30.0", "0.40.0"], []).defaults).toBe(null);
  });
});
