import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { programMark, refuseOtherProgram } from "../../faults/sameProgram";

function builtIn(text: string): string {
  const folder = temporaryFolder("same-program-");
  mkdirSync(join(folder, "dist"));
  writeFileSync(join(folder, "dist/program.json"), text);
  return folder;
}

describe("the build that goes on with an update", () => {
  it("is told by the hash of its sources", () => {
    expect(programMark(builtIn('{"hash":"abc","files":[]}'))).toBe("abc");
    for (const none of [builtIn("{"), builtIn("[]"), temporaryFolder("no-build-")])
      expect(programMark(none)).toBe("");
  });

  it("is the one that started it, or whoever plain pulumi runs", () => {
    expect(() => refuseOtherProgram("abc", { LOCAL_SERVING_PROGRAM: "abc" })).not.toThrow();
    expect(() => refuseOtherProgram("abc", {})).not.toThrow();
    expect(() => refuseOtherProgram("", { LOCAL_SERVING_PROGRAM: "" })).not.toThrow();
  });

  it("is refused where the package was updated meanwhile", () => {
    expect(() => refuseOtherProgram("def", { LOCAL_SERVING_PROGRAM: "abc" })).toThrow(
      /: is a different build from the `serving` that started this: it was updated meanwhile, or is in another folder\. Run it again$/,
    );
  });
});
