import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { readDotenv, repositoryDotenv } from "../../analytics/variables";

const folder = () => temporaryFolder("dotenv-");

describe("a .env file", () => {
  it("is read with comments, quotes and exports", () => {
    const file = join(folder(), ".env");
    writeFileSync(file, "# c\nA=1\nexport B=\"two words\"\nC='3'\nD=\nE=a=b\n\nno line of ours\n");
    expect(readDotenv(file)).toEqual({ A: "1", B: "two words", C: "3", D: "", E: "a=b" });
  });

  it("is read behind a byte order mark and with CRLF", () => {
    const file = join(folder(), ".env");
    writeFileSync(file, "\ufeffA=1\r\nB=2\r\n");
    expect(readDotenv(file)).toEqual({ A: "1", B: "2" });
  });

  it("that is named must be there", () => {
    expect(() => readDotenv(join(folder(), ".env"))).toThrow("no such file");
  });

  it("is the one at the repository's root", () => {
    const root = folder();
    mkdirSync(join(root, ".git"));
    mkdirSync(join(root, "a", "b"), { recursive: true });
    writeFileSync(join(root, "a", ".env"), "");
    expect(repositoryDotenv(join(root, "a", "b"))).toBeUndefined();
    writeFileSync(join(root, ".env"), "");
    expect(repositoryDotenv(join(root, "a", "b"))).toBe(join(root, ".env"));
  });

  it("is none where a folder has that name", () => {
    const root = folder();
    mkdirSync(join(root, ".git"));
    mkdirSync(join(root, ".env"));
    expect(repositoryDotenv(root)).toBeUndefined();
  });
});
