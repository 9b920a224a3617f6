import { analyticsReference } from "../../harness/analytics/reference";
import { automationReference } from "../../harness/automation/reference";
import { providersReference } from "../../harness/providers/reference";
import type { ReferenceDocument } from "../../harness/reference/document";
import { policiesReference } from "./policies";
import { stackFileReference } from "./stackFile";

/** Every page of docs/reference, in the order of its table of contents. A new page is one more line here. */
export function referenceDocuments(): ReferenceDocument[] {
  return [
    stackFileReference(),
    policiesReference(),
    automationReference(),
    providersReference(),
    analyticsReference(),
  ];
}
