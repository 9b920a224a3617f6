import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeEngine } from "./available";
import { PolicyProgram, type PolicyRun } from "./policyRun";

function running(program: string, args: readonly string[], levels?: Record<string, string>) {
  let opened: PolicyProgram | undefined;
  let result: PolicyRun | undefined;
  beforeAll(async () => {
    opened = await PolicyProgram.open(program);
    result = await opened.run(args, levels);
  });
  afterAll(() => opened?.close());
  return () => {
    if (opened === undefined || result === undefined) throw new Error("the run has not happened");
    const { said } = result;
    const of = (policy: string, resource: string) =>
      said.filter((each) => each.policy === policy && each.resource === resource);
    return { ...result, of, program: opened };
  };
}

describeEngine("the policy pack under the engine", () => {
  describe("a preview of faulty containers without our components", () => {
    const run = running("faulty", ["preview"]);

    it("fails with exit code 1", () => expect(run().code).toBe(1));

    it("reads the share however it is written", () => {
      const sums = run().said.filter(
        (each) => each.policy === "aggregate-utilization" && each.message.includes(" claim "),
      );
      expect(sums).toHaveLength(1);
      for (const share of [
        "equals 0.11",
        "abbreviated 0.12",
        "underscored 0.13",
        "repeated 0.14",
        "aliased 0.15",
        "script 0.16",
        "default 0.92 (vLLM's default",
      ]) {
        expect(sums[0]?.message).toContain(share);
      }
      expect(sums[0]).toMatchObject({ level: "mandatory" });
      expect(sums[0]?.message).toContain("and 0.90 is the limit.");
    });

    it.each([
      ["served-model-name", "slash", /slash serves its model as `a\/b`, which has a slash/],
      [
        "inference-image",
        "unpinned",
        /unpinned's image isn't pinned: its tag `nightly` is a development build\./,
      ],
      ["inference-image", "unrecorded", /the versions inside are not recorded/],
      [
        "inference-image",
        "old",
        /vllm 0\.26\.0rc1, below 0\.26\.0\. .* It holds transformers 5\.7\.0, below 5\.8\.0\./,
      ],
      ["inference-image", "output", /The image of output is a value that is not known yet/],
      ["moving-tag", "unpinned", /its tag `nightly` moves\./],
      [
        "deny-list",
        "compromised",
        /holds litellm 1\.82\.7, which must not run\. .* these releases were compromised/,
      ],
      [
        "transformers-range",
        "range-record",
        /Transformers 5\.18\.0 doesn't suit vLLM 0\.31\.0 .* that vLLM asks for >=5\.10\.4,<5\.18\./,
      ],
      ["inference-container", "bare", /bare lacks all GPUs/],
      ["inference-container", "bare", /bare lacks the host's IPC namespace/],
      ["inference-container", "bare", /bare lacks a restart policy/],
      ["host-ports", "on-a", /on-a takes host port 8000, which is instance A's\./],
      ["tool-calling", "parserless", /--enable-auto-tool-choice without --tool-call-parser/],
      ["tool-calling", "clientless", /codex would use clientless, which makes no tool calls\./],
      [
        "reasoning-parser",
        "clientless",
        /clientless has a reasoning parser for a model without a thinking mode\./,
      ],
      ["secret-values", "secret", /secret \(not shown\) in its variable HF_TOKEN\./],
    ])("%s refuses %s", (policy, resource, words) => {
      const said = run().of(policy, resource);
      expect(said.map((each) => each.message).join("\n")).toMatch(words);
      expect(new Set(said.map((each) => each.level))).toEqual(new Set(["mandatory"]));
    });

    it("refuses a port used twice, whichever comes first", () => {
      const said = [...run().of("host-ports", "web"), ...run().of("host-ports", "web2")];
      expect(said).toHaveLength(1);
      expect(said[0]?.message).toMatch(
        /both take host port 8080\/tcp\. Give one of them another port/,
      );
    });

    it("only warns of published evidence and of the LAN", () => {
      expect(run().of("inference-image", "published")).toEqual([]);
      expect(run().of("inference-image-advice", "published")).toMatchObject([
        { level: "advisory" },
      ]);
      expect(run().of("lan-exposure", "exposed")).toMatchObject([{ level: "advisory" }]);
    });

    it("leaves an unrelated container with unknown fields alone", () => {
      expect(run().said.filter((each) => each.resource === "unrelated")).toEqual([]);
    });

    it("shows no secret", () => expect(run().output).not.toContain("hf_s3cr3tvalue"));
  });

  describe("a preview of a clean program", () => {
    const run = running("clean", ["preview"]);
    it("passes without a word", () => {
      expect(run().said).toEqual([]);
      expect(run().code).toBe(0);
    });
  });

  describe("a configuration that disables everything", () => {
    const run = running("faulty", ["preview"], { all: "disabled", "inference-image": "advisory" });
    it("leaves the three fixed rules as they are", () => {
      expect(run().code).toBe(1);
      expect(new Set(run().said.map((each) => `${each.policy} ${each.level}`))).toEqual(
        new Set([
          "aggregate-utilization mandatory",
          "served-model-name mandatory",
          "inference-image mandatory",
        ]),
      );
      expect(run().output).toContain("The policy inference-image is fixed: it stays mandatory");
    });
  });

  describe("a configuration that lowers what can be lowered", () => {
    const run = running("lowered", ["preview"], {
      "moving-tag": "advisory",
      "host-ports": "disabled",
    });
    it("lets the preview pass with a warning", () => {
      expect(run().said).toMatchObject([
        { policy: "moving-tag", level: "advisory", resource: "bridge" },
      ]);
      expect(run().code).toBe(0);
    });
  });

  describe("an update of a machine that claims too much", () => {
    const run = running("machine", ["up", "--yes", "--skip-preview"]);
    it("stops before anything under the machine is touched", () => {
      expect(run().code).not.toBe(0);
      expect(run().of("aggregate-utilization", "dgx")[0]?.message).toContain(
        "claim 0.95 of its memory, and 0.90 is the limit.",
      );
      expect(run().program.has("touched")).toBe(false);
    });
  });

  describe("`pulumi policy analyze` of what was applied without the pack", () => {
    let opened: PolicyProgram | undefined;
    beforeAll(async () => {
      opened = await PolicyProgram.open("machine");
    });
    afterAll(() => opened?.close());

    it.each([
      ["0.45", 1, "claim 0.95 of its memory, and"],
      ["0.4", 0, undefined],
    ])("judges a server of %s, and ends with %s", async (share, code, words) => {
      await opened?.apply({ MACHINE_SHARE: share });
      const analyzed = await opened?.analyze();
      expect(analyzed, analyzed?.output).toMatchObject({ code });
      if (words === undefined) expect(analyzed?.output).not.toContain("aggregate-utilization");
      else expect(analyzed?.output).toContain(words);
    });
  });
});
