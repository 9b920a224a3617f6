import { shareOf } from "@local-serving/base/faults/amounts";
import { whenMissing } from "@local-serving/base/faults/schemaFaults";
import { KEY_AS_NAME, looksLikeAKey } from "@local-serving/base/faults/secrets";
import {
  IMAGE_REFERENCE,
  IS_ID,
  referenceFault,
  TOO_LONG,
} from "@local-serving/machines/docker/imageReference";
import * as z from "zod";

/** A schema never changes, so all who ask for it get one: most of a short run is making schemas. */
const shared = <Schema>(make: () => Schema): (() => Schema) => {
  let made: Schema | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

/** A whole number of at least `least`, and at most `most` where there is a most. */
export const count = (least = 1, most?: number) =>
  most === undefined ? z.int().min(least) : z.int().min(least).max(most);

/** Text of this form; `expected` says what is wrong with any other. */
export const textMatching = (form: RegExp, expected: Parameters<z.ZodString["regex"]>[1]) =>
  z.string().regex(form, expected);

/** Text that is not empty. */
export const nonEmptyText = shared(() => z.string().min(1));

/** Words of an operator that reviews show, on one line and not longer than a reader takes in. */
export const oneLine = shared(() =>
  textMatching(/^[^\n\r]{1,200}$/, "Expected one line of at most 200 characters"),
);

/** Refusal of a value that would be read as an option of the command that it becomes a word of. */
export const AN_OPTION =
  "Expected a value that does not begin with `-`, which would make it an option";

/** Text that becomes a word of a command line, and no option there. */
export const word = shared(() =>
  textMatching(/^[^-]/, {
    error: ({ input }) => (input === "" ? "Expected text that is not empty" : AN_OPTION),
  }),
);

/** The same without blanks, of ASCII characters that are printed; `expected` says so. */
export const plainWord = (expected: string) =>
  textMatching(/^[!-,.-~][!-~]*$/, {
    error: ({ input }) => (String(input).startsWith("-") ? AN_OPTION : expected),
  });

/** A setting with the value that it has where the stack file leaves it out. */
export const usual = <Schema extends z.ZodType>(
  value: z.util.NoUndefined<z.output<Schema>>,
  schema: Schema,
) => schema.default(value);

/** A required setting, with what to write where the stack file lacks it. */
export const required = <Schema extends z.ZodType>(schema: Schema, advice: string): Schema => {
  whenMissing.add(schema, { advice });
  return schema;
};

/** TCP port that a service listens on. */
export const port = shared(() => count(1, 65535));

/**
 * Name of an environment variable. A key that was pasted in its place is refused, and shown
 * nowhere.
 */
export const variableName = shared(() =>
  textMatching(/^[A-Z_][A-Z0-9_]*$/, {
    error: "Expected the NAME of an environment variable (capitals, digits, underscore)",
    abort: true,
  }).refine((name) => !looksLikeAKey(name), KEY_AS_NAME),
);

/**
 * Whether a path means the same to us, to Docker's mounts (which take a comma for an end) and in a
 * script's line.
 */
export const isPlainPath = (path: string) =>
  !/[\p{Cc},]/u.test(path) &&
  !/^\/(dev|proc|sys)(\/|$)/.test(path) &&
  path !== "/" &&
  !/(^|\/)\.{1,2}(\/|$)|\/\//.test(path);
export const PLAIN_PATH =
  "Expected a plain path: no `..`, `.` or empty part, no comma, no line break or other control character, and nothing below /dev, /proc or /sys";

/** Path on the machine: absolute, or below the operator's home (`~/`). */
export const hostPath = (
  form = /^(\/|~\/)/,
  expected = "Expected an absolute path, or one that starts with `~/`",
) => textMatching(form, { error: expected, abort: true }).refine(isPlainPath, PLAIN_PATH);

/** Path inside a container: absolute, and as plain as one on the machine. */
export const containerPath = shared(() =>
  textMatching(/^\//, {
    error: "Expected an absolute path inside the container",
    abort: true,
  }).refine(isPlainPath, PLAIN_PATH),
);

/** A key that JavaScript programs, clients included, lose in their maps. */
export const isProto = (name: string) => name === "__proto__";
export const PROTO = "The name `__proto__` is reserved by JavaScript: write another one.";

/** Name of a model for those who ask for it: it stands in URLs, files and messages. */
export const servedName = shared(() =>
  plainWord("Expected a name without blanks, of ASCII letters, digits and signs").refine(
    (name) => !isProto(name),
    PROTO,
  ),
);

/**
 * What is wrong with a whole network in the place of one address in it, and what to write; else
 * `expected`.
 */
export const oneAddress =
  (expected: string) =>
  ({ input }: { readonly input?: unknown }): string => {
    const [, address, bits] = /^(\d+(?:\.\d+){3})\/(\d+)$/.exec(String(input)) ?? [];
    if (address === undefined || !z.ipv4().safeParse(address).success) return expected;
    return Number(bits) < 32 && firstOf(address, Number(bits)) === address
      ? `Expected one address, and \`${input}\` is a whole network: write the machine's own address in it`
      : `Expected one address: write \`${address}\`, without \`/${bits}\``;
  };

/** The first address of the network that an address lies in. */
function firstOf(address: string, bits: number): string {
  const number = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const first = number - (number % 2 ** (32 - bits));
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join(".");
}

/** IPv4 address that something listens on; the machine alone reaches the default. */
export const listenAddress = (byDefault = "127.0.0.1") =>
  z
    .ipv4({ error: oneAddress("Expected an IPv4 address such as 127.0.0.1 or 0.0.0.0") })
    .default(byDefault);

