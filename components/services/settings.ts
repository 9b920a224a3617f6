import { SERVICES } from "./registry";

type Schemas = { [K in (typeof SERVICES)[number] as K["key"]]: K["settings"] };

/** The block of each service in a machine's settings. */
// A map made from a list has lost the types of its keys.
export const serviceBlocks = Object.fromEntries(
  SERVICES.map(({ key, settings }) => [key, settings]),
) as Schemas;
