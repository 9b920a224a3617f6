import { join } from "node:path";
import { command } from "@local-serving/base/commandLine/command";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { type Command, Option } from "commander";
import {
  type ReferenceDocument,
  referenceMaker,
  renderReference,
  staleFiles,
} from "../reference/render";

/** Where the pages go when nothing says so. */
interface ReferencePlace {
  readonly words: string;
  readonly folder: () => string;
}

const HERE: ReferencePlace = { words: "docs/reference", folder: () => join("docs", "reference") };

/** `serving harness reference`, for these pages. */
export function referenceCommand(
  documents: () => ReferenceDocument[],
  place: ReferencePlace = HERE,
): Command {
  return command({
    name: "reference",
    description: "Write the reference of the configuration files, or check that it is up to date.",
    options: [
      new Option("--check", "write nothing; fail and name the files that are stale"),
      new Option("--out <dir>", `the reference's folder (default: ${place.words})`),
    ],
    example: "harness reference --check",
    run: ({ check, out }: { readonly check?: true; readonly out?: string }) => {
      const folder = out ?? place.folder();
      const stale = staleFiles(folder, renderReference(documents()));
      const names = stale.map(({ name }) => join(folder, name));
      if (check !== true)
        for (const { name, text } of stale)
          replaceFile(join(folder, name), text, { newFileMode: 0o644 });
      const [key, remedy] =
        check === true ? ["stale", [`Write it again: ${referenceMaker()}`]] : ["written", []];
      const lines = [...names.map((name) => `${key}: ${name}`), ...remedy];
      const text = names.length === 0 ? "The reference is up to date." : lines.join("\n");
      return { result: { [key]: names }, text, failed: check === true && names.length > 0 };
    },
  });
}
