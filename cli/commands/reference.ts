import { join } from "node:path";
import { command } from "@local-serving/base/commandLine/command";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { renderReference, staleFiles } from "@local-serving/harness/reference/render";
import { type Command, Option } from "commander";
import { referenceDocuments } from "../reference/documents";
import { projectFolder } from "../stack/stackFile";

export function referenceCommand(): Command {
  return command({
    name: "reference",
    options: [
      new Option("--check", "write nothing; fail and name the files that are stale"),
      new Option("--out <dir>", "the reference's folder (default: docs/reference of the project)"),
    ],
    example: "harness reference --check",
    run: ({ check, out }: { readonly check?: true; readonly out?: string }) => {
      const folder = out ?? join(projectFolder(), "docs", "reference");
      const stale = staleFiles(folder, renderReference(referenceDocuments()));
      const names = stale.map(({ name }) => join(folder, name));
      if (check !== true)
        for (const { name, text } of stale)
          replaceFile(join(folder, name), text, { newFileMode: 0o644 });
      const [key, remedy] =
        check === true ? ["stale", ["Write it again: serving harness reference"]] : ["written", []];
      const lines = [...names.map((name) => `${key}: ${name}`), ...remedy];
      const text = names.length === 0 ? "The reference is up to date." : lines.join("\n");
      return { result: { [key]: names }, text, failed: check === true && names.length > 0 };
    },
  });
}
