import {
  BEFORE_COMMAND,
  copiesEnvironment,
  type DataCopies,
} from "@local-serving/machines/copies/dataCopies";
import { local } from "@pulumi/command";
import type { CustomResourceOptions } from "@pulumi/pulumi";

/** A large volume on a slow disk. */
const COPY_TIMEOUT = "3h";

/**
 * The copy of a service's data before another image takes them. The script decides itself whether
 * there is one to make, so nothing is copied when this resource is new. There is no `delete`: copies
 * stay when the stack goes.
 */
export const dataCopy = (
  name: string,
  copies: DataCopies,
  opts: CustomResourceOptions,
): local.Command =>
  new local.Command(
    `${name}-data-copy`,
    {
      create: BEFORE_COMMAND,
      environment: copiesEnvironment(copies),
      addPreviousOutputInEnv: false,
    },
    { ...opts, customTimeouts: { create: COPY_TIMEOUT, update: COPY_TIMEOUT } },
  );
