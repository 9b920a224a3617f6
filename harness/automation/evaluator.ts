import type { Fault } from "../../faults/fault";
import { objectOr, textOr } from "../../faults/json";
import { nearOf } from "../../faults/quoting";
import { readProfile } from "../providers/profile";
import { REQUEST_PLACEHOLDER } from "../providers/schema";
import type { ConfigView, FaultMaker } from "./ruleContext";

/**
 * Whether a provider can judge a running app: `declared` with a command that takes the request, `without-request` when
 * the command has no `{review_request}`, `none` for a provider that only reviews, `misread` when the command is there in
 * TOML's reading but not, or otherwise, in that of the harness.
 */
type Conformance = "declared" | "without-request" | "none" | "misread";

type ProviderSummary = { readonly name: string; readonly conformance: Conformance };

/** The providers of a profile. Throws `UnreadableInput`. */
export function readProviderSummaries(file: string): ProviderSummary[] {
  const { value, naive } = readProfile(file);
  return Object.entries(objectOr(objectOr(value).providers)).map(([name, provider]) => ({
    name,
    conformance: conformanceOf(provider, naive.get(`providers.${name}`, "conformance_command")?.text),
  }));
}

/** Faults of the evaluator that a config names, judged by the providers that there are. */
export function evaluatorFaults(config: ConfigView, providers: readonly ProviderSummary[], at: FaultMaker): Fault[] {
  const path = ["verification", "conformance", "evaluator"];
  const evaluator = config.text(path);
  if (evaluator === undefined) return [];
  const provider = providers.find(({ name }) => name === evaluator);
  if (provider === undefined) {
    const names = providers.map(({ name }) => name);
    const message = `The providers profile has no provider \`${evaluator}\`. ${nearOf(evaluator, names)}`;
    return [at.error(path, "unknown_provider", message)];
  }
  if (provider.conformance === "declared") return [];
  const says = {
    none: `Provider \`${evaluator}\` declares no \`conformance_command\`: it can review, but nothing shows that it can try a running app.`,
    "without-request": `The \`conformance_command\` of provider \`${evaluator}\` lacks ${REQUEST_PLACEHOLDER}, so it would never see the request.`,
    misread: `The harness reads the \`conformance_command\` of provider \`${evaluator}\` otherwise than TOML means it; \`serving config check providers\` says why.`,
  };
  const message = says[provider.conformance];
  return [at.error(path, "no_conformance_command", message)];
}

/** `naive` is the command as the harness's own reader takes it, which is what will run. */
function conformanceOf(provider: unknown, naive: string | undefined): Conformance {
  const command = textOr(objectOr(provider).conformance_command);
  if (command === "") return "none";
  if (!command.includes(REQUEST_PLACEHOLDER)) return "without-request";
  return naive?.includes(REQUEST_PLACEHOLDER) === true ? "declared" : "misread";
}
