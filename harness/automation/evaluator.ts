import type { Fault, FaultMaker } from "../../faults/fault";
import { objectOr, textOr } from "../../faults/json";
import { nearOf } from "../../faults/quoting";
import type { ProfileDocument } from "../providers/profile";
import { REQUEST_PLACEHOLDER } from "../providers/schema";
import type { ConfigView } from "./ruleContext";

/** Faults of the evaluator that a config names: the profile must have it, with a command that tries a running app. */
export function evaluatorFaults(config: ConfigView, { value, naive }: ProfileDocument, at: FaultMaker): Fault[] {
  const path = ["verification", "conformance", "evaluator"];
  const evaluator = config.text(path);
  if (evaluator === undefined) return [];
  const providers = objectOr(objectOr(value).providers);
  if (!Object.hasOwn(providers, evaluator)) {
    const message = `The providers profile has no provider \`${evaluator}\`. ${nearOf(evaluator, Object.keys(providers))}`;
    return [at.error(path, "unknown_provider", message)];
  }
  const command = textOr(objectOr(providers[evaluator]).conformance_command);
  const refused = (message: string) => [at.error(path, "no_conformance_command", message)];
  if (command === "")
    return refused(
      `Provider \`${evaluator}\` declares no \`conformance_command\`: it can review, but nothing shows that it can try a running app.`,
    );
  if (!command.includes(REQUEST_PLACEHOLDER))
    return refused(
      `The \`conformance_command\` of provider \`${evaluator}\` lacks ${REQUEST_PLACEHOLDER}, so it would never see the request.`,
    );
  // What runs is the command as the harness's own reader takes it.
  if (naive.get(`providers.${evaluator}`, "conformance_command")?.text.includes(REQUEST_PLACEHOLDER) === true)
    return [];
  return refused(
    `The harness reads the \`conformance_command\` of provider \`${evaluator}\` otherwise than TOML means it; \`serving config check providers\` says why.`,
  );
}
