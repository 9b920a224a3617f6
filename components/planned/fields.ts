import { z } from "zod";

/** TCP port that a service listens on. */
export const port = () => z.int().min(1).max(65535);

/** Name of an environment variable; a value pasted here by mistake rarely has this form. */
export const variableName = () =>
  z
    .string()
    .regex(
      /^[A-Z_][A-Z0-9_]*$/,
      "Expected the NAME of an environment variable (capitals, digits, underscore)",
    );

/** Whether a path means the same to us, to Docker's mounts (which take a comma for an end) and in a script's line. */
const isPlain = (path: string) =>
  !/[\p{Cc},]/u.test(path) &&
  !/^\/(dev|proc|sys)(\/|$)/.test(path) &&
  path !== "/" &&
  !/(^|\/)\.{1,2}(\/|$)|\/\//.test(path);

/** Path on the machine: absolute, or below the operator's home (`~/`). */
export const hostPath = (
  form = /^(\/|~\/)/,
  expected = "Expected an absolute path, or one that starts with `~/`",
) =>
  z
    .string()
    .regex(form, { error: expected, abort: true })
    .refine(
      isPlain,
      "Expected a plain path: no `..`, `.` or empty part, no comma, no line break or other control character, and nothing below /dev, /proc or /sys",
    );

/** A key that is lost in the maps of JavaScript's programs, clients among them. */
export const isProto = (name: string) => name === "__proto__";
export const PROTO = "JavaScript keeps the name `__proto__` for itself: write another one.";

/** Name of a model for those who ask for it: it stands in URLs, files and messages. */
export const servedName = () =>
  z
    .string()
    .regex(/^[!-~]+$/, "Expected a name without blanks, of ASCII letters, digits and signs")
    .refine((name) => !isProto(name), PROTO);

/** IPv4 address that something listens on; the machine alone reaches the default. */
export const listenAddress = (byDefault = "127.0.0.1") =>
  z.ipv4("Expected an IPv4 address such as 127.0.0.1 or 0.0.0.0").default(byDefault);

/** Share of the machine's total memory; above 0, at most 1. */
export const utilization = () =>
  z
    .number()
    .gt(0, SHARE)
    .lte(1, {
      error: ({ input }) => (Number(input) <= 100 ? `${SHARE}: write ${Number(input) / 100}` : SHARE),
    });

const SHARE = "A utilization is above 0 and at most 1";

/** Key of a map in the stack file: it becomes part of container and resource names. */
export const shortName = () =>
  z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,30}$/, {
      error: "Expected a short name: lower-case ASCII letters, digits and dashes, first a letter",
      abort: true,
    })
    .refine((name) => !(name in {}), "JavaScript keeps this word for itself: expected another name");

/** More GiB than any machine of this kind has: a larger figure was meant in another unit. */
const MOST_GIB = 4096;

/** Amount of memory in GiB (1024^3 bytes), above 0. */
export const gibibytes = () =>
  z
    .number()
    .positive("An amount of memory is above 0 GiB")
    .max(MOST_GIB, `Expected GiB: no machine of this kind has more than ${MOST_GIB}`);

/** Names of servers that are not entries of `inferenceServers`. */
export const INSTANCE_A = "instance-a";
export const SIMPLE_SERVER = "simple-server";

/** A server that something of ours uses: a key of `inferenceServers`, `instance-a` or `simple-server`. */
export const serverReference = () =>
  z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,30}$/,
      `Expected a key of \`inferenceServers\`, \`${INSTANCE_A}\` or \`${SIMPLE_SERVER}\``,
    );
