import { attempt } from "../../faults/defined";
import { readTextFile } from "../../faults/textFile";
import { sha256 } from "../../machines/shell";

/** Hash of the stack file that a clone holds, Pulumi.dgx.yaml, as it comes. */
export const SAMPLE = "af1552c6186f5b3e160cbdcb23d6d838391cdbca6fd26f1a82f6c7f2258a7240";

/** Whether a stack file is that sample. Once anybody has changed it, Pulumi included, it is theirs. */
export const isSample = (file: string): boolean =>
  attempt(() => sha256(readTextFile(file))) === SAMPLE;
