import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { FactsOnRecord } from "../host";
import { type ImageFacts, TYPE } from "../planned";
import { imageRecordInputs } from "./plannedServer";

/**
 * The versions inside an image, joined to containers by its digest. It is not a label, so a
 * corrected record restarts no server.
 */
export class ImageRecord extends FactsOnRecord {
  constructor(name: string, facts: ImageFacts, opts?: ComponentResourceOptions) {
    super(TYPE.imageRecord, name, { facts: imageRecordInputs(facts) }, opts);
  }
}
