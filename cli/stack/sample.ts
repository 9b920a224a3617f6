import { attempt } from "@local-serving/base/faults/defined";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { sha256 } from "@local-serving/machines/shell";

/** Hash of the stack file that a clone holds, Pulumi.dgx.yaml, as it comes. */
export const SAMPLE = "979c8d07e4297b8f83b370872c4960e0a91714483061c4e54d7bc9fe7eda00ef";

/** Whether a stack file is that sample. Once anybody has changed it, Pulumi included, it is theirs. */
export const isSample = (file: string): boolean =>
  attempt(() => sha256(readTextFile(file))) === SAMPLE;
