import type { JsonObject } from "../../faults/json";

/** An applied plan of version 0, which had no `version`, as one of version 1. */
export const fromVersion0 = (document: JsonObject): JsonObject => ({ ...document, version: 1 });
