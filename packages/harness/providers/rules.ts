import { type Fault, type FaultMaker, faultsIn } from "@local-serving/base/faults/fault";
import {
  isSlip,
  listOf,
  mayBeQuoted,
  nearestKey,
  nearOf,
} from "@local-serving/base/faults/quoting";
import { KEY_AS_NAME, looksLikeAKey } from "@local-serving/base/faults/secrets";
import { MODEL_PLACEHOLDER, REQUEST_PLACEHOLDER } from "./placeholders";
import type { ProfileDocument } from "./profile";
import type { Pairings } from "./reviewers";
import type { Provider } from "./schema";

/** A provider as far as its values are right: a fault in one key must not hide those in others. */
export interface PartialProvider {
  readonly values: Partial<Provider>;
  /** Keys of the table, right or wrong. */
  readonly given: ReadonlySet<string>;
}

export function providerFaults(
  providers: ReadonlyMap<string, PartialProvider>,
  document: ProfileDocument,
): Fault[] {
  const at = faultsIn(document);
  if (providers.size === 0)
    return [
      at.warning(
        [],
        "no_providers",
        "The profile declares no provider: add a `[providers.<name>]`.",
      ),
    ];
  return [...providers].flatMap(([name, { values: provider, given }]) => {
    const report: Report = (key, code, message, severity = "warning") =>
      at[severity](["providers", name, ...(key === undefined ? [] : [key])], code, message);
    const healthcheck = document.naive.get(`providers.${name}`, "healthcheck");
    const { api_key_env = "" } = provider;
    return [
      ...(looksLikeAKey(api_key_env)
        ? [report("api_key_env", "secret_in_file", KEY_AS_NAME, "error")]
        : []),
      ...healthcheckFaults(healthcheck?.text ?? provider.healthcheck ?? "", report),
      ...priceFaults(given, report),
      ...templateFaults(provider, report),
      ...typeFaults(provider, given, report),
    ];
  });
}

type Report = (
  key: keyof Provider | undefined,
  code: string,
  message: string,
  severity?: Fault["severity"],
) => Fault;

function healthcheckFaults(command: string, report: Report): Fault[] {
  if (!/bearer/i.test(command) || !/authorization/i.test(command)) return [];
  const remedy = "Pass the token as `curl --oauth2-bearer $VARIABLE`.";
  if (command.includes("\\")) {
    const why =
      "The harness keeps the backslashes, so the header arrives in pieces and the check never passes.";
    return [report("healthcheck", "escaped_bearer", `${why} ${remedy}`, "error")];
  }
  const why = "In single quotes the shell does not fill in the variable.";
  return /'[^']*\$[^']*'/.test(command)
    ? [report("healthcheck", "quoted_bearer", `${why} ${remedy}`)]
    : [];
}

function priceFaults(given: ReadonlySet<string>, report: Report): Fault[] {
  const prices = ["price_usd_per_mtok_input", "price_usd_per_mtok_output"] as const;
  const present = prices.filter((key) => given.has(key));
  if (present.length !== 1) return [];
  const missing = prices.find((key) => !given.has(key));
  const message = `One price alone has no effect: the provider is metered only with \`${missing}\` as well.`;
  return [report(present[0], "one_price", message)];
}

function templateFaults(provider: Partial<Provider>, report: Report): Fault[] {
  const faults: Fault[] = [];
  const { command, model } = provider;
  if (command && !command.includes(REQUEST_PLACEHOLDER))
    faults.push(
      report(
        "command",
        "no_request",
        `Without ${REQUEST_PLACEHOLDER} the command never sees what it is to review.`,
      ),
    );
  for (const key of ["command", "conformance_command"] as const)
    if (provider[key]?.includes(MODEL_PLACEHOLDER) && !model)
      faults.push(
        report(
          key,
          "no_model",
          `${MODEL_PLACEHOLDER} is replaced with \`model\`, which is not set.`,
        ),
      );
  return faults;
}

const COMMAND = { command: "it is what runs a review" };
const MODEL = { model: "every request names one" };

/**
 * What a type can't work without, and why. The specification requires only `type`, so its lack is a
 * warning.
 */
const NEEDED_BY: Readonly<
  Record<Provider["type"], Readonly<Partial<Record<keyof Provider, string>>>>
> = {
  cli: COMMAND,
  custom: COMMAND,
  "openai-compatible": { base_url: "it is where requests go", ...MODEL },
  ollama: MODEL,
};

function typeFaults(
  provider: Partial<Provider>,
  given: ReadonlySet<string>,
  report: Report,
): Fault[] {
  if (provider.type === undefined) return [];
  return Object.entries(NEEDED_BY[provider.type]).flatMap(([key, why]) => {
    const isThere = given.has(key) && provider[key as keyof Provider] !== "";
    if (isThere || (key === "command" && given.has("conformance_command"))) return [];
    return [
      report(
        undefined,
        "missing_for_type",
        `A provider of type ${provider.type} needs \`${key}\`: ${why}.`,
      ),
    ];
  });
}

/** Pairings must name providers that are declared. */
export function defaultFaults(
  declared: readonly string[],
  pairings: Pairings,
  at: FaultMaker,
): Fault[] {
  const undeclared = (path: string[], name: string, severity: Fault["severity"]): Fault => {
    const hint = nearOf(name, declared, `Declared: ${listOf(declared)}.`);
    const quoted =
      mayBeQuoted(name) || isSlip(name, nearestKey(name, declared)) ? ` (\`${name}\`)` : "";
    const message = `This names a provider that is not declared${quoted}. ${hint}`;
    return at[severity](path, "undeclared_provider", message);
  };
  const known = new Set(declared);
  const faults: Fault[] = [];
  for (const [subject, peer] of Object.entries(pairings.peer_for)) {
    const path = ["defaults", "peer_for", subject];
    if (!known.has(peer)) faults.push(undeclared(path, peer, "error"));
    else if (peer === subject)
      faults.push(at.warning(path, "self_review", "The subject would review itself."));
  }
  for (const [subject, chain] of Object.entries(pairings.fallback_chain)) {
    const path = ["defaults", "fallback_chain", subject];
    const names = [...new Set(chain)];
    for (const name of names) if (!known.has(name)) faults.push(undeclared(path, name, "warning"));
    if (names.length < chain.length)
      faults.push(
        at.warning(path, "repeated_provider", "A provider is listed twice; it is tried once."),
      );
  }
  return faults;
}
