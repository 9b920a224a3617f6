import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { STACK_TEXT, stackOf } from "../operate/doctor/stack";
import { runServing } from "../operate/runServing";
import { describeDocker } from "./available";
import { pinnedImage } from "./image";

describeDocker("serving upgrade NAME", () => {
  it("finds a newer image in a real registry, reads it, and writes a stack file that passes", async () => {
    const repository = "of-upgrade/vllm/vllm-openai";
    const versions = (vllm: string) => ({ vllm, transformers: "5.17.1" });
    const old = await pinnedImage({ repository, versions: versions("0.30.0") });
    const newer = await pinnedImage({ repository, versions: versions("0.32.0") });
    const folder = mkdtempSync(join(tmpdir(), "upgrade-docker-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "Pulumi.test.yaml");
    const before = STACK_TEXT.replace(/vllm\/vllm-openai:v0\.30\.0@\S+/, old.reference).replace(
      /( digest: )sha256:\w+/,
      `$1${old.digest}`,
    );
    writeFileSync(file, before);
    const page = await runServing(["upgrade", "b", "--file", file, "--format", "json"]);
    expect([page.code, JSON.parse(page.out)]).toMatchObject([
      0,
      { pinned: "0.30.0", newest: "0.32.0", newImage: newer.reference, evidence: "tag" },
    ]);
    expect(readFileSync(file, "utf8")).toBe(before);
    const { code, out } = await runServing(["upgrade", "b", "--file", file, "--write"]);
    expect(code).toBe(0);
    expect(out).toContain("Read inside it: vllm 0.32.0, transformers 5.17.1.");
    const after = readFileSync(file, "utf8");
    expect(after).toContain(`image: ${newer.reference}\n`);
    expect(after).toMatch(/versions: \{ vllm: 0\.32\.0, transformers: 5\.17\.1, evidence: read, /);
    expect(stackOf(after).refusals).toEqual([]);
    expect(readFileSync(`${file}.bak`, "utf8")).toBe(before);
  });
});
