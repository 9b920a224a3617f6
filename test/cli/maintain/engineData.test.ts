import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { versionFolder } from "@local-serving/vllm/versionFolder";
import { describe, expect, it } from "vitest";
import { record, writeEngineData } from "../../../cli/maintain/engineData";

const FOLDER = resolve(__dirname, "../../../packages/vllm/engine-data");

const temporary = () => mkdtempSync(join(tmpdir(), "engine-data-"));
const contents = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(".json"))
      .map((file) => [file, readFileSync(join(folder, file), "utf8")]),
  );
const dataIn = (folder: string) => {
  const { versions, versionData } = versionFolder(folder);
  return versions().map((version) => [version, versionData(version)]);
};

describe("the record of a version", () => {
  it("leaves every other version's data as they are, whichever is recorded again", () => {
    const folder = temporary();
    const data = {
      "0.9.0": { a: "1", b: ["x", "z"] },
      "0.10.0": { b: ["x", "y"] },
      "0.10.1": { a: null, b: ["x"], c: true },
    };
    for (const version of ["0.10.1", "0.9.0", "0.10.0"] as const)
      record(folder, version, data[version]);
    expect(dataIn(folder)).toEqual(Object.entries(data));
    expect(JSON.parse(readFileSync(join(folder, "0.10.1.json"), "utf8"))).toEqual({
      after: "0.10.0",
      gone: { b: ["y"] },
      added: { a: null, c: true },
    });

    record(folder, "0.10.0", { b: ["other"] });
    expect(dataIn(folder)).toEqual(Object.entries({ ...data, "0.10.0": { b: ["other"] } }));
  });

  it.each(["", "defaults"])("made each file of engine-data/%s", (folder) => {
    const made = temporary();
    for (const [file, text] of Object.entries(contents(join(FOLDER, folder))))
      writeFileSync(join(made, file), text);
    const { versions, versionData } = versionFolder(made);
    const newest = versions().at(-1) ?? "";
    record(made, newest, { ...(versionData(newest) as object) });
    expect(contents(made)).toEqual(contents(join(FOLDER, folder)));
  });
});

it.each([[[]], [["0.33"]], [["0.33.0", "latest"]]])(
  "takes versions alone, not %j",
  async (words) => {
    await expect(writeEngineData(words)).rejects.toThrow("npm run engine-data -- VERSION...");
  },
);
