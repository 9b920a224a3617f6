import { join } from "node:path";
import { referenceCommand as harnessReference } from "@local-serving/harness/cli/reference";
import type { Command } from "commander";
import { referenceDocuments } from "../reference/documents";
import { projectFolder } from "../stack/stackFile";

/** The reference of every file: the stack's, and the harness's. */
export const referenceCommand = (): Command =>
  harnessReference(referenceDocuments, {
    words: "docs/reference of the project",
    folder: () => join(projectFolder(), "docs", "reference"),
  });
