import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { hostInstanceFindings } from "../../components/preflight/judgeHostInstance";
import { stack } from "../fixtures/machine";

type Settings = Record<string, unknown>;

const AGENT = { clients: { codex: { server: "instance-a" } } };
const PROGRAM = { clients: { clientEnv: { server: "instance-a" } } };

const TOOLS = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"];
const NAMES = ["--served-model-name", "org/old", "old"];

/** What is found of an instance A that is declared so and runs so. */
function found(declared: Settings, words: readonly string[], machine: Settings = AGENT) {
  const instanceA = { gpuMemoryUtilization: 0.45, servedModelName: "old", ...declared };
  const [planned] = plan(stack({ ...machine, instanceA }), { home: "/home/me" }).machines;
  if (planned === undefined) throw new Error("no machine planned");
  const argv = ["vllm", "serve", "org/old", "--gpu-memory-utilization", "0.45", ...words];
  return hostInstanceFindings(planned, { listeners: [{ port: 8000, argv }] });
}

describe("an instance A that gives its clients something else than is declared", () => {
  it("is accepted where both agree, and where nothing is declared", () => {
    expect(found({ toolParser: "hermes", keyVariable: "none" }, [...TOOLS, ...NAMES])).toEqual([]);
    expect(found({ toolParser: "none" }, NAMES)).toEqual([]);
    expect(found({}, [...NAMES, "--api-key", "k"])).toEqual([]);
    // A key may be in a variable of its own, which nobody reads.
    expect(found({ keyVariable: "A_KEY" }, NAMES)).toEqual([]);
  });

  it("is refused without the tool parser that a coding client needs, and else warned of", () => {
    const says = {
      message:
        "Instance A on port 8000 runs without `--enable-auto-tool-choice --tool-call-parser`, but `toolParser: hermes` is declared. Declare the actual parser (`instanceA.toolParser: none`), or restart instance A yourself.",
      setting: "instanceA.toolParser",
      value: "none",
    };
    const hermes = { toolParser: "hermes" };
    expect(found(hermes, NAMES)).toEqual([{ verdict: "refused", ...says }]);
    expect(found(hermes, NAMES, PROGRAM)).toEqual([{ verdict: "warned", ...says }]);
    expect(found({ toolParser: "none" }, NAMES)).toEqual([]);
  });

  it("is warned of with another tool parser, or one where none is declared", () => {
    for (const declared of ["none", "qwen3_coder"])
      expect(found({ toolParser: declared }, [...TOOLS, ...NAMES])).toEqual([
        {
          verdict: "warned",
          message: `Instance A on port 8000 runs with \`--tool-call-parser hermes\`, but \`toolParser: ${declared}\` is declared. Declare the actual parser (\`instanceA.toolParser: hermes\`), or restart instance A yourself.`,
          setting: "instanceA.toolParser",
          value: "hermes",
        },
      ]);
  });

  it("is refused under another name; the name that is said passes", () => {
    const words = ["--served-model-name", "org/new", "new"];
    const says = {
      message:
        "Instance A on port 8000 serves `org/new`, `new`, but `servedModelName: old` is declared. Declare the actual name (`instanceA.servedModelName: new`), or restart instance A yourself.",
      setting: "instanceA.servedModelName",
      value: "new",
    };
    expect(found({}, words)).toEqual([{ verdict: "refused", ...says }]);
    expect(found({}, words, PROGRAM)).toEqual([{ verdict: "warned", ...says }]);
    expect(found({ servedModelName: "new" }, words)).toEqual([]);
    // The name may be an adapter's.
    expect(found({}, [...words, "--lora-modules", "old=org/adapter"])).toEqual([]);
  });

  it("is refused with a key where none is declared, and the key is not shown", () => {
    const findings = found({ keyVariable: "none" }, [...NAMES, "--api-key", "key-of-mine"]);
    expect(findings).toEqual([
      {
        verdict: "refused",
        message:
          "Instance A on port 8000 asks for a key (`--api-key`), but `keyVariable: none` is declared. Declare the variable of your shell that holds it (`instanceA.keyVariable: NAME`).",
        setting: "instanceA.keyVariable",
      },
    ]);
    expect(JSON.stringify(findings)).not.toContain("key-of-mine");
  });

  it("says all of it at once, the share first", () => {
    const words = ["--gpu-memory-utilization", "0.5", "--served-model-name", "x", "--api-key", "k"];
    const settings = found({ toolParser: "hermes", keyVariable: "none" }, words).map(
      ({ setting }) => setting,
    );
    expect(settings).toEqual([
      "instanceA.gpuMemoryUtilization",
      "instanceA.toolParser",
      "instanceA.servedModelName",
      "instanceA.keyVariable",
    ]);
  });

  it("is not known where its argv can't be read for certain", () => {
    const findings = found({ toolParser: "hermes" }, ["--config", "server.yaml"]);
    expect(findings.map(({ verdict, setting }) => [verdict, setting])).toEqual([
      ["warned", undefined],
    ]);
  });
});
