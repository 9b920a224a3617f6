import { defined } from "@local-serving/base/faults/defined";
import { type Fault, faultsIn, hasErrors, inFileOrder } from "@local-serving/base/faults/fault";
import { isRecord, objectOr } from "@local-serving/base/faults/json";
import {
  schemaFaults,
  secretFaults,
  softened,
  valueAt,
} from "@local-serving/base/faults/schemaFaults";
import * as z from "zod";
import { isMetered } from "./cost";
import { dialectFaults } from "./dialect";
import type { ProfileDocument } from "./profile";
import type { Pairings } from "./reviewers";
import { defaultFaults, type PartialProvider, providerFaults } from "./rules";
import {
  type Provider,
  type ProvidersProfile,
  providerSchema,
  providersProfileSchema,
} from "./schema";

/** What a check of a profile found. */
export interface ProfileCheck {
  readonly faults: readonly Fault[];
  /** The pairings whose values have the right type, also when the rest has errors. */
  readonly pairings: Pairings;
  /** The profile with its defaults filled in; absent when there is an error. */
  readonly profile?: ProvidersProfile;
}

const SECRET =
  "This holds a key, token or password (not shown). Name the variable that holds it: in `api_key_env`, or in a command as `--oauth2-bearer $VARIABLE`.";

/** Finds every fault of a profile at once, in TOML's reading and in the harness's. */
export function checkProfile(document: ProfileDocument): ProfileCheck {
  const read = providersProfileSchema.safeParse(withoutDates(document.value));
  const issues = read.success ? [] : read.error.issues;
  const pairings: Pairings = {
    peer_for: validEntries(document.value, ["defaults", "peer_for"], z.string()),
    fallback_chain: validEntries(
      document.value,
      ["defaults", "fallback_chain"],
      z.array(z.string()),
    ),
  };
  const found = [
    ...schemaFaults(providersProfileSchema, document.value, issues, document).map(reworded),
    ...providerFaults(partialProviders(document.value), document),
    ...defaultFaults(
      Object.keys(tableAt(document.value, ["providers"])),
      pairings,
      faultsIn(document),
    ),
  ];
  const secrets = secretFaults(
    document.value,
    found,
    { code: "secret_in_file", message: SECRET },
    document,
  );
  const explained = new Set(
    found.filter(({ code }) => code === "escaped_bearer").map(({ path }) => path),
  );
  const ofDialect = dialectFaults(document).filter(({ path }) => !explained.has(path));
  const faults = inFileOrder([...found, ...secrets, ...ofDialect]);
  if (hasErrors(faults)) return { faults, pairings };
  const known = providersProfileSchema.safeParse(withoutUnknown(document.value, issues));
  return { faults, pairings, ...defined({ profile: known.data }) };
}

/** A copy in which a date of TOML is `null`: zod takes a Date for a map. */
function withoutDates(value: unknown): unknown {
  if (value instanceof Date) return null;
  if (Array.isArray(value)) return value.map(withoutDates);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withoutDates(inner)]),
  );
}

function partialProviders(root: unknown): Map<string, PartialProvider> {
  const providers = Object.entries(tableAt(root, ["providers"])).map(
    ([name, table]): [string, PartialProvider] => {
      const given = objectOr(table);
      const right = Object.entries(providerSchema.shape).flatMap(([key, schema]) => {
        const value = given[key];
        return value !== undefined && schema.safeParse(value).success
          ? [[key, value] as const]
          : [];
      });
      // Each value has just been judged by the schema of its own key.
      return [
        name,
        {
          values: Object.fromEntries(right) as Partial<Provider>,
          given: new Set(Object.keys(given)),
        },
      ];
    },
  );
  return new Map(providers);
}

function validEntries<T>(
  root: unknown,
  path: readonly string[],
  schema: z.ZodType<T>,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(tableAt(root, path)).flatMap(([key, value]) => {
      const read = schema.safeParse(value);
      return read.success ? [[key, read.data]] : [];
    }),
  );
}

const tableAt = (root: unknown, path: readonly string[]) => objectOr(valueAt(root, path));

function reworded(fault: Fault): Fault {
  // A key of digits only would be named as the number that it is.
  if (fault.path.endsWith(".api_key_env") && fault.code === "wrong_type")
    return {
      ...fault,
      message: "Expected the name of an environment variable, as text in double quotes.",
    };
  const refusal = (key: string) =>
    `The profile never holds a key's value, so \`${key}\` is refused. Name the environment variable that holds it: \`api_key_env\`.`;
  return softened(fault, refusal);
}

type Issues = NonNullable<ReturnType<typeof providersProfileSchema.safeParse>["error"]>["issues"];

function withoutUnknown(value: unknown, issues: Issues): unknown {
  const copy: unknown = structuredClone(value);
  for (const issue of issues) {
    const table = valueAt(copy, issue.path);
    if (issue.code === "unrecognized_keys" && isRecord(table))
      for (const key of issue.keys) delete table[key];
  }
  return copy;
}

/**
 * What the harness works with: defaults filled in, commands left out since they may be long and
 * private.
 */
export function resolvedProfile({ profile }: ProfileCheck): unknown {
  if (profile === undefined) return undefined;
  const providers = Object.entries(profile.providers).map(([name, provider]) => {
    const { command, conformance_command, healthcheck, ...plain } = provider;
    const resolved = {
      ...plain,
      has_command: command !== undefined,
      has_healthcheck: healthcheck !== undefined,
      runtime_conformance: conformance_command !== undefined,
      metered: isMetered(provider),
    };
    return [name, resolved];
  });
  return { ...profile, providers: Object.fromEntries(providers) };
}

/** The provider names whose tables have an error. */
export function faultyProviders(faults: readonly Fault[]): Set<string> {
  const paths = faults
    .filter(({ severity }) => severity === "error")
    .map(({ path }) => path.split("."));
  return new Set(
    paths.flatMap(([table, name]) => (table === "providers" && name !== undefined ? [name] : [])),
  );
}
