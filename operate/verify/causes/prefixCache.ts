import { toWrite } from "../probe";
import { alreadyDeclared, serverSetting } from "./asPlanned";
import type { KnownCause } from "./cause";

/** Probes that ask twice, and look what is found again. */
const REUSE = ["prefix-reuse", "native-messages-path"];

/** A server that keeps no prefix, as its own metrics say. */
export const prefixCacheOff: KnownCause = {
  id: "prefix-cache-off",
  find(seen) {
    if (seen.running.prefixCaching !== false) return undefined;
    const setting = `${serverSetting(seen, "prefixCaching")}: true`;
    return {
      cause: "The prefix cache is off: every call of an agent reads its whole prompt again.",
      advice: seen.declared.prefixCaching
        ? alreadyDeclared(seen, "enable-prefix-caching", setting)
        : `${toWrite(setting)}.`,
      probes: seen.failed.filter((name) => REUSE.includes(name)),
    };
  },
};
