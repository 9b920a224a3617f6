import { type PreflightFinding, refused } from "../features/kind";

/**
 * Refuses a port that something else has. `key` is what its setting is called in words; the path of
 * that setting is `setting`, where it has one.
 */
export const takenPort = (
  name: string,
  port: number,
  key: string,
  setting: string | undefined,
): PreflightFinding =>
  refused(
    `Port ${port} of ${name} is in use by something that isn't ours. Check with \`ss -lntp 'sport = :${port}'\`, then stop it or choose another \`${key}\`.`,
    setting,
  );
