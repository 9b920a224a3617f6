import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import type { ImageFacts } from "../planned/image";
import { TYPE } from "../planned/type";

/**
 * What is known of the versions inside an image, joined to containers by its digest. It is a resource of its own and
 * not a label, because a corrected record must not restart a server.
 */
export class ImageRecord extends ComponentResource {
  constructor(name: string, args: ImageFacts, opts?: ComponentResourceOptions) {
    super(TYPE.imageRecord, name, { ...args }, opts);
    this.registerOutputs({ ...args });
  }
}