/** Share of the machine's total memory; above 0, at most 1. */
export const utilization = shared(() =>
  z
    .number()
    .gt(0, SHARE)
    .lte(1, {
      error: ({ input }) =>
        Number(input) <= 100 ? `${SHARE}: write ${Number(input) / 100}` : SHARE,
    })
    .register(shareOf, { total: "totalGiB" }),
);

const SHARE = "A utilization must be above 0 and at most 1";

/**
 * Whether every JavaScript object has a property of this name. Among the names allowed here, that
 * is only `constructor`.
 */
const isKept = (name: string) => name in {};
const KEPT = "This word is reserved by JavaScript: expected another name";

/** Key of a map in the stack file: it becomes part of container and resource names. */
export const shortName = shared(() =>
  textMatching(/^[a-z][a-z0-9-]{0,30}$/, {
    error: "Expected a short name: lower-case ASCII letters, digits and dashes, first a letter",
    abort: true,
  }).refine((name) => !isKept(name), KEPT),
);

/** More GiB than any machine of this kind has, and GB than a model: another unit was meant. */
const MOST = 4096;

const BYTES = { GiB: 1024 ** 3, GB: 1e9 } as const;

/** The units that people write in place of a larger one, in bytes. */
const SMALLER_UNITS = [
  ["bytes", { GiB: 1, GB: 1 }],
  ["kB", { GiB: 1024, GB: 1000 }],
  ["MB", { GiB: 1024 ** 2, GB: 1e6 }],
] as const;

/** Below half a unit nothing is kept that anybody would declare. */
const LEAST_MEANT = 0.5;

/** What a figure that is too large for its unit probably means, and what to write. */
function inUnit(figure: number, unit: keyof typeof BYTES): string {
  for (const [name, bytes] of SMALLER_UNITS) {
    const meant = (figure * bytes[unit]) / BYTES[unit];
    if (meant >= LEAST_MEANT && meant <= MOST)
      return `. If this is in ${name}, write ${Number(meant.toFixed(2))}`;
  }
  return "";
}

/** Amount of memory in GiB (1024^3 bytes), above 0. */
export const gibibytes = shared(() =>
  z
    .number()
    .positive("An amount of memory must be above 0 GiB")
    .max(MOST, {
      error: ({ input }) =>
        `Expected GiB: no machine of this kind has more than ${MOST}${inUnit(Number(input), "GiB")}`,
    }),
);

/** Size of a model in GB (10^9 bytes), above 0. */
export const gigabytes = shared(() =>
  z
    .number()
    .positive()
    .max(MOST, {
      error: ({ input }) =>
        `Expected GB: no model for such machines has more than ${MOST}${inUnit(Number(input), "GB")}`,
    }),
);

/** Fewer bytes than any server could use: a larger unit was meant. */
const LEAST_BYTES = 1024 ** 2;

/** Amount of memory in bytes, at least a megabyte. */
export const bytes = shared(() =>
  z.int().min(LEAST_BYTES, {
    error: ({ input }) => {
      if (Number(input) <= 0) return undefined;
      const [unit, factor] = Number(input) <= MOST ? ["GiB", BYTES.GiB] : ["MiB", LEAST_BYTES];
      return `Expected bytes, and this is less than a megabyte. If it is in ${unit}, write ${Number(input) * factor}`;
    },
  }),
);

/** Names of servers that are not entries of `inferenceServers`. */
export const INSTANCE_A = "instance-a";
export const SIMPLE_SERVER = "simple-server";

/**
 * A server that something of ours uses: a key of `inferenceServers`, `instance-a` or
 * `simple-server`.
 */
export const serverReference = shared(() =>
  textMatching(/^[a-z][a-z0-9-]{0,30}$/, {
    error: `Expected a key of \`inferenceServers\`, \`${INSTANCE_A}\` or \`${SIMPLE_SERVER}\``,
    abort: true,
  }).refine((name) => !isKept(name), KEPT),
);

/** The same, or such a key on another machine of the stack: `dgx2.b`. */
export const bridgedServer = shared(() =>
  textMatching(/^([a-z][a-z0-9-]{0,30}\.)?[a-z][a-z0-9-]{0,30}$/, {
    error: `Expected a key of \`inferenceServers\`, \`${INSTANCE_A}\`, \`${SIMPLE_SERVER}\`, or MACHINE.KEY for a server of another machine`,
    abort: true,
  }).refine((name) => !name.split(".").some(isKept), KEPT),
);

const EXPECTED_IMAGE = "Expected an image as `repository[:tag]@sha256:...`";

/** An image as it stands in the stack file; whether it is pinned well is the policies' business. */
export const containerImage = shared(() =>
  required(
    textMatching(IMAGE_REFERENCE, {
      error: ({ input }) => `${EXPECTED_IMAGE}: ${referenceFault(String(input))}`,
      abort: true,
    })
      .refine((image) => referenceFault(image) !== IS_ID, `${EXPECTED_IMAGE}: ${IS_ID}`)
      .refine((image) => referenceFault(image) !== TOO_LONG, `${EXPECTED_IMAGE}: ${TOO_LONG}`)
      .describe(
        "Image as `repository[:tag]@sha256:<64 hex digits>`. A policy requires the digest, since a tag can move. `serving pin IMAGE:TAG` prints it.",
      ),
    "Write `image: REPOSITORY:TAG@sha256:DIGEST`; `serving pin IMAGE:TAG` prints the line.",
  ),
);
