import { describe, expect, it } from "vitest";
import { runServing } from "./runServing";

const GONE =
  "`serving upgrade` is gone. npm upgrades this program: UPGRADE.md says how. `serving pin --newer` lists newer images and what their vLLM makes of a server's arguments; once one is pinned, `serving plan --against applied` shows what it changes.";

describe("a word of an earlier release", () => {
  it.each([
    [["upgrade"]],
    [["upgrade", "b", "--write", "--file", "no.yaml"]],
    [["upgrade", "--no-install"]],
    [["upgrade", "--help"]],
    [["help", "upgrade"]],
  ])("%j is answered with what took its place", async (args) => {
    expect(await runServing(args)).toEqual({ code: 2, out: "", err: `${GONE}\n` });
  });

  it("is answered as a document, too", async () => {
    const { code, out } = await runServing(["upgrade", "b", "--format", "json"]);
    expect([code, JSON.parse(out)]).toMatchObject([
      2,
      { version: 1, faults: [{ code: "wrong_use", message: GONE }] },
    ]);
  });

  it("is none that help lists", async () => {
    const { out } = await runServing(["--help"]);
    expect(out).toContain("pin [options]");
    expect(out).not.toContain("upgrade");
  });
});
