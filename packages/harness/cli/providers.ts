import { command } from "@local-serving/base/commandLine/command";
import { defined } from "@local-serving/base/faults/defined";
import { counted } from "@local-serving/base/faults/quoting";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { ProviderVerdict } from "../providers/chatProbe";
import { checkProfile, resolvedProfile } from "../providers/check";
import { isMetered, measuredUsd } from "../providers/cost";
import {
  PROBE_TIMEOUT_SEC,
  type ProbedProvider,
  probeProviders,
  reviewerHealth,
  verdictsOf,
} from "../providers/probe";
import { readProfile } from "../providers/profile";
import { type ReviewerChain, tryReviewers } from "../providers/reviewers";
import { checked, checkOutcome, checkResult } from "./checkResult";

export function checkProvidersCommand(): Command {
  return command({
    name: "providers",
    description:
      "Check a providers profile, both as TOML and as the harness's own reader reads it.",
    arguments: [new Argument("<file>", "the profile, such as ~/.hx/providers.toml")],
    options: [
      new Option(
        "--probe",
        "run every healthcheck, send each openai-compatible provider one tiny request, and show who reviews whom and what calls cost",
      ),
      new Option("--probe-timeout <seconds>", "longest time that one probe waits")
        .argParser(seconds)
        .default(PROBE_TIMEOUT_SEC),
    ],
    example: "harness check providers ~/.hx/providers.toml --probe",
    run: (options: { readonly probe?: boolean; readonly probeTimeout: number }, file: string) =>
      checked(file, async () => {
        const document = readProfile(file);
        const check = checkProfile(document);
        const result = checkResult(check.faults, resolvedProfile(check));
        if (options.probe !== true) return checkOutcome(file, result);
        const probed = await probeProviders(document, check, process.env, options.probeTimeout);
        const probes = verdictsOf(probed);
        const reviewers = tryReviewers(check.pairings, (name) => reviewerHealth(probed, name));
        const costs = probed.flatMap(costOf);
        const lines = [
          ...probes.map(probeLine),
          ...reviewers.map(chainLine),
          ...costs.map(costLine),
        ];
        const end = probesText(probes, result.valid);
        const { text, failed = false } = checkOutcome(file, result, { lines, end });
        return {
          result: { ...result, probes, reviewers, costs },
          text,
          failed: failed || probes.some(({ status }) => status === "fail"),
        };
      }),
  });
}

const probeLine = ({ name, status, detail, fix }: ProviderVerdict): string =>
  `${status}: ${name}: ${detail}${fix === "" ? "" : `. ${fix}`}`;

/** How many probes failed of those that could be made. */
function probesText(probes: readonly ProviderVerdict[], isValid: boolean): string {
  const made = probes.filter(({ status }) => status !== "skip").length;
  const failed = probes.filter(({ status }) => status === "fail").length;
  return failed === 0
    ? ""
    : `, ${isValid ? "but" : "and"} ${failed} of ${counted(made, "probe")} failed`;
}

function chainLine({ subject, tried, chosen }: ReviewerChain): string {
  const steps = tried.map(({ provider, outcome, detail }) => `${provider} (${outcome}: ${detail})`);
  const end = chosen === null ? "no reviewer is left" : `${chosen} reviews`;
  return `reviewers of ${subject}: ${[...steps, end].join(", then ")}`;
}

/** What a provider's invocations cost, and what the probe's own request cost as it was measured. */
function costOf({ name, provider, chat }: ProbedProvider) {
  if (provider === undefined) return [];
  const basis: "metered" | "estimated" = isMetered(provider) ? "metered" : "estimated";
  return [{ provider: name, basis, ...defined({ probe_usd: measuredUsd(provider, chat?.usage) }) }];
}

function costLine({ provider, basis, probe_usd }: ReturnType<typeof costOf>[number]): string {
  if (basis === "estimated")
    return `cost of ${provider}: estimated, by unattended.budget.estimate_usd_per_invocation of the automation config`;
  const probe =
    probe_usd === undefined
      ? "the server reported no usage for the probe"
      : `the probe cost ${probe_usd} USD`;
  return `cost of ${provider}: metered, by its prices; ${probe}`;
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number of seconds above 0.");
}
